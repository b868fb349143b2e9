/** Stops that something keeps from their end, and names that `findAccount` does not explain (docs/protocol.md §2.2). */
import { inspect } from 'node:util'
import { expect } from 'chai'
import type { FindAccount } from 'oidc-provider'
import { tooLate } from '../../fixtures/clock.ts'
import { OPAQUE_API } from '../../fixtures/deployment.ts'
import { send as sendHttp } from '../../fixtures/http.ts'
import { idsOf, list, postRevocation, revoke, revokeWhere, show } from '../../fixtures/management.ts'
import { exchange, issue, keptToken } from '../../fixtures/requests.ts'
import { unique } from '../../fixtures/unique.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { exchanged, send, sent } from './exchanging.ts'
import { answers, recordSays, recordUnchanged, tokenHasEnded, tokenLivesOn } from './expectations.ts'
import { failsOnce, functions, meanwhile, onADayOfItsOwn, passes, works } from './given.ts'
import { asks, everyRoute, isHead, isIssued, requests, routeOf } from './managing.ts'
import { declareCells } from './matrix.ts'
import { answer, each, type Named, rowsOf, type Step, type Steps, values } from './rule.ts'
import type { Scene } from './scene.ts'
import { issuedAgain, issuedAlone, used } from './stopping.ts'

const account = (accountId: string) => ({ accountId, claims: () => ({ sub: accountId }) })

/** One record names its actor by the account, and one, that of the scene, by another name. */
const namedTwice: Step = async (scene) => {
  const [userId, actorId] = [unique('user'), unique('actor')]
  scene.people = { ...scene.people, userId, actorId: `alias:${actorId}` }
  scene.kept.other = (await issue(scene.setting, { userId, actorId })).id
  scene.id = (await issue(scene.setting, { userId, actorId: `alias:${actorId}` })).id
  scene.setting.errors.length = 0
}
const stateOf = async ({ setting, kept }: Scene) => (await show(setting, kept.other ?? '')).body.state
const otherIs = (state: string): Step => answer(async (scene) => expect(await stateOf(scene)).to.equal(state))
const ofActor = ({ people: { userId, actorId } }: Scene) => ({ userId, actorId })
const killsActor: Step = requests(({ setting, people: { actorId } }) => revokeWhere(setting, { actorId }))
const isStopped = (revoked: number): Step =>
  answer(({ response: { status, body, text } }) =>
    expect([status, body], text).to.deep.equal([200, { revoked }]),
  )

/** What becomes of a name, and what the operator learns of it. */
const IGNORANT: Named<readonly [findAccount: FindAccount, told?: string]> = {
  'knows nothing': [async () => undefined],
  rejects: [() => Promise.reject(new Error('private: no directory')), 'findAccount failed'],
  throws: [
    () => {
      throw new Error('private: no directory')
    },
    'findAccount failed',
  ],
  'takes too long': [() => tooLate(1), 'findAccount took more than 1 s'],
  'returns something else': [async () => ({ accountId: 7 }) as never, 'findAccount failed'],
  'returns an id that no row can have': [async () => account('alice\0')],
  'returns the same id': [async (_ctx, id) => account(id)],
}

/** What `findAccount` was asked for, and by whom. */
const asked: unknown[] = []
const asksOnce = (...names: readonly string[]): Steps => [
  answer(() => expect(asked.splice(0)).to.deep.equal(names.map((name) => [name, 'backend']))),
  recordUnchanged,
]
const tellsWhoAsks: Step = functions({
  async findAccount(ctx, id) {
    asked.push([id, ctx.oidc.client?.clientId])
    return account(id)
  },
})

