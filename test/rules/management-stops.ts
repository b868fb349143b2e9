/** How impersonations are stopped, one or all of someone (docs/protocol.md §2.2). */
import { expect } from 'chai'
import { publicClient } from '../../fixtures/clients.ts'
import { OPAQUE_API } from '../../fixtures/deployment.ts'
import { credentials, form, send as sendHttp } from '../../fixtures/http.ts'
import { revoke, show } from '../../fixtures/management.ts'
import { billingApi, LEDGER } from '../../fixtures/on-behalf-of.ts'
import { unique } from '../../fixtures/unique.ts'
import { exchanged, send, sent } from './exchanging.ts'
import { answers, recordSays, recordUnchanged, refused, tokenHasEnded, tokenLivesOn } from './expectations.ts'
import { fails, functions, on, passes, works } from './given.ts'
import { asks, isIssued } from './managing.ts'
import { answer, each, type Rule, rowsOf, type Step, type Steps } from './rule.ts'
import type { Scene } from './scene.ts'
import {
  cutShort,
  everyStop,
  everyStopOfAll,
  everyStopOfOne,
  everyWay,
  exchangedMeanwhile,
  issuedAgain,
  issuedAlone,
  sendStop,
  used,
} from './stopping.ts'

const wrong = (text: string): Steps => refused(400, 'invalid_request', text, null)
const FORMATS = ['a JWT', 'an opaque token'] as const
const SUBJECT_TOKEN_REFUSED = answers(400, 'invalid_request', 'subject_token is invalid')

/** The time of the record's revocation, to compare with. */
const keepsRevokedAt: Step = async ({ setting, id, kept }) => {
  kept.revokedAt = String((await show(setting, id)).body.revokedAt)
}

/** The application ends its access token at the provider (RFC 7009). */
const endsAlone: Step = async (scene) => {
  const token = scene.kept.accessToken || scene.received
  scene.kept.accessToken = token
  const auth = credentials(publicClient())
  const body = form({ ...auth.body, token })
  const { status } = await scene.request(() =>
    sendHttp(`${scene.setting.issuer}/token/revocation`, { method: 'POST', body }),
  )
  expect(status).to.equal(200)
}
const keepsChild: Step = ({ kept, response }) => {
  kept.child = response.body.access_token
}
/** What the API was given is exchanged by the next one. */
const childIsAnswered = (status: number): Step =>
  answer(async (scene) => {
    await sent(scene, ({ kept }) => ({ subject_token: kept.child ?? '', resource: LEDGER }), {
      client: billingApi(),
    })
    expect(scene.response.status, scene.response.text).to.equal(status)
  })

