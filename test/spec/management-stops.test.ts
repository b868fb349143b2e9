/** How impersonations are stopped, one or all of someone (docs/protocol.md §2.2). */
import { expect } from 'chai'
import { publicClient } from '../../fixtures/clients.ts'
import { OPAQUE_API } from '../../fixtures/deployment.ts'
import { credentials, form, send as sendHttp } from '../../fixtures/http.ts'
import { idsOf, list, revoke, show } from '../../fixtures/management.ts'
import { billingApi, LEDGER } from '../../fixtures/on-behalf-of.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import { unique } from '../../fixtures/unique.ts'
import { exchanged, send, sent } from './exchanging.ts'
import {
  answers,
  changesNothing,
  recordSays,
  recordUnchanged,
  tokenHasEnded,
  tokenLivesOn,
  wrongInput,
} from './expectations.ts'
import { fails, functions, on, passes, works } from './given.ts'
import { acknowledges, asks, isIssued, isUsedAgain, replayOf } from './managing.ts'
import { declareCells } from './matrix.ts'
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
  tellsFailure,
  used,
} from './stopping.ts'

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
  rowsOf(['the first time', 'repeated'])('M94', {
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
  everyWay('M97 M167, without status lists', ({ stop, revocation }) => [
    on('without status lists'),
    issuedAlone,
    used('a JWT'),
    stop(1, 1),
    ({ events }) => expect(events.at(-1)?.payload).to.include({ ended: 'kept' }),
    recordSays({ state: 'revoked', revocation: { ...revocation, ended: 'kept' } }),
    stop(0),
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
    tellsFailure(way),
    works('Grant.destroy'),
    stop(),
    ({ events }) => expect(events.map(({ name }) => name)).to.deep.equal(['subject_token.revoked']),
    ({ events }) => expect(events[0]?.payload).to.include({ ended: 'now' }),
    tokenHasEnded,
    recordSays({ state: 'revoked', revocation }),
    stop(0),
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
const eachBody = (title: string, stepsFor: (own: (scene: Scene) => object) => Steps): Rule =>
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

/** Of the same user. */
const goesOnInAnother: Step = async (scene) => {
  await isIssued(scene)
  const { setting, kept, people } = scene
  kept.other = (await issue(setting, { userId: people.userId })).id
}
const goesOnInNone = wrongInput('continuedBy must be the id of another record of the same user')
/** The list of what no one has looked into has it. */
const unacknowledged: Step = answer(async (scene) => {
  const { setting, people, id } = scene
  const response = await scene.request(() => list(setting, { unacknowledged: 'true', userId: people.userId }))
  expect(idsOf(response)).to.deep.equal([id])
})

const saying = [
  eachBody('M105 M106 M107', (own) => [
    issuedAlone,
    posts((scene) => ({ ...own(scene), by: 'dora', reason: 'a reason' })),
    revokesOne,
    recordSays({ revocation: { cause: 'api', client: 'backend', by: 'dora', reason: 'a reason' } }),
  ]),
  ...Object.entries({
    'two of them': [{ userId: 'alice' }, 'userId must not come with id'],
    'of another type': [{ id: undefined, userId: ['a'] }, 'userId must be a string of 1 to 255 characters'],
    'an id of another type': [{ id: 7 }, 'id must be a string of 1 to 255 characters'],
  } as const).map(([title, [changes, text]]) =>
    rowsOf(['id'])(`M106 M107, ${title}`, {
      id: [isIssued, posts(({ id }) => ({ id, ...changes })), wrongInput(text)],
    }),
  ),
  ...Object.entries({ 'too long': 'd'.repeat(256), empty: '', NUL: 'd\0', 'of another type': 7 }).map(
    ([title, by]) =>
      eachBody(`M108, ${title}`, (own) => [
        issuedAlone,
        posts((scene) => ({ ...own(scene), by })),
        wrongInput(NAME),
      ]),
  ),
  eachBody('M108, the longest', (own) => [
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
    eachBody(`M109, ${title}`, (own) => [
      issuedAlone,
      posts((scene) => ({ ...own(scene), reason })),
      wrongInput(REASON),
    ]),
  ),
  ...Object.entries({ longest: '🎫'.repeat(1000), shortest: '🎫' }).map(([title, reason]) =>
    eachBody(`M109, the ${title}`, (own) => [
      issuedAlone,
      posts((scene) => ({ ...own(scene), reason })),
      revokesOne,
      recordSays({ revocation: { cause: 'api', client: 'backend', reason } }),
    ]),
  ),
  everyStopOfAll('M167', 'of one record', ({ stop, revocation }) => [
    on('without status lists'),
    issuedAlone,
    used('a JWT'),
    issuedAgain,
    used('an opaque token'),
    issuedAgain,
    stop(3, 1),
    recordSays({ state: 'revoked', revocation }),
  ]),
  rowsOf(['self', 'continued'])('M168 M169', {
    self: [
      isIssued,
      posts(({ id }) => ({ id, cause: 'self', by: 'sam' })),
      revokesOne,
      recordSays({ revocation: { cause: 'self', client: 'backend', by: 'sam' } }),
    ],
    continued: [
      goesOnInAnother,
      posts(({ id, kept }) => ({ id, cause: 'continued', continuedBy: kept.other })),
      revokesOne,
      otherSays('active'),
      recordSays(({ kept }) => ({
        revocation: { cause: 'continued', client: 'backend', continuedBy: kept.other },
      })),
    ],
  }),
  ...Object.entries({ api: 'api', console: 'console', 'of another type': ['self'], null: null }).map(
    ([title, cause]) =>
      rowsOf(['id'])(`M168, ${title}`, {
        id: [isIssued, posts(({ id }) => ({ id, cause })), wrongInput('cause must be self or continued')],
      }),
  ),
  rowsOf(['userId', 'actorId', 'createdBy'])(
    'M168, of more than one',
    each(['userId', 'actorId', 'createdBy'], (name) => [
      issuedAlone,
      posts(({ people }) => ({ [name]: people[name], cause: 'self' })),
      wrongInput(`cause must not come with ${name}`),
    ]),
  ),
  rowsOf(['itself', 'unknown', 'not an id', 'of another user', 'of another issuer'])('M169', {
    itself: [isIssued, posts(({ id }) => ({ id, cause: 'continued', continuedBy: id })), goesOnInNone],
    unknown: [
      isIssued,
      posts(({ id }) => ({ id, cause: 'continued', continuedBy: '0'.repeat(32) })),
      goesOnInNone,
    ],
    'not an id': [isIssued, posts(({ id }) => ({ id, cause: 'continued', continuedBy: 'x' })), goesOnInNone],
    'of another user': [
      isIssued,
      keepsOther,
      isIssued,
      posts(({ id, kept }) => ({ id, cause: 'continued', continuedBy: kept.other })),
      goesOnInNone,
    ],
    'of another issuer': [
      on('of another issuer'),
      isIssued,
      keepsOther,
      on('usual'),
      // Of the same user.
      async (scene) => {
        Object.assign(scene, await issue(scene.setting, { userId: scene.people.userId }))
      },
      posts(({ id, kept }) => ({ id, cause: 'continued', continuedBy: kept.other })),
      goesOnInNone,
    ],
  }),
  rowsOf(['missing', 'without the cause', 'with self', 'of another type'])('M169, the cause', {
    missing: [
      isIssued,
      posts(({ id }) => ({ id, cause: 'continued' })),
      wrongInput('continuedBy is required with the cause continued'),
    ],
    'without the cause': [
      isIssued,
      posts(({ id }) => ({ id, continuedBy: id })),
      wrongInput('continuedBy must come with the cause continued'),
    ],
    'with self': [
      isIssued,
      posts(({ id }) => ({ id, cause: 'self', continuedBy: id })),
      wrongInput('continuedBy must come with the cause continued'),
    ],
    'of another type': [
      isIssued,
      posts(({ id }) => ({ id, cause: 'continued', continuedBy: 7 })),
      wrongInput('continuedBy must be a string of 1 to 255 characters'),
    ],
  }),
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

const acknowledged = answer(({ response }) =>
  expect([response.status, response.text], response.text).to.deep.equal([204, '']),
)
const lists = (count: number) => (all: readonly unknown[]) => all.length === count
const NOTE = 'note must be a string of 1 to 1000 characters, and must not be blank'
const TIME = 'replayedAt must be whole seconds since the epoch, or null'
/** A member of the body that is taken, and values that are not. */
const finding = (
  id: string,
  name: string,
  taken: unknown,
  refusals: Readonly<Record<string, readonly [unknown, string]>>,
) =>
  rowsOf(['taken', ...Object.keys(refusals)])(id, {
    taken: [
      isUsedAgain,
      acknowledges({ [name]: taken }),
      acknowledged,
      recordSays({
        acknowledged: ([one]: readonly object[]) =>
          name === 'replayedAt' || Reflect.get(Object(one), name) === taken,
      }),
    ],
    ...Object.fromEntries(
      Object.entries(refusals).map(([form, [value, text]]) => [
        form,
        [isUsedAgain, acknowledges({ [name]: value }), wrongInput(text)],
      ]),
    ),
  })

const findings = [
  rowsOf(['used again', 'without an actor', 'stopped since'])('M170', {
    'used again': [
      issuedAlone,
      used('a JWT'),
      ({ setting, subjectToken }) => exchange(setting, { subject_token: subjectToken }),
      acknowledges(),
      acknowledged,
      recordSays({ acknowledged: lists(1), state: 'revoked' }),
    ],
    'without an actor': [
      isIssued,
      exchanged(),
      acknowledges(),
      acknowledged,
      recordSays({ acknowledged: lists(1), state: 'consumed' }),
    ],
    'stopped since': [
      isIssued,
      exchanged(),
      ({ setting, id }) => revoke(setting, id),
      acknowledges(),
      acknowledged,
      recordSays({ acknowledged: lists(1), state: 'revoked' }),
    ],
  }),
  finding('M171', 'by', '🎫'.repeat(255), {
    missing: [undefined, 'by is required'],
    'too long': ['🎫'.repeat(256), NAME],
    empty: ['', NAME],
    NUL: ['a\0', NAME],
    'of another type': [7, NAME],
  }),
  finding('M172', 'note', '🎫'.repeat(1000), {
    missing: [undefined, 'note is required'],
    'too long': ['🎫'.repeat(1001), NOTE],
    blank: [' \n', NOTE],
    NUL: ['a\0', NOTE],
    'of another type': [7, NOTE],
  }),
  finding('M173', 'replayedAt', undefined, {
    'a text': ['1', TIME],
    'a fraction': [1.5, TIME],
    negative: [-1, TIME],
    'beyond whole numbers': [2 ** 53, TIME],
  }),
  rowsOf(['that replay', 'none'])('M173, seen', {
    'that replay': [
      isUsedAgain,
      acknowledges(async (scene) => ({ replayedAt: await replayOf(scene) })),
      acknowledged,
      recordSays({ acknowledged: lists(1) }),
    ],
    none: [
      isIssued,
      exchanged(),
      acknowledges({ replayedAt: null }),
      acknowledged,
      recordSays({ acknowledged: lists(1) }),
    ],
  }),
  rowsOf(['a replay', 'an exchange without actor'])('M174', {
    'a replay': [
      isUsedAgain,
      acknowledges(),
      acknowledges({ note: 'another' }),
      acknowledged,
      changesNothing,
    ],
    'an exchange without actor': [
      isIssued,
      exchanged(),
      acknowledges(),
      acknowledges({ note: 'another' }),
      acknowledged,
      changesNothing,
    ],
  }),
  rowsOf(['after it', 'acknowledged too'])('M175', {
    'after it': [
      isIssued,
      exchanged(),
      acknowledges(),
      ({ setting, subjectToken }) => exchange(setting, { subject_token: subjectToken }),
      unacknowledged,
      recordSays({ acknowledged: lists(1) }),
    ],
    'acknowledged too': [
      isIssued,
      exchanged(),
      acknowledges(),
      ({ setting, subjectToken }) => exchange(setting, { subject_token: subjectToken }),
      acknowledges({ by: 'robin' }),
      acknowledged,
      recordSays({ acknowledged: lists(2) }),
    ],
  }),
]

declareCells('M, stops', [...one, ...all, ...saying, ...findings])
