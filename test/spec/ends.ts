/** The end of sessions, and the sign-out (docs/protocol.md §10.6, §10.7). */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { now, stopClock } from '../../fixtures/clock.ts'
import { form, send } from '../../fixtures/http.ts'
import { postRevocation, revoke } from '../../fixtures/management.ts'
import { AFTER_LOGOUT, opaqueToken } from '../../fixtures/sessions.ts'
import { until } from '../../fixtures/until.ts'
import { sessionName } from '../../src/sessions/names.ts'
import { createMemoryStore } from '../../src/testing/index.ts'
import { type Arrived, type Given, type SignedIn, withArrival, withSession } from './arriving.ts'
import { type Scene as Timed, withScene } from './ending.ts'
import { answer, each, type Rule, record, rowsOf, type Steps } from './rule.ts'

/** A cell says what is answered and what the record says, in a provider of its own. */
const cell = (play: () => Promise<void>): Steps => [answer(record(play))]
const signedIn = (use: (scene: SignedIn) => Promise<void>, given: Given = {}) =>
  cell(() => withSession(given, use))
const arrived = (use: (scene: Arrived) => Promise<void>, given: Given = {}) =>
  cell(() => withArrival(given, use))
const timed = (use: (scene: Timed) => Promise<void>, given: Parameters<typeof withScene>[0] = {}) =>
  cell(() => withScene(given, use))

const GONE = { cause: 'host', reason: "the engineer's account is gone or disabled" }

/** What the deployment's directory knows, and whom it was asked for. */
interface Directory {
  readonly gone: Set<string>
  readonly failing: Set<string>
  readonly asked: string[]
}

/** Someone has arrived at the shop, and time stands still. */
const inDirectory = (
  use: (scene: Arrived, directory: Directory, clock: ReturnType<typeof stopClock>) => Promise<void>,
  { configuration, ...given }: Given = {},
) =>
  cell(async () => {
    const directory: Directory = { gone: new Set(), failing: new Set(), asked: [] }
    const findAccount = async (_ctx: unknown, accountId: string) => {
      directory.asked.push(accountId)
      if (directory.failing.has(accountId)) throw new Error('down')
      if (directory.gone.has(accountId)) return undefined
      return { accountId, claims: () => ({ sub: accountId }) }
    }
    const clock = stopClock(Date.now(), { intervals: true })
    try {
      await withArrival({ ...given, configuration: { findAccount, ...configuration } }, (scene) =>
        use(scene, directory, clock),
      )
    } finally {
      clock.restore()
    }
  })

/** The record says so, and the application is told. */
async function isStopped({ impersonation, application, id }: Arrived, revocation: object): Promise<void> {
  await until(() => application.told.length > 0)
  expect((await impersonation.records.get(id))?.revocation).to.deep.equal(revocation)
}

async function engineersSession({ provider, id }: Arrived) {
  const headless = await provider.Session.findByUid(sessionName(id))
  const session = await provider.Session.findByUid(String(Object(headless?.state?.signIn).uid))
  expect(session?.accountId).to.equal('bob')
  return session ?? expect.fail()
}

const one = rowsOf(['a session'])
const rule = (title: string, steps: Steps): Rule => one(title, { 'a session': steps })

/** Past the time in which an application may be redeeming the code. */
async function stopLate({ clock, open, stop, watch }: Timed): Promise<string> {
  const id = await open({ ttl: 3600 })
  clock.tick(100)
  await stop(id)
  await watch.look()
  return id
}

const isSettled = (logout: 'confirmed' | 'pending') => async (scene: Timed) => {
  const id = await stopLate(scene)
  expect((await scene.says(id))?.logout).to.equal(logout)
}

const WAYS: Readonly<Record<string, (scene: SignedIn) => Promise<unknown>>> = {
  'DELETE /subject-tokens/{id}': (scene) => revoke(scene, scene.id),
  'POST /subject-tokens/revocations': (scene) => postRevocation(scene, { id: scene.id }),
  'the kill switch': (scene) => postRevocation(scene, { userId: 'alice' }),
  'records.stop': ({ impersonation, id }) => impersonation.records.stop({ id }),
}
const ways = Object.keys(WAYS)