const names = [
  values('M103, a findAccount that', IGNORANT, ([findAccount, told]) => [
    namedTwice,
    functions({ findAccount }),
    requests((scene) => list(scene.setting, ofActor(scene))),
    ({ response, id }) => expect(idsOf(response), response.text).to.deep.equal([id]),
    killsActor,
    isStopped(1),
    ({ setting, response }) => {
      // The operator learns of it, the caller does not: once for each name of the list, and for that of the stop.
      const messages = setting.errors.map((error) => (error as Error).message)
      expect(messages).to.deep.equal(told ? [told, told, told] : [])
      expect(response.text).not.to.include('private')
    },
    otherIs('active'),
    recordSays({ state: 'revoked' }),
  ]),
  values('M103, findAccount is asked', { 'once the text as sent is stopped': 'revoked' }, (state) => [
    namedTwice,
    (scene) => {
      const states: (number | undefined)[] = []
      scene.setting.functions = {
        async findAccount(_ctx, id) {
          const store = createSubjectTokenStore(scene.setting.database.sequelize)
          for (const one of [scene.id, scene.kept.other ?? ''])
            states.push((await store.find(scene.setting.issuer, one))?.revokedAt)
          scene.kept.states = states.map((at) => (at === undefined ? 'active' : 'revoked')).join()
          return account(id.replace('alias:', ''))
        },
      }
    },
    killsActor,
    isStopped(2),
    ({ kept }) => expect(kept.states).to.equal(`${state},active`),
    recordSays({ state }),
  ]),
  values('M103, the text as sent cannot be stopped', { 'the account is': 'revoked' }, (state) => [
    namedTwice,
    failsOnce('store.revokeWhere'),
    killsActor,
    answers(503, 'temporarily_unavailable'),
    otherIs(state),
    recordSays({ state: 'active' }),
  ]),
  rowsOf(['a page and the next one'])('M46, by both names', {
    'a page and the next one': [
      namedTwice,
      async ({ setting, people: { userId, actorId }, kept, id }) => {
        const ids = [(await issue(setting, { userId, actorId })).id, id, kept.other ?? '']
        for (const limit of [1, 2, 3]) {
          const read: string[] = []
          let cursor: string | undefined
          do {
            const page = await list(setting, { userId, actorId, limit: String(limit), cursor })
            read.push(...idsOf(page))
            cursor = page.body.nextCursor
            expect(cursor, `${read.length} of ${limit}`).to.equal(read.length < 3 ? read.at(-1) : undefined)
          } while (cursor)
          expect(read).to.deep.equal(ids)
        }
      },
      requests((scene) => list(scene.setting, ofActor(scene))),
      answer(({ response }) => expect(response.body.items).to.have.length(3)),
      recordUnchanged,
    ],
  }),
  rowsOf(['a list', 'a list by others', 'a kill switch', 'one of a backend'])('M46, findAccount is asked', {
    'a list': [
      tellsWhoAsks,
      requests(({ setting }) => list(setting, { userId: 'alice', actorId: 'bob', clientId: 'spa' })),
      asksOnce('alice', 'bob'),
    ],
    'a list by others': [
      tellsWhoAsks,
      requests(({ setting }) => list(setting, { clientId: 'spa', createdBy: 'backend', jti: 'x' })),
      asksOnce(),
    ],
    'a kill switch': [
      tellsWhoAsks,
      requests(({ setting }) => revokeWhere(setting, { userId: 'carol' })),
      asksOnce('carol'),
    ],
    'one of a backend': [
      tellsWhoAsks,
      requests(({ setting }) => revokeWhere(setting, { createdBy: 'nobody' })),
      asksOnce(),
    ],
  }),
]

const DORA = { by: 'dora', reason: 'the ticket is closed' }
const revocation = { cause: 'api', client: 'backend', ...DORA }
const WAYS = {
  one: ({ id }: Scene) => ({ id }),
  all: ({ people: { userId } }: Scene) => ({ userId }),
} as const
/** A stop of one record, or of all of its user. */
const both = (title: string, stepsFor: (stops: (by?: object) => Step, way: keyof typeof WAYS) => Steps) =>
  rowsOf(['one', 'all'])(
    title,
    each(['one', 'all'], (way) =>
      stepsFor(
        (by = DORA) => requests((scene) => postRevocation(scene.setting, { ...WAYS[way](scene), ...by })),
        way,
      ),
    ),
  )
const fell = answers(503, 'temporarily_unavailable', 'the service is temporarily unavailable')
const outage: Steps = [
  fell,
  ({ response }) => expect(response.headers.get('retry-after')).to.match(/^[1-9]\d*$/),
]
const tells = (...events: readonly string[]): Step =>
  answer((scene) => expect(scene.events.map(({ name }) => name)).to.deep.equal(events))
const FAILED = 'impersonation.failed'
const REVOKED = 'subject_token.revoked'