const one = [
  rowsOf(['the first time', 'repeated', 'with a query', 'unknown'])('M94', {
    'the first time': [
      isIssued,
      asks('DELETE /subject-tokens/{id}'),
      answer(({ response }) => expect([response.status, response.text]).to.deep.equal([204, ''])),
      recordSays({ state: 'revoked', revocation: { cause: 'api', client: 'backend' } }),
    ],
    repeated: [
      isIssued,
      asks('DELETE /subject-tokens/{id}'),
      asks('DELETE /subject-tokens/{id}'),
      answer(({ response }) => expect([response.status, response.text]).to.deep.equal([204, ''])),
      recordUnchanged,
    ],
    'with a query': [
      isIssued,
      asks('DELETE /subject-tokens/{id}', { query: '?userId=alice' }),
      wrong('unknown parameter: userId'),
    ],
    unknown: [
      isIssued,
      asks('DELETE /subject-tokens/{id}', { path: `/${'0'.repeat(32)}` }),
      answers(404, 'not_found', 'subject token not found'),
      recordUnchanged,
    ],
  }),
  everyStop('M95', 'it was used before', ({ stop, revocation }) => [
    issuedAlone,
    stop(),
    recordSays({ state: 'revoked', revocation, consumedAt: undefined }),
    send(),
    SUBJECT_TOKEN_REFUSED,
    recordUnchanged,
  ]),
  ...FORMATS.flatMap((format) => [
    everyWay(`${format === 'a JWT' ? 'M97' : 'M96'}, ${format}`, ({ stop, revocation }) => [
      issuedAlone,
      used(format),
      tokenLivesOn,
      stop(),
      tokenHasEnded,
      recordSays({ state: 'revoked', revocation, usedBy: 'spa' }),
    ]),
    everyStop(
      `${format === 'a JWT' ? 'M97' : 'M96'}, ${format}, exchanged meanwhile`,
      'a replay comes after the exchange',
      ({ stop, revocation }) => [
        issuedAlone,
        exchangedMeanwhile(format),
        stop(),
        tokenHasEnded,
        recordSays({ state: 'revoked', revocation, usedBy: 'spa' }),
      ],
    ),
  ]),
  everyWay('M97, without status lists', ({ stop, revocation }) => [
    on('without status lists'),
    issuedAlone,
    used('a JWT'),
    stop(),
    ({ events }) => expect(events.at(-1)?.payload).to.include({ ended: 'kept' }),
    recordSays({ state: 'revoked', revocation }),
  ]),
  ...FORMATS.map((format) =>
    everyWay(`M98, ${format}`, ({ stop, revocation }) => [
      passes(0),
      issuedAlone,
      used(format),
      stop(),
      keepsRevokedAt,
      passes(5),
      stop(0),
      recordSays(({ kept }) => ({ state: 'revoked', revocation, revokedAt: Number(kept.revokedAt) })),
    ]),
  ),
  everyStopOfOne('M98, cut short', 'of one record alone', ({ way, stop, revocation }) => [
    passes(0),
    issuedAlone,
    used('an opaque token'),
    cutShort,
    (scene) => scene.request(() => sendStop(way, scene)),
    ({ response }) => expect(response.status).to.equal(503),
    keepsRevokedAt,
    passes(5),
    stop(),
    ({ events }) => expect(events.map(({ name }) => name)).to.deep.equal(['subject_token.revoked']),
    tokenHasEnded,
    recordSays(({ kept }) => ({ state: 'revoked', revocation, revokedAt: Number(kept.revokedAt) })),
  ]),
  everyStop('M98, what could not be ended', 'E33', ({ way, stop, revocation }) => [
    issuedAlone,
    used('an opaque token'),
    fails('Grant.destroy'),
    (scene) => scene.request(() => sendStop(way, scene)),
    ({ response }) => expect(response.status).to.equal(503),
    tokenLivesOn,
    works('Grant.destroy'),
    stop(0),
    tokenHasEnded,
    recordSays({ state: 'revoked', revocation }),
  ]),
  everyStop('M99, expired unused', 'it was used', ({ stop }) => [
    passes(0),
    issuedAlone,
    passes(600),
    stop(0),
    recordUnchanged,
    recordSays({ state: 'expired', revokedAt: undefined }),
  ]),
  ...FORMATS.map((format) =>
    everyStop(`M99, ${format} has expired`, 'E31', ({ stop }) => [
      passes(0),
      issuedAlone,
      used(format),
      passes(600),
      stop(0),
      recordUnchanged,
      recordSays({ state: 'consumed', revokedAt: undefined }),
    ]),
  ),
  rowsOf(['the access token', 'what an API was given for it', 'once the record is revoked'])('M100', {
    'the access token': [
      isIssued,
      exchanged({ resource: OPAQUE_API }),
      endsAlone,
      answer(tokenHasEnded),
      recordUnchanged,
    ],
    'what an API was given for it': [
      (scene) => void Object.assign(scene, { door: 'an opaque token' }),
      send(),
      keepsChild,
      endsAlone,
      childIsAnswered(200),
      recordSays({ state: 'consumed' }),
    ],
    'once the record is revoked': [
      (scene) => void Object.assign(scene, { door: 'an opaque token' }),
      send(),
      keepsChild,
      endsAlone,
      ({ setting, id }) => revoke(setting, id),
      childIsAnswered(400),
      recordSays({ state: 'revoked' }),
    ],
  }),
]

const kill = (query: string): Step => asks('DELETE /subject-tokens', { path: query })
const keepsOther: Step = ({ kept, id }) => void Object.assign(kept, { other: id })
/** The record that was kept has this state. */
const otherSays =
  (state: string): Step =>
  async ({ setting, kept }) => {
    expect((await show(setting, kept.other ?? '')).body.state).to.equal(state)
  }