const hasEnded = async ({ provider, userinfo, accessToken, id }: SignedIn) => {
  expect(await provider.Grant.find(sessionName(id))).to.equal(undefined)
  expect(await provider.Session.findByUid(sessionName(id))).to.equal(undefined)
  expect((await userinfo(accessToken)).status).to.equal(401)
}

const STATUSES = ['200', '204'] as const
const OTHERS = ['201', '202', '302', '404', '500'] as const
const METHODS = ['GET', 'POST'] as const

const logout = ({ issuer, own }: SignedIn, method: string, fields: Record<string, string>) =>
  method === 'GET'
    ? own.get(`${issuer}/session/end?${new URLSearchParams(fields)}`)
    : own.post(`${issuer}/session/end`, fields)

export const endRules: readonly Rule[] = [
  rowsOf(ways)(
    'L1',
    each(ways, (way) =>
      signedIn(async (scene) => {
        await WAYS[way]?.(scene)
        await hasEnded(scene)
        expect(await scene.state()).to.equal('revoked')
      }),
    ),
  ),
  rule(
    'L2',
    signedIn(async ({ id, impersonation, application }) => {
      application.answers.push('hangs')
      await impersonation.records.stop({ id })
      const stopped = await impersonation.records.get(id)
      expect([stopped?.state, stopped?.session?.logout]).to.deep.equal(['revoked', 'pending'])
    }),
  ),
  rule(
    'L3',
    signedIn(async ({ id, idToken, impersonation, application, state }) => {
      await impersonation.records.stop({ id })
      await until(() => application.told.length === 1)
      const { sub } = decodeJwt(idToken)
      expect(application.told[0]).to.include({ sub, sid: sessionName(id) })
      expect(await state()).to.equal('revoked')
    }),
  ),
  rowsOf(STATUSES)(
    'L4',
    each(STATUSES, (status) => timed(isSettled('confirmed'), { answers: [Number(status)] })),
  ),
  rowsOf(OTHERS)(
    'L4, and nothing else',
    each(OTHERS, (status) => timed(isSettled('pending'), { answers: [Number(status)] })),
  ),
  rule(
    'L5',
    timed(
      async (scene) => {
        const id = await stopLate(scene)
        await scene.pass(3700)
        expect((await scene.says(id))?.logout).to.equal('gaveUp')
        expect(scene.application.told).to.have.length(14)
      },
      { answers: Array(20).fill(500) },
    ),
  ),
  rule(
    'L6',
    timed(async ({ open, stop, pass, watch, application, says }) => {
      const id = await open()
      const at = now()
      await stop(id)
      await watch.look()
      await pass(30)
      expect(application.told.map(({ iat = 0 }) => iat - at)).to.deep.equal([0, 10])
      expect(await says(id)).to.include({ logout: 'confirmed', logoutAt: at })
    }),
  ),
  rule(
    'L7',
    timed(
      async ({ open, stop, watch, application, says }) => {
        const id = await open({ logout: 'unsupported' })
        await stop(id)
        await watch.look()
        expect(application.told).to.deep.equal([])
        expect((await says(id))?.logout).to.equal('unsupported')
      },
      { uri: null },
    ),
  ),
  rule(
    'L7, without sid',
    timed(
      async (scene) => {
        const id = await stopLate(scene)
        expect(scene.application.told).to.deep.equal([])
        expect((await scene.says(id))?.logout).to.equal('pending')
      },
      { client: { backchannel_logout_session_required: false } },
    ),
  ),
  rule(
    'L8',
    arrived(
      async ({ id, arrival, redeem, impersonation }) => {
        await redeem(arrival)
        expect((await redeem(arrival)).body.error).to.equal('invalid_grant')
        const record = await impersonation.records.get(id)
        expect(record?.revocation?.cause).to.equal('replay')
        expect(record?.replay?.clientId).to.equal('shop')
      },
      { options: { replayLeeway: 60 }, configuration: { revokeGrantPolicy: () => false } },
    ),
  ),
  ...(['cannot', 'can'] as const).map((ends) =>
    rule(
      `L9, where revoking an access token ${ends} end the Grant`,
      signedIn(
        async ({ issuer, accessToken, userinfo, state }) => {
          const { authorization } = { authorization: `Basic ${btoa('shop:shop-secret')}` }
          const body = form({ token: accessToken })
          await send(`${issuer}/token/revocation`, { method: 'POST', headers: { authorization }, body })
          expect((await userinfo(accessToken)).status).to.equal(401)
          const expected = ends === 'can' ? 'revoked' : 'consumed'
          await until(async () => (await state()) === expected)
        },
        {
          configuration: {
            ...(ends === 'can' && { revokeGrantPolicy: () => true }),
            features: { revocation: { enabled: true, allowedPolicy: () => true } },
          },
        },
      ),
    ),
  ),
  rule(
    'L10',
    timed(async ({ deployment, open, watch, says, clock }) => {
      const id = await open()
      const token = await opaqueToken(deployment, sessionName(id))
      expect(token).to.be.a('string')
      clock.tick(600)
      await watch.look()
      expect((await says(id))?.logout).to.equal('confirmed')
      expect(await deployment.provider.Grant.find(sessionName(id))).to.equal(undefined)
    }),
  ),
  rule(
    'L11',
    timed(
      async (scene) => {
        const id = await stopLate(scene)
        await scene.pass(1)
        expect(scene.eventsOf('session.logout_failed')).to.have.length(1)
        expect(scene.eventsOf('session.ended')).to.deep.equal([
          { id, userId: 'alice', clientId: 'shop', session: await scene.says(id) },
        ])
      },
      { answers: [500] },
    ),
  ),
  rowsOf(METHODS)(
    'L12',
    each(METHODS, (method) =>
      signedIn(async (scene) => {
        const cookies = JSON.stringify(scene.own.cookies)
        const answer = await logout(scene, method, { id_token_hint: scene.idToken })
        expect(answer.status).to.equal(200)
        expect(JSON.stringify(scene.own.cookies)).to.equal(cookies)
        await hasEnded(scene)
        const stopped = await scene.impersonation.records.get(scene.id)
        expect(stopped?.revocation).to.deep.equal({ cause: 'signedOut', client: 'shop' })
      }),
    ),
  ),
  rowsOf(METHODS)(
    'L13',
    each(METHODS, (method) =>
      signedIn(async (scene) => {
        const to = { id_token_hint: scene.idToken, post_logout_redirect_uri: AFTER_LOGOUT, state: 'x' }
        const answer = await logout(scene, method, to)
        expect([answer.status, answer.location?.href]).to.deep.equal([303, `${AFTER_LOGOUT}?state=x`])
        expect(await scene.state()).to.equal('revoked')
      }),
    ),
  ),
  rule(
    'L14',
    signedIn(async (scene) => {
      const answer = await logout(scene, 'GET', { id_token_hint: `${scene.idToken.slice(0, -8)}AAAAAAAA` })
      expect(answer.status).to.equal(400)
      expect(await scene.state()).to.equal('consumed')
    }),
  ),
  rowsOf(['at the code', 'at userinfo', 'without a request', 'in its first minute', 'whom nothing finds'])(
    'L15',
    {
      'at the code': inDirectory(async (scene, { gone }) => {
        gone.add('bob')
        const { status, body } = await scene.redeem(scene.arrival)
        expect([status, body.error]).to.deep.equal([400, 'invalid_grant'])
        await isStopped(scene, GONE)
      }),
      'at userinfo': inDirectory(async (scene, { gone }) => {
        const { body } = await scene.redeem(scene.arrival)
        expect((await scene.userinfo(body.access_token)).status).to.equal(200)
        gone.add('bob')
        expect((await scene.userinfo(body.access_token)).status).to.equal(401)
        await isStopped(scene, GONE)
      }),
      'without a request': inDirectory(async (scene, { gone, asked }, clock) => {
        await scene.redeem(scene.arrival)
        gone.add('bob')
        clock.tick(61)
        await isStopped(scene, GONE)
        expect(asked.at(-1)).to.equal('bob')
      }),
      'in its first minute': inDirectory(async (scene, { gone }, clock) => {
        clock.tick(30)
        const { id, token } = await scene.issue()
        await scene.arm(scene.own, token)
        await scene.authorize(scene.own)
        expect((await scene.record(id))?.use).not.to.equal(undefined)
        gone.add('bob')
        clock.tick(30)
        await until(async () => (await scene.impersonation.records.get(id))?.state === 'revoked')
      }),
      'whom nothing finds': inDirectory(async (scene, { failing, asked }, clock) => {
        await scene.redeem(scene.arrival)
        failing.add('bob')
        for (const minute of [1, 2]) {
          const before = asked.length
          clock.tick(60)
          await until(() => asked.length > before)
          expect(asked.length - before, `minute ${minute}`).to.equal(1)
        }
        expect(await scene.state()).to.equal('consumed')
      }),
    },
  ),
  rowsOf([
    'a sign-out',
    'a sign-out as the application arrives',
    'a sign-out that storage lost',
    'a sign-out that no process was told of',
    'someone else',
    'another sign-in',
    'an expiry',
  ])('L16', {
    'a sign-out': inDirectory(async (scene) => {
      const { body } = await scene.redeem(scene.arrival)
      await (await engineersSession(scene)).destroy()
      await isStopped(scene, { cause: 'signedOut' })
      expect((await scene.userinfo(body.access_token)).status).to.equal(401)
    }),
    'a sign-out as the application arrives': inDirectory(
      async (scene, _, clock) => {
        expect(await scene.state()).to.equal('consumed')
        clock.tick(60)
        await isStopped(scene, { cause: 'signedOut' })
      },
      {
        configuration: {
          findAccount: async ({ oidc }, accountId) => {
            const { provider, route, client, session } = oidc ?? {}
            if (route === 'authorization' && client?.clientId === 'shop' && session)
              await (await provider?.Session.findByUid(session.uid))?.destroy()
            return { accountId, claims: () => ({ sub: accountId }) }
          },
        },
      },
    ),
    'a sign-out that storage lost': (() => {
      const store = createMemoryStore()
      const { list } = store
      return inDirectory(
        async (scene, _, clock) => {
          store.list = () => Promise.reject(Object.assign(new Error('private'), { code: 'ECONNREFUSED' }))
          await (await engineersSession(scene)).destroy()
          await until(() => scene.eventsOf('impersonation.failed').length === 1)
          expect(scene.eventsOf('impersonation.failed')[0]).to.deep.equal({
            ...{ door: 'session', status: 503, check: 'storage', reason: 'ECONNREFUSED' },
          })
          store.list = list
          expect(await scene.state()).to.equal('consumed')
          clock.tick(60)
          await isStopped(scene, { cause: 'signedOut' })
        },
        { options: { store } },
      )
    })(),
    'a sign-out that no process was told of': inDirectory(async (scene, _, clock) => {
      const { jti } = await engineersSession(scene)
      await scene.provider.Session.adapter.destroy(jti)
      clock.tick(60)
      await isStopped(scene, { cause: 'signedOut' })
    }),
    'someone else': inDirectory(async (scene, _, clock) => {
      const session = await engineersSession(scene)
      session.accountId = 'carol'
      await session.persist()
      clock.tick(61)
      await isStopped(scene, { cause: 'signedOut' })
    }),
    'another sign-in': inDirectory(async (scene) => {
      const { Session } = scene.provider
      const other = Object.assign(new Session(), { accountId: 'bob' })
      await other.save(60)
      const looked = Promise.withResolvers<void>()
      const { findByUid } = Session
      Object.assign(Session, {
        findByUid: (uid: string) => findByUid.call(Session, uid).finally(looked.resolve),
      })
      await other.destroy()
      await looked.promise
      await scene.impersonation.records.list()
      expect(await scene.state()).to.equal('consumed')
    }),
    'an expiry': inDirectory(
      async (scene, _, clock) => {
        const { uid, exp = 0 } = await engineersSession(scene)
        const { Session } = scene.provider
        const looked = Promise.withResolvers<unknown>()
        const { findByUid } = Session
        Object.assign(Session, {
          async findByUid(name: string) {
            const found = await findByUid.call(Session, name)
            if (name === uid) looked.resolve(found)
            return found
          },
        })
        // Within a minute, the provider forgives a clock that is behind.
        clock.tick(exp - now() + 60)
        expect(await looked.promise).to.equal(undefined)
        await scene.impersonation.records.list()
        expect(await scene.state()).to.equal('consumed')
      },
      { options: { maxAccessTokenTTL: 7200 } },
    ),
  }),
]
