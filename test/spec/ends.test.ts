/** The end of sessions (docs/protocol.md §10.6). */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { AdapterFactory } from 'oidc-provider'
import { CHALLENGE, storedModels } from '../../fixtures/clients.ts'
import { now, type StoppedClock, whileStopped } from '../../fixtures/clock.ts'
import { form, send } from '../../fixtures/http.ts'
import { postRevocation, revoke } from '../../fixtures/management.ts'
import { introspect } from '../../fixtures/requests.ts'
import { opaqueToken } from '../../fixtures/sessions.ts'
import { until } from '../../fixtures/until.ts'
import { insideOf } from '../../src/impersonation.ts'
import { sessionName } from '../../src/sessions/provider.ts'
import {
  type Arrived,
  arrived,
  CALLBACK,
  type Given,
  hasEnded,
  leftOf,
  replace,
  rule,
  type SignedIn,
  signedIn,
  withArrival,
  withSession,
} from './arriving.ts'
import { timed } from './ending.ts'
import { declareCells } from './matrix.ts'
import { answer, type Named, record, rowsOf, type Steps, values } from './rule.ts'

const cell = (play: () => Promise<void>): Steps => [answer(record(play))]
const GONE = { cause: 'host', reason: "the engineer's account is gone or disabled" }

/** What the deployment's directory knows, and whom it was asked for. */
interface Directory {
  readonly gone: Set<string>
  readonly failing: Set<string>
  readonly asked: string[]
}