/** People are named as `findAccount` knows them, too. */
const byAlias: Step = (scene) => {
  const { userId, actorId, createdBy } = scene.people
  scene.people = { userId: `alias:${userId}`, actorId: `alias:${actorId}`, createdBy }
}
const NO_ALIAS = 'it names no account'
const hasAlias = (way: string): boolean => !way.endsWith('createdBy')

/** Storage fails after the first batch. */
const failsAfterOneBatch: Step = ({ setting }) =>
  void setting.instead.set('store.revokeWhere', async function* (call) {
    yield* call() as AsyncIterable<unknown>
    throw new Error('private: connection lost')
  })

const all = [
  everyStopOfAll('M101', 'of one record', ({ stop, revocation }) => [
    issuedAlone,
    keepsOther,
    issuedAgain,
    used('an opaque token'),
    stop(2),
    tokenHasEnded,
    otherSays('revoked'),
    recordSays({ state: 'revoked', revocation }),
  ]),
  everyStopOfAll('M101, no one else', 'of one record', ({ stop }) => [
    issuedAlone,
    keepsOther,
    issuedAlone,
    stop(1),
    otherSays('active'),
    recordSays({ state: 'revoked' }),
  ]),
  rowsOf(['none', 'two', 'all three', 'another', 'the same twice'])('M101, exactly one', {
    none: [kill(''), wrong('userId, actorId or createdBy is required')],
    two: [kill('?userId=a&actorId=b'), wrong('actorId must not come with userId')],
    'all three': [kill('?userId=a&actorId=b&createdBy=c'), wrong('actorId must not come with userId')],
    another: [kill('?clientId=a'), wrong('unknown parameter: clientId')],
    'the same twice': [kill('?userId=a&userId=b'), wrong('userId must not be repeated')],
  }),
  everyStopOfAll('M102', 'of one record', ({ stop, revocation }) => [
    issuedAlone,
    issuedAgain,
    issuedAgain,
    stop(3),
    recordSays({ state: 'revoked', revocation }),
    stop(0),
    recordUnchanged,
  ]),
  everyStopOfAll('M102, a batch fails', 'of one record', ({ way, stop, revocation }) => [
    issuedAlone,
    used('an opaque token'),
    failsAfterOneBatch,
    (scene) => scene.request(() => sendStop(way, scene)),
    ({ response }) => expect(response.status).to.equal(503),
    recordSays({ state: 'revoked', revocation }),
    tokenHasEnded,
    works('store.revokeWhere'),
    stop(0),
    recordUnchanged,
  ]),
  everyStopOfAll('M103', 'of one record', ({ way, stop, revocation }) =>
    hasAlias(way) ? [issuedAlone, byAlias, stop(1), recordSays({ state: 'revoked', revocation })] : NO_ALIAS,
  ),
  everyStopOfAll('M103, the text first', 'of one record', ({ way, stop, revocation }) =>
    hasAlias(way)
      ? [
          issuedAlone,
          functions({ findAccount: () => Promise.reject(new Error('private: no directory')) }),
          stop(1),
          recordSays({ state: 'revoked', revocation }),
        ]
      : NO_ALIAS,
  ),
  everyStopOfAll('M104', 'of one record', ({ way, stop }) =>
    way.endsWith('actorId')
      ? [
          isIssued,
          (scene) => {
            scene.people = { ...scene.people, actorId: unique('actor') }
          },
          stop(0),
          recordUnchanged,
          recordSays({ state: 'active' }),
        ]
      : 'it names no actor',
  ),
]

const NAMES = ['id', 'userId', 'actorId', 'createdBy'] as const
const bodies = rowsOf(NAMES)
/** The same for each name that a body may hold. */
const everyBody = (title: string, stepsFor: (own: (scene: Scene) => object) => Steps): Rule =>
  bodies(
    title,
    each(NAMES, (name) => stepsFor(({ id, people }) => (name === 'id' ? { id } : { [name]: people[name] }))),
  )