/** The first request has failed with its stop written, and told nothing. The second one tells it in the name of the first. */
const isCompleted = (stops: (by?: object) => Step, ended?: string): Steps => [
  tells(FAILED),
  recordSays({ state: 'revoked', revocation }),
  stops({ by: 'robin' }),
  isStopped(1),
  tells(REVOKED),
  ({ events, id, people: { userId } }) =>
    expect(events[0]?.payload).to.deep.include({
      ...{ id, userId, revokedBy: 'backend', revocation },
      ...(ended && { ended }),
    }),
  recordSays({ revocation }),
  stops(),
  isStopped(0),
  requests(({ setting, id }) => revoke(setting, id)),
  ({ response }) => expect(response.status).to.equal(204),
  tells(),
]

const STOP_IS_WRITTEN = /^INSERT .*INTO subject_token_stops/s
const isRefused = answers(400, 'invalid_request', 'subject_token is invalid')
const loses =
  (statement: RegExp): Step =>
  ({ setting }) =>
    setting.lose(statement)

/** All of the stop is written, and no one learns of it. */
const losesTheStop: Step = ({ setting: { instead } }) => {
  const lose = () => {
    for (const call of ['store.revoke', 'store.revokeWhere']) instead.delete(call)
    throw new Error('private: connection lost')
  }
  instead.set('store.revoke', async (call) => {
    await call()
    lose()
  })
  instead.set('store.revokeWhere', async function* (call) {
    for await (const _ of call() as AsyncIterable<unknown>) lose()
    yield* []
  })
}

/** What happens to a stop, and whether the access token has ended by then. */
const ACCIDENTS: Named<readonly [given: Step, ends: boolean]> = {
  'after the row of the stop': [loses(STOP_IS_WRITTEN), false],
  'after all of it was written': [losesTheStop, false],
  'the report is refused': [failsOnce('store.report'), true],
}

const deaths = [
  ...Object.entries(ACCIDENTS).map(([title, [given, ends]]) =>
    both(`M98, ${title}`, (stops) => [
      issuedAlone,
      used('an opaque token'),
      given,
      stops(),
      outage,
      ends ? tokenHasEnded : tokenLivesOn,
      isCompleted(stops, 'now'),
      tokenHasEnded,
    ]),
  ),
  both('M98, exchanged before the request is repeated', (stops) => [
    issuedAlone,
    meanwhile('store.consume', async (scene) => {
      await loses(STOP_IS_WRITTEN)(scene)
      await stops()(scene)
      await fell(scene)
    }),
    used('an opaque token'),
    stops({ by: 'robin' }),
    isStopped(1),
    tells(REVOKED),
    ({ events }) => expect(events[0]?.payload).to.deep.include({ revocation, ended: 'now' }),
    tokenHasEnded,
    recordSays({ revocation }),
  ]),
  ...Object.entries({ stop: STOP_IS_WRITTEN, tombstone: /^INSERT .*INTO subject_token_uses/s }).map(
    ([row, statement]) =>
      both(`M98, after the row of the ${row} of an unspent one`, (stops, way) => [
        issuedAlone,
        loses(statement),
        stops(),
        outage,
        // A kill switch leaves what can neither be exchanged nor has an access token. The record's own stop tells it.
        ...(way === 'all' ? [stops(), isStopped(0)] : []),
        requests(({ setting, id }) => postRevocation(setting, { id, by: 'robin' })),
        isStopped(1),
        tells(REVOKED),
        ({ events }) => expect(events[0]?.payload).to.deep.include({ revocation }),
        requests(({ setting, id }) => revoke(setting, id)),
        tells(),
        ({ setting, subjectToken }) => exchange(setting, { subject_token: subjectToken }),
        recordSays({ revocation, consumedAt: undefined }),
      ]),
  ),
  both('M98, the result of the report is lost', (stops) => [
    issuedAlone,
    used('an opaque token'),
    loses(/^UPDATE subject_token_stops/),
    stops(),
    isStopped(1),
    tells(REVOKED),
    stops(),
    isStopped(0),
    tells(),
    tokenHasEnded,
    recordSays({ revocation }),
  ]),
  both('M102, told by another request meanwhile', (stops) => [
    issuedAlone,
    used('an opaque token'),
    ({ setting: { instead } }) =>
      void instead.set('store.report', async (call) => {
        await call()
        return call()
      }),
    stops(),
    isStopped(0),
    tells(),
    tokenHasEnded,
    recordSays({ revocation }),
  ]),
  rowsOf(['one'])('M98, repeated once the access token has expired', {
    one: [
      passes(0),
      issuedAlone,
      used('an opaque token'),
      failsOnce('store.report'),
      asks('DELETE /subject-tokens/{id}'),
      outage,
      passes(3600),
      asks('DELETE /subject-tokens/{id}'),
      tells(REVOKED),
      ({ events }) => expect(events[0]?.payload).to.include({ ended: 'expired' }),
      recordSays({ state: 'revoked' }),
    ],
  }),
]