/** Someone has arrived at the shop, and time stands still. */
const inDirectory = (
  use: (scene: Arrived, directory: Directory, clock: StoppedClock) => Promise<void>,
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
    const arriving = { ...given, configuration: { findAccount, ...configuration } }
    await onlyWoken((clock) => withArrival(arriving, (scene) => use(scene, directory, clock)))
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

/** Time stands still, and no process looks for sessions but the one that is woken. */
const onlyWoken = (use: (clock: StoppedClock) => Promise<void>) =>
  whileStopped(use, Date.now(), { intervals: true })

const WAYS: Named<(scene: SignedIn) => Promise<unknown>> = {
  'DELETE /subject-tokens/{id}': (scene) => revoke(scene, scene.id),
  'POST /subject-tokens/revocations': (scene) => postRevocation(scene, { id: scene.id }),
  'the kill switch': (scene) => postRevocation(scene, { userId: 'alice' }),
  'records.stop': ({ impersonation, id }) => impersonation.records.stop({ id }),
  'records.stopAll': ({ impersonation }) => impersonation.records.stopAll({ actorId: 'bob' }),
}

/** A provider whose storage of one model fails while it is told to. */
function failing(model: string): { readonly adapter: AdapterFactory; fails: boolean } {
  const models = storedModels()
  const state = {
    fails: false,
    adapter: (name: string) =>
      new Proxy(models.adapter(name), {
        get: (own, method) =>
          state.fails && name === model && (method === 'destroy' || method === 'revokeByGrantId')
            ? () => Promise.reject(new Error('private'))
            : Reflect.get(own, method),
      }),
  }
  return state
}

const AT_ONCE: Named<(scene: SignedIn) => Promise<unknown>> = {
  'by a stop': ({ impersonation, id }) => impersonation.records.stop({ id }),
  'by a code that is used again': ({ redeem, arrival }) => redeem(arrival),
}

const SECOND_USES: Named<Given> = {
  'as usual': {},
  'within replayLeeway': { options: { replayLeeway: 60 } },
  'where a policy of the deployment keeps every Grant': {
    configuration: { revokeGrantPolicy: () => false },
  },
}

declareCells('L', [
  values('L1', WAYS, (stop) =>
    signedIn(async (scene) => {
      expect((await introspect(scene, scene.accessToken)).active).to.equal(true)
      await stop(scene)
      await hasEnded(scene)
      expect(await scene.state()).to.equal('revoked')
    }),
  ),
  rule(
    'L1, and no other session ends',
    timed(async ({ deployment, open, stop, says }) => {
      const [id, other] = [await open(), await open()]
      await stop(id)
      expect(await leftOf(deployment, other)).to.deep.equal(['Session', 'Grant'])
      expect(await says(other)).to.include({ logout: 'pending' })
    }),
  ),
  ...['Session', 'Grant', 'AccessToken'].map((model) => {
    const storage = failing(model)
    return rule(
      `L1, and a ${model} that cannot be ended is a 503, until the next stop completes it`,
      timed(
        async ({ deployment, open, clock, watch, application, says, pass }) => {
          const id = await open()
          clock.tick(100)
          storage.fails = true
          expect((await postRevocation(deployment, { id })).status).to.equal(503)
          // Tokens are not issued any more: the record decides.
          expect((await deployment.impersonation.records.get(id))?.revokedAt).to.equal(now())
          await watch.look()
          expect(application.told).to.have.length(1)
          expect((await says(id))?.logout).to.equal('pending')
          storage.fails = false
          expect((await postRevocation(deployment, { id })).body).to.deep.equal({ revoked: 1 })
          expect(await leftOf(deployment, id)).to.deep.equal([])
          await pass(1)
          expect((await says(id))?.logout).to.equal('confirmed')
        },
        { configuration: { adapter: storage.adapter } },
      ),
    )
  }),
  rule(
    'L2',
    signedIn(async ({ id, impersonation, application }) => {
      application.answers.push('hangs')
      await impersonation.records.stop({ id })
      const stopped = await impersonation.records.get(id)
      expect([stopped?.state, stopped?.session?.logout]).to.deep.equal(['revoked', 'pending'])
    }),
  ),
  values('L3, at once', AT_ONCE, (end) =>
    cell(() =>
      onlyWoken(() =>
        withSession({}, async (scene) => {
          const { application, idToken, id, state } = scene
          await end(scene)
          await until(() => application.told.length === 1)
          expect(application.told[0]).to.include({ sub: decodeJwt(idToken).sub, sid: sessionName(id) })
          expect(await state()).to.equal('revoked')
        }),
      ),
    ),
  ),
  rule('L6, where it stops between the look at the record and the tokens', stoppedWhileRedeeming()),
  values('L8', SECOND_USES, (given) =>
    arrived(async (scene) => {
      const { id, arrival, application, redeem, userinfo, impersonation } = scene
      const { body } = await redeem(arrival)
      expect((await userinfo(body.access_token)).status).to.equal(200)
      const again = await redeem(arrival, {}, undefined, { 'x-request-id': 'the-second' })
      expect([again.status, again.body.error]).to.deep.equal([400, 'invalid_grant'])
      const { revocation, revokedAt, replay } = (await impersonation.records.get(id)) ?? {}
      expect(revocation).to.deep.equal({ cause: 'replay' })
      expect(replay).to.deep.equal({ at: revokedAt, clientId: 'shop' })
      expect(await leftOf(scene, id)).to.deep.equal([])
      expect((await userinfo(body.access_token)).status).to.equal(401)
      await until(() => application.told.length === 1)
      const [event, ...others] = scene.eventsOf('subject_token.replayed')
      expect(event).to.include({
        ...{ id, clientId: 'shop', usedBy: 'shop', sameClient: true, ended: 'now', request: 'the-second' },
      })
      expect([...others, ...scene.eventsOf('subject_token.revoked')]).to.deep.equal([])
    }, given),
  ),
  rule(
    'L8, by two at the same moment, of which an adapter lets one win',
    arrived(async ({ id, arrival, redeem, impersonation, state }) => {
      const answers = await Promise.all([redeem(arrival), redeem(arrival)])
      expect(answers.map(({ status }) => status)).to.include(400)
      await until(async () => (await state()) === 'revoked')
      const { revocation, replay } = (await impersonation.records.get(id)) ?? {}
      expect(revocation).to.deep.equal({ cause: 'replay' })
      expect(replay).to.include({ clientId: 'shop' })
    }),
  ),
  rule(
    'L8, and the Grant ends also where storage fails',
    arrived(
      async (scene) => {
        const { redeem, arrival, store, id, state, eventsOf } = scene
        await redeem(arrival)
        replace(store, 'recordReplay', () => Promise.reject(new Error('private')))
        expect((await redeem(arrival)).status).to.equal(400)
        expect(eventsOf('subject_token.replayed')).to.have.nested.property('[0].ended', 'failed')
        expect(await scene.provider.Grant.find(sessionName(id))).to.equal(undefined)
        // As whatever else ends the Grant.
        await until(async () => (await state()) === 'revoked')
      },
      { configuration: { revokeGrantPolicy: () => false } },
    ),
  ),
  rule('L8, and a code of no session is for the policy of the deployment', ownCode()),
  ...(['cannot', 'can'] as const).map((ends) =>
    rule(
      `L9, where revoking an access token ${ends} end the Grant`,
      signedIn(
        async ({ issuer, accessToken, userinfo, state, impersonation, id, application }) => {
          const headers = { authorization: `Basic ${btoa('shop:shop-secret')}` }
          const body = form({ token: accessToken })
          await send(`${issuer}/token/revocation`, { method: 'POST', headers, body })
          expect((await userinfo(accessToken)).status).to.equal(401)
          if (ends === 'cannot') {
            expect(await state()).to.equal('consumed')
            return
          }
          await until(() => application.told.length === 1)
          const { revocation, replay } = (await impersonation.records.get(id)) ?? {}
          expect(revocation).to.deep.equal({ cause: 'signedOut', client: 'shop' })
          expect(replay).to.equal(undefined)
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
    'L10, of what a process has left when it died',
    timed(async ({ deployment, open, watch, says }) => {
      const id = await open()
      const { store, provider } = insideOf(deployment.impersonation)
      await store.revoke(provider.issuer, id, now(), { cause: 'command' })
      expect(await leftOf(deployment, id)).to.deep.equal(['Session', 'Grant'])
      await watch.look()
      expect(await leftOf(deployment, id)).to.deep.equal([])
      expect((await says(id))?.logout).to.equal('confirmed')
    }),
  ),
  rule(
    'L10, and of what an answer under way has saved since',
    timed(async ({ deployment, open, stop, watch, pass, says }) => {
      const id = await open()
      await stop(id)
      await watch.look()
      const { provider } = deployment
      const grant = new provider.Grant({ accountId: 'alice', clientId: 'shop' })
      await Object.assign(grant, { jti: sessionName(id), exp: now() + 600 }).save()
      await pass(10)
      expect(await leftOf(deployment, id)).to.deep.equal([])
      expect((await says(id))?.logout).to.equal('confirmed')
    }),
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
      expect(await leftOf(deployment, id)).to.deep.equal([])
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
    'a sign-out that storage lost': inDirectory(async (scene, _, clock) => {
      const lost = Object.assign(new Error('private'), { code: 'ECONNREFUSED' })
      const putBack = replace(scene.store, 'list', () => Promise.reject(lost))
      await (await engineersSession(scene)).destroy()
      await until(() => scene.eventsOf('impersonation.failed').length === 1)
      expect(scene.eventsOf('impersonation.failed')[0]).to.deep.equal({
        ...{ door: 'session', status: 503, check: 'storage', reason: 'ECONNREFUSED' },
      })
      putBack()
      expect(await scene.state()).to.equal('consumed')
      clock.tick(60)
      await isStopped(scene, { cause: 'signedOut' })
    }),
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
      const looked = looksFor(Session)
      await other.destroy()
      await looked
      await scene.impersonation.records.list()
      expect(await scene.state()).to.equal('consumed')
    }),
    'an expiry': inDirectory(
      async (scene, _, clock) => {
        const { uid, exp = 0 } = await engineersSession(scene)
        const looked = looksFor(scene.provider.Session, uid)
        // Within a minute, the provider forgives a clock that is behind.
        clock.tick(exp - now() + 60)
        expect(await looked).to.equal(undefined)
        await scene.impersonation.records.list()
        expect(await scene.state()).to.equal('consumed')
      },
      { options: { maxAccessTokenTTL: 7200 } },
    ),
  }),
])

/** What is found where someone looks for this session of the provider, or for any. */
function looksFor(Session: SignedIn['provider']['Session'], uid?: string): Promise<unknown> {
  const looked = Promise.withResolvers<unknown>()
  const { findByUid } = Session
  Object.assign(Session, {
    async findByUid(name: string) {
      const found = await findByUid.call(Session, name)
      if (uid === undefined || name === uid) looked.resolve(found)
      return found
    },
  })
  return looked.promise
}

/** The policy is asked about a code of the user's own, and ends no session. */
function ownCode(): Steps {
  const asked: string[] = []
  const revokeGrantPolicy = () => asked.push('asked') > 0
  return arrived(
    async ({ provider, redeem, arrival, state }) => {
      const client = await provider.Client.find('shop')
      const grant = new provider.Grant({ accountId: 'alice', clientId: 'shop' })
      const code = await new provider.AuthorizationCode({
        ...{ accountId: 'alice', client, grantId: await grant.save(), redirectUri: CALLBACK },
        ...{ codeChallenge: CHALLENGE, codeChallengeMethod: 'S256', gty: 'authorization_code' },
        scope: 'openid',
      } as never).save()
      expect((await redeem(arrival, { code })).status).to.equal(200)
      expect((await redeem(arrival, { code })).status).to.equal(400)
      expect([asked, await state()]).to.deep.equal([['asked'], 'consumed'])
    },
    { configuration: { revokeGrantPolicy } },
  )
}

/** The application knows the session only after it was told of its end: it is told again. */
function stoppedWhileRedeeming(): Steps {
  const [looked, stopped] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let holds = false
  const findAccount = async (_ctx: unknown, accountId: string) => ({
    accountId,
    async claims() {
      if (holds) looked.resolve()
      if (holds) await stopped.promise
      return { sub: accountId }
    },
  })
  return cell(() =>
    onlyWoken((clock) =>
      withArrival({ configuration: { findAccount } }, async (scene) => {
        const { id, arrival, application, impersonation } = scene
        holds = true
        const redeeming = scene.redeem(arrival)
        await looked.promise
        await impersonation.records.stop({ id })
        await until(async () => (await impersonation.records.get(id))?.session?.logout === 'confirmed')
        expect(application.told).to.have.length(1)
        stopped.resolve()
        const { status, body } = await redeeming
        expect(status).to.equal(200)
        expect((await scene.userinfo(body.access_token)).status).to.equal(401)
        clock.tick(15)
        await until(() => application.told.length === 2)
        expect(application.told[1]?.sid).to.equal(decodeJwt(body.id_token).sid)
      }),
    ),
  )
}