const posts = (body: (scene: Scene) => unknown): Step =>
  asks('POST /subject-tokens/revocations', (scene) => ({ body: body(scene) }))
const revokesOne = answer(({ response }) =>
  expect([response.status, response.body], response.text).to.deep.equal([200, { revoked: 1 }]),
)
const REASON = 'reason must be a string of 1 to 1000 characters, and must not be blank'
const NAME = 'by must be a string of 1 to 255 characters'

const saying = [
  everyBody('M105', (own) => [
    issuedAlone,
    posts((scene) => ({ ...own(scene), by: 'dora', reason: 'a reason' })),
    revokesOne,
    recordSays({ revocation: { cause: 'api', client: 'backend', by: 'dora', reason: 'a reason' } }),
  ]),
  everyBody('M105, with a query', (own) => [
    issuedAlone,
    asks('POST /subject-tokens/revocations', (scene) => ({ body: own(scene), query: '?userId=alice' })),
    wrong('unknown parameter: userId'),
  ]),
  rowsOf(['known', 'unknown', 'not an id', 'of another type'])('M106', {
    known: [isIssued, posts(({ id }) => ({ id })), revokesOne, recordSays({ state: 'revoked' })],
    unknown: [
      isIssued,
      posts(() => ({ id: '0'.repeat(32) })),
      answers(404, 'not_found', 'subject token not found'),
      recordUnchanged,
    ],
    'not an id': [
      isIssued,
      posts(() => ({ id: 'x' })),
      answers(404, 'not_found', 'subject token not found'),
      recordUnchanged,
    ],
    'of another type': [
      isIssued,
      posts(() => ({ id: 7 })),
      wrong('id must be a string of 1 to 255 characters'),
    ],
  }),
  everyBody('M107', (own) => [issuedAlone, posts(own), revokesOne, recordSays({ state: 'revoked' })]),
  rowsOf(['none', 'two', 'of another type'])('M107, exactly one', {
    none: [isIssued, posts(() => ({ by: 'dora' })), wrong('id, userId, actorId or createdBy is required')],
    two: [isIssued, posts(({ id }) => ({ id, userId: 'alice' })), wrong('userId must not come with id')],
    'of another type': [
      isIssued,
      posts(() => ({ userId: ['a'] })),
      wrong('userId must be a string of 1 to 255 characters'),
    ],
  }),
  ...Object.entries({ 'too long': 'd'.repeat(256), empty: '', NUL: 'd\0', 'of another type': 7 }).map(
    ([title, by]) =>
      everyBody(`M108, ${title}`, (own) => [
        issuedAlone,
        posts((scene) => ({ ...own(scene), by })),
        wrong(NAME),
      ]),
  ),
  everyBody('M108, the longest', (own) => [
    issuedAlone,
    posts((scene) => ({ ...own(scene), by: '🎫'.repeat(255) })),
    revokesOne,
    recordSays({ revocation: { cause: 'api', client: 'backend', by: '🎫'.repeat(255) } }),
  ]),
  ...Object.entries({
    'too long': 'd'.repeat(1001),
    empty: '',
    blank: ' \n',
    NUL: 'd\0',
    'half a character': 'a\ud800',
    'of another type': 7,
  }).map(([title, reason]) =>
    everyBody(`M109, ${title}`, (own) => [
      issuedAlone,
      posts((scene) => ({ ...own(scene), reason })),
      wrong(REASON),
    ]),
  ),
  everyBody('M109, the longest', (own) => [
    issuedAlone,
    posts((scene) => ({ ...own(scene), reason: '🎫'.repeat(1000) })),
    revokesOne,
    recordSays({ revocation: { cause: 'api', client: 'backend', reason: '🎫'.repeat(1000) } }),
  ]),
  everyStop('M110', 'the rows of §3.1', ({ stop, revocation }) => [
    issuedAlone,
    used('a JWT'),
    stop(),
    posts(({ id }) => ({ id, by: 'robin', reason: 'another' })),
    answer(({ response }) => expect(response.body).to.deep.equal({ revoked: 0 })),
    recordUnchanged,
    recordSays({ revocation }),
  ]),
]

export const stopRules = [...one, ...all, ...saying]