/** Three records of a user, each of which was exchanged. */
const threeUsed: Steps = [
  issuedAlone,
  used('an opaque token'),
  [issuedAgain, used('an opaque token')],
  [issuedAgain, used('an opaque token')],
]
const kills = requests(({ setting, people: { userId } }) => revokeWhere(setting, { userId }))
const ENDS = ['Grant.destroy', 'AccessToken.revokeByGrantId']

const ends = [
  rowsOf(ENDS)(
    'M98, one of three cannot be ended',
    each(ENDS, (call) => [
      threeUsed,
      failsOnce(call),
      ({ setting }) => void setting.errors.splice(0),
      kills,
      outage,
      // The others are stopped and told all the same.
      tells(REVOKED, REVOKED, FAILED),
      ({ setting }) => {
        expect(setting.errors).to.have.lengthOf(1)
        expect(setting.errors[0]).to.have.property('error_detail', 'Error')
      },
      kills,
      isStopped(1),
      tells(REVOKED),
      ({ events }) => expect(events[0]?.payload).to.include({ ended: 'now' }),
      kills,
      isStopped(0),
      tells(),
      tokenHasEnded,
      async ({ setting, kept }) =>
        expect(await setting.provider.AccessToken.find(kept.accessToken ?? '')).to.equal(undefined),
      recordSays({ state: 'revoked' }),
    ]),
  ),
  rowsOf(ENDS)(
    'E33, a replay cannot end it',
    each(ENDS, (call) => [
      issuedAlone,
      used('an opaque token'),
      failsOnce(call),
      ...['failed', 'now'].map((ended) => [
        (scene: Scene) => sent(scene),
        isRefused,
        ({ events }: Scene) => expect(events.at(-1)?.payload).to.include({ ended }),
      ]),
      tokenHasEnded,
      recordSays({ state: 'revoked' }),
    ]),
  ),
  values('E30, a lost race', { 'leaves no Grant': { resource: OPAQUE_API } }, (target) => [
    isIssued,
    meanwhile('store.consume', exchanged(target)),
    send(target),
    isRefused,
    ({ calls }) => {
      const count = (name: string) => calls.filter((call) => call === name).length
      expect(count('Grant.destroy')).to.equal(count('Grant.upsert')).and.to.be.greaterThan(0)
    },
    tokenHasEnded,
    recordSays({ state: 'revoked' }),
  ]),
  values('M101, at the same time', { 'many access tokens': 'Grant.destroy' }, (destroy) => [
    threeUsed,
    async (scene) => {
      const { instead } = scene.setting
      let ending = 0
      instead.set(destroy, async (call) => {
        ending += 1
        scene.kept.most = String(Math.max(ending, Number(scene.kept.most ?? 0)))
        await call()
        ending -= 1
      })
    },
    kills,
    isStopped(3),
    ({ kept }) => expect(kept.most).to.equal('3'),
    works(destroy),
    tokenHasEnded,
    recordSays({ state: 'revoked' }),
  ]),
]

/** As if no one had migrated the database, while the request is carried out. */
const tables = [
  everyRoute('M144, the table is gone', (name) =>
    isHead(name)
      ? 'as GET'
      : [
          onADayOfItsOwn,
          isIssued,
          requests(async (scene) => {
            const { subjectTokens, database, errors } = scene.setting
            const { method, path, body } = routeOf(name).request(scene)
            const headers = {
              authorization: `Bearer ${await keptToken(scene.setting)}`,
              ...(body !== undefined && { 'content-type': 'application/json' }),
            }
            errors.length = 0
            const rename = (from: string, to: string) =>
              database.sequelize.query(`ALTER TABLE ${from} RENAME TO ${to}`)
            await rename('subject_tokens', 'elsewhere')
            try {
              return await sendHttp(subjectTokens + path, { method, headers, body: JSON.stringify(body) })
            } finally {
              await rename('elsewhere', 'subject_tokens')
            }
          }),
          outage,
          ({ setting, response }) => {
            expect(response.text).not.to.include('migrate')
            expect(inspect(setting.errors)).to.include('run `oidc-impersonation migrate`')
          },
          recordUnchanged,
        ],
  ),
]

declareCells('M, failures', [...names, ...deaths, ...ends, ...tables])
