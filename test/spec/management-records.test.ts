/** Records: how they are listed, shown and counted (docs/protocol.md §2.2). */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { now, tooLate } from '../../fixtures/clock.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import { form, type Parameters } from '../../fixtures/http.ts'
import { acknowledge, manage, postRevocation, revoke } from '../../fixtures/management.ts'
import { readPage } from '../../fixtures/markdown.ts'
import { sectionOf } from '../../fixtures/page.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import { BY_API, newToken, newUse } from '../../fixtures/subject-tokens.ts'
import { unique } from '../../fixtures/unique.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { endUnspent } from '../../src/sequelize/tokens/end-unspent.ts'
import { mintId, secondOf } from '../../src/tokens/id.ts'
import type { NewSubjectToken, SpentSubjectToken, SubjectTokenUse } from '../../src/tokens/subject-token.ts'
import { actedBy, actedByTwo, exchanged, made, type Of } from './exchanging.ts'
import {
  answers,
  changesNothing,
  expectMembers,
  recordUnchanged,
  succeeds,
  wrongInput,
} from './expectations.ts'
import { fails, functions, issuedWith, on, onADayOfItsOwn, passes, works } from './given.ts'
import { acknowledges, asks, FINDING, isIssued, manages } from './managing.ts'
import { declareCells } from './matrix.ts'
import { answer, each, type Rule, record, rowsOf, type Step, type Steps, stepsOf } from './rule.ts'
import type { Scene } from './scene.ts'
import { pairwise, settingOf } from './settings.ts'
import { issuedAlone, used } from './stopping.ts'

const stop: Step = ({ setting, id }) => revoke(setting, id)
const useAgain: Step = (scene) => exchange(scene.setting, { subject_token: scene.subjectToken })

/** Lists the records that match. */
const lists =
  (query: Of<Parameters>): Step =>
  async (scene) => {
    const parameters = form(await made(query, scene))
    await manages(scene, { method: 'GET', path: parameters.size > 0 ? `?${parameters}` : '' })
  }
const idsIn = ({ response }: Scene): string[] => response.body.items.map(({ id }: { id: string }) => id)
/** The record of the scene is the only one. */
const finds: Step = answer((scene) => {
  expect(scene.response.status, scene.response.text).to.equal(200)
  expect(idsIn(scene)).to.deep.equal([scene.id])
})
const findsNone: Step = answer((scene) => {
  expect(scene.response.status, scene.response.text).to.equal(200)
  expect(idsIn(scene)).to.deep.equal([])
})
const ofItsUser = ({ people }: Scene): Parameters => ({ userId: people.userId })

/** Someone acts who acts in no other record. */
const actsAlone: Steps = [
  (scene) => {
    scene.people = { ...scene.people, actorId: unique('actor') }
  },
  used('a JWT'),
]
const twoOfOneUser: Step = async (scene) => {
  await isIssued(scene)
  scene.kept.older = scene.id
  const { setting, people } = scene
  Object.assign(scene, await issue(setting, { userId: people.userId }))
}
/** So many records of a user who has no other. */
const many =
  (count: number): Step =>
  async (scene) => {
    const { setting, people } = scene
    const store = createSubjectTokenStore(setting.database.sequelize)
    scene.people = { ...people, userId: unique('user') }
    const token = {
      issuer: setting.issuer,
      userId: scene.people.userId,
      createdAt: now(),
      expiresAt: now() + 600,
    }
    await Promise.all(Array.from({ length: count }, () => store.insert(newToken(token))))
  }
/** A second relative to that in which the record was created. */
const at = ({ id }: Scene, seconds: number): string => String(secondOf(id) + seconds)

/** Records of every fate, and what filters say of them. */
const FATES: Readonly<Record<string, readonly [steps: Steps, of: Readonly<Record<string, unknown>>]>> = {
  active: [[isIssued], { state: 'active' }],
  'read-only': [[issuedWith({ readOnly: true }), isIssued], { state: 'active', readOnly: true }],
  expired: [[passes(0), isIssued, passes(600)], { state: 'expired' }],
  exchanged: [[isIssued, exchanged()], { state: 'consumed', live: true, withoutActor: true }],
  'exchanged by someone': [[isIssued, exchanged(actedBy())], { state: 'consumed', live: true }],
  'exchanged, and its access token has expired': [
    [passes(0), isIssued, exchanged(), passes(600)],
    { state: 'consumed', withoutActor: true },
  ],
  'revoked, unused': [[isIssued, stop], { state: 'revoked' }],
  'revoked, used': [[isIssued, exchanged(), stop], { state: 'revoked', withoutActor: true }],
  'used again': [[isIssued, exchanged(), useAgain], { state: 'revoked', replayed: true, withoutActor: true }],
  'revoked, then used again': [
    [isIssued, exchanged(actedBy()), stop, useAgain],
    { state: 'revoked', replayed: true },
  ],
  'stopped, and nothing could end it': [
    [on('without status lists'), isIssued, exchanged(actedBy()), stop],
    { state: 'revoked', live: true },
  ],
  acknowledged: [
    [isIssued, exchanged(), acknowledges()],
    { state: 'consumed', live: true, withoutActor: true, covered: true },
  ],
  'used again, then acknowledged': [
    [isIssued, exchanged(actedBy()), useAgain, acknowledges()],
    { state: 'revoked', replayed: true, covered: true },
  ],
  'acknowledged, then used again': [
    [isIssued, exchanged(), acknowledges(), useAgain],
    { state: 'revoked', replayed: true, withoutActor: true },
  ],
}
const NAMES = Object.keys(FATES)
const fates = rowsOf(NAMES)
/** A filter that finds those of which it is true, and leaves out the others. */
const filter = (
  title: string,
  query: Parameters,
  isTrue: (of: Readonly<Record<string, unknown>>) => boolean,
): Rule =>
  fates(
    title,
    each(NAMES, (name) => {
      const [steps, of] = FATES[name] ?? expect.fail()
      return [
        steps,
        lists((scene) => ({ ...ofItsUser(scene), ...query })),
        isTrue(of) ? finds : findsNone,
        changesNothing,
      ]
    }),
  )

const TAIL = 'A-z_9'.padEnd(22, '0')
/** As an API has logged it. */
const jtiOfItsToken: Step = lists(({ kept }) => ({ jti: decodeJwt(kept.accessToken ?? '').jti ?? '' }))
const names = rowsOf(['finds', 'leaves out'])
type Query = Of<Parameters>
/** A query that finds the record, and one that leaves it out. */
const selects = (title: string, steps: Steps, query: Query, other: Query): Rule =>
  names(title, {
    finds: [steps, lists(query), finds, changesNothing],
    'leaves out': [steps, lists(other), findsNone, changesNothing],
  })
/** Among the records of its user. */
const beside =
  (parameters: Parameters): Query =>
  (scene) => ({ ...ofItsUser(scene), ...parameters })
const ofItsActor = ({ people: { actorId } }: Scene): Parameters => ({ actorId })
/** What a time selects, before the second in which the record was created, in it, and after it. */
const selectsByTime = (title: string, name: string, ...isFound: readonly boolean[]): Rule =>
  rowsOf(['before', 'in that second', 'after'])(
    title,
    each(['before', 'in that second', 'after'], (when) => {
      const seconds = ['before', 'in that second', 'after'].indexOf(when) - 1
      return [
        isIssued,
        lists((scene) => ({ ...ofItsUser(scene), [name]: at(scene, seconds) })),
        isFound[seconds + 1] ? finds : findsNone,
        changesNothing,
      ]
    }),
  )
const filters = [
  selects('M33', [isIssued], ofItsUser, { userId: unique('user') }),
  selects('M34, the constraint', [issuedAlone], ofItsActor, { actorId: unique('actor') }),
  selects('M34, the newest', [isIssued, actsAlone], ofItsActor, { actorId: unique('actor') }),
  selects(
    'M34, an earlier one',
    [isIssued, exchanged(actedByTwo)],
    beside({ actorId: 'carol' }),
    beside({ actorId: 'dave' }),
  ),
  selects(
    'M35, the constraint',
    [issuedWith({ clientId: 'web' }), isIssued],
    beside({ clientId: 'web' }),
    beside({ clientId: 'spa' }),
  ),
  selects('M35, the use', [isIssued, exchanged()], beside({ clientId: 'spa' }), beside({ clientId: 'web' })),
  selects(
    'M36',
    [issuedAlone],
    ({ people }) => ({ createdBy: people.createdBy }),
    beside({ createdBy: 'backend' }),
  ),
  ...(['active', 'expired', 'consumed', 'revoked'] as const).map((state) =>
    filter(`M37, ${state}`, { state }, (of) => of.state === state),
  ),
  ...Object.entries({ M38: 'live', M39: 'replayed', M40: 'withoutActor', M194: 'readOnly' }).flatMap(
    ([id, name]) =>
      ([true, false] as const).map((value) =>
        filter(`${id}, ${value}`, { [name]: String(value) }, (of) => Boolean(of[name]) === value),
      ),
  ),
  filter(
    'M154',
    { unacknowledged: 'true' },
    ({ replayed, withoutActor, covered }) => Boolean(replayed || withoutActor) && !covered,
  ),
  rowsOf(['its id', 'a child', 'unused'])('M152, finds', {
    'its id': [isIssued, exchanged(), jtiOfItsToken, finds, changesNothing],
    'a child': [isIssued, exchanged(), lists(({ id }) => ({ jti: `${id}.${TAIL}` })), finds, changesNothing],
    unused: [isIssued, lists(({ id }) => ({ jti: id })), finds, changesNothing],
  }),
  ...Object.entries<(id: string) => string>({
    'of another record': () => '0'.repeat(32),
    'in capital letters': (id) => id.toUpperCase().replace(/\d$/, 'A'),
    'too long a tail': (id) => `${id}.${TAIL}0`,
    'too short a tail': (id) => `${id}.${TAIL.slice(1)}`,
    'another character': (id) => `${id}.${TAIL.slice(1)}=`,
    'the longest': () => 'x'.repeat(255),
  }).map(([title, jtiFor]) =>
    rowsOf(['leaves out'])(`M152, ${title}`, {
      'leaves out': [
        isIssued,
        exchanged(),
        lists(({ id }) => ({ jti: jtiFor(id) })),
        findsNone,
        changesNothing,
      ],
    }),
  ),
  rowsOf(['a text', 'another issuer'])('M152, without a query', {
    'a text': [
      lists({ jti: 'none of ours' }),
      findsNone,
      ({ calls }) => expect(calls.filter((call) => call.startsWith('store.'))).to.deep.equal([]),
      changesNothing,
    ],
    'another issuer': [
      on('of another issuer'),
      isIssued,
      on('usual'),
      lists(({ id }) => ({ jti: id })),
      findsNone,
      changesNothing,
    ],
  }),
  names('M153', {
    finds: [
      issuedWith({ context: { ticketId: 'T-153' } }),
      isIssued,
      lists((scene) => ({ ticketId: 'T-153', ...ofItsUser(scene) })),
      finds,
      changesNothing,
    ],
    'leaves out': [
      issuedWith({ context: { ticketId: 'T-1530', ticket: 'T-153' } }),
      isIssued,
      lists((scene) => ({ ticketId: 'T-153', ...ofItsUser(scene) })),
      findsNone,
      changesNothing,
    ],
  }),
  rowsOf(['255 code points', 'a number'])('M153, the ticket', {
    '255 code points': [
      issuedWith({ context: { ticketId: '🎫'.repeat(255) } }),
      isIssued,
      lists((scene) => ({ ticketId: '🎫'.repeat(255), ...ofItsUser(scene) })),
      finds,
      changesNothing,
    ],
    'a number': [
      issuedWith({ context: { ticketId: 153 } }),
      isIssued,
      lists((scene) => ({ ticketId: '153', ...ofItsUser(scene) })),
      findsNone,
      changesNothing,
    ],
  }),
  selectsByTime('M41', 'createdAfter', true, true, false),
  selectsByTime('M42', 'createdBefore', false, false, true),
  rowsOf(['one', 'by default'])('M43', {
    one: [twoOfOneUser, lists((scene) => ({ ...ofItsUser(scene), limit: '1' })), finds, changesNothing],
    'by default': [
      many(51),
      lists(ofItsUser),
      answer(({ response }) => expect(response.body.items).to.have.length(50)),
      changesNothing,
    ],
  }),
  rowsOf(['older', 'not the one itself', 'of a record that was purged'])('M44', {
    older: [
      twoOfOneUser,
      lists((scene) => ({ ...ofItsUser(scene), cursor: scene.id })),
      answer((scene) => expect(idsIn(scene)).to.deep.equal([scene.kept.older])),
      changesNothing,
    ],
    'not the one itself': [
      isIssued,
      lists((scene) => ({ ...ofItsUser(scene), cursor: scene.id })),
      findsNone,
      changesNothing,
    ],
    'of a record that was purged': [
      twoOfOneUser,
      ({ setting, id }) => setting.database.sequelize.query(`DELETE FROM subject_tokens WHERE id = X'${id}'`),
      lists((scene) => ({ ...ofItsUser(scene), cursor: scene.id })),
      answer((scene) => expect(idsIn(scene)).to.deep.equal([scene.kept.older])),
      recordUnchanged,
    ],
  }),
  rowsOf(['all of them', 'not all', 'the newest first'])('M45', {
    'all of them': [
      issuedAlone,
      lists(({ people }) => ({ ...people, state: 'active', live: 'false' })),
      finds,
      changesNothing,
    ],
    'not all': [
      issuedAlone,
      lists(({ people }) => ({ ...people, state: 'active', live: 'true' })),
      findsNone,
      changesNothing,
    ],
    'the newest first': [
      twoOfOneUser,
      lists(ofItsUser),
      answer((scene) => expect(idsIn(scene)).to.deep.equal([scene.id, scene.kept.older])),
      changesNothing,
    ],
  }),
  rowsOf(['userId', 'actorId'])('M46, an alias', {
    userId: [isIssued, lists(({ people }) => ({ userId: `alias:${people.userId}` })), finds, changesNothing],
    actorId: [
      issuedAlone,
      lists(({ people }) => ({ actorId: `alias:${people.actorId}` })),
      finds,
      changesNothing,
    ],
  }),
  ...Object.entries({
    throws: () => Promise.reject(new Error('private: no directory')),
    'takes too long': () => tooLate<never>(1),
  }).map(([title, findAccount]) =>
    rowsOf(['userId', 'actorId'])(`M46, findAccount ${title}`, {
      userId: [isIssued, functions({ findAccount }), lists(ofItsUser), finds, changesNothing],
      actorId: [
        issuedAlone,
        functions({ findAccount }),
        lists(({ people }) => ({ actorId: people.actorId })),
        finds,
        changesNothing,
      ],
    }),
  ),
]

/** Every parameter, with a value that it takes, and what is said of others. */
const PARAMETERS: Readonly<Record<string, readonly [good: string, text: string]>> = {
  userId: ['alice', 'userId must be a string of 1 to 255 characters'],
  actorId: ['bob', 'actorId must be a string of 1 to 255 characters'],
  clientId: ['spa', 'clientId must be a string of 1 to 255 characters'],
  createdBy: ['backend', 'createdBy must be a string of 1 to 255 characters'],
  jti: ['0'.repeat(32), 'jti must be a string of 1 to 255 characters'],
  ticketId: ['T-1', 'ticketId must be a string of 1 to 255 characters'],
  state: ['active', 'state must be one of active, expired, consumed, revoked'],
  live: ['true', 'live must be true or false'],
  replayed: ['true', 'replayed must be true or false'],
  withoutActor: ['true', 'withoutActor must be true or false'],
  readOnly: ['true', 'readOnly must be true or false'],
  unacknowledged: ['true', 'unacknowledged must be true'],
  createdAfter: ['1', 'createdAfter must be whole seconds since the epoch'],
  createdBefore: ['1', 'createdBefore must be whole seconds since the epoch'],
  limit: ['1', 'limit must be a whole number from 1 to 100'],
  cursor: ['0'.repeat(32), 'cursor must be the id of a subject token'],
}
const QUERY = Object.keys(PARAMETERS)
const parameters = rowsOf(QUERY)
const malformed = [
  parameters(
    'M47, blank',
    each(QUERY, (name) => [lists({ [name]: '' }), wrongInput(PARAMETERS[name]?.[1] ?? '')]),
  ),
  parameters(
    'M47, repeated',
    each(QUERY, (name) => {
      const [good = ''] = PARAMETERS[name] ?? []
      return [lists({ [name]: [good, good] }), wrongInput(`${name} must not be repeated`)]
    }),
  ),
  rowsOf(['there are more', 'there are none'])('M48', {
    'there are more': [
      twoOfOneUser,
      lists((scene) => ({ ...ofItsUser(scene), limit: '1' })),
      finds,
      (scene) => expect(scene.response.body.nextCursor).to.equal(scene.id),
      lists((scene) => ({ ...ofItsUser(scene), limit: '1', cursor: scene.id })),
      answer((scene) => {
        expect(idsIn(scene)).to.deep.equal([scene.kept.older])
        expect(scene.response.body).to.have.all.keys('items')
      }),
      changesNothing,
    ],
    'there are none': [
      lists({ userId: unique('user') }),
      answer(({ response }) => expect(response.body).to.deep.equal({ items: [] })),
      changesNothing,
    ],
  }),
]

type Prepared = Pick<Scene, 'id' | 'people'>
/** What was prepared before a thousand newer records and one, once for each. */
const prepared = new Map<Steps, Promise<Prepared>>()
const prepare = async (scene: Scene, steps: Steps): Promise<Prepared> => {
  for (const step of stepsOf(steps)) await step(scene)
  const { id, people } = scene
  await many(1001)(scene)
  return { id, people }
}
const beforeAThousand = (steps: Steps): Steps => [
  on('on a database of its own'),
  async (scene) => {
    const preparing = prepared.get(steps) ?? prepare(scene, steps)
    prepared.set(steps, preparing)
    Object.assign(scene, await preparing)
  },
]
const usedAgain: Steps = [issuedAlone, used('a JWT'), useAgain]
const usedByNoOne: Steps = [isIssued, exchanged()]
const ticketed: Steps = [issuedWith({ context: { ticketId: 'T-49' } }), isIssued]

const costs = [
  rowsOf([
    ...(['userId', 'actorId', 'createdBy', 'jti', 'ticketId', 'revoked'] as const),
    ...(['replayed', 'withoutActor', 'live', 'another', 'two of them', 'a short page'] as const),
  ])('M49', {
    jti: [beforeAThousand(usedAgain), lists(({ id }) => ({ jti: id })), finds, changesNothing],
    ticketId: [beforeAThousand(ticketed), lists({ ticketId: 'T-49' }), finds, changesNothing],
    revoked: [beforeAThousand(usedAgain), lists({ state: 'revoked', limit: '1' }), finds, changesNothing],
    userId: [beforeAThousand(usedAgain), lists(ofItsUser), finds, changesNothing],
    actorId: [
      beforeAThousand(usedAgain),
      lists(({ people }) => ({ actorId: people.actorId })),
      finds,
      changesNothing,
    ],
    createdBy: [
      beforeAThousand(usedAgain),
      lists(({ people }) => ({ createdBy: people.createdBy })),
      finds,
      changesNothing,
    ],
    replayed: [beforeAThousand(usedAgain), lists({ replayed: 'true', limit: '1' }), finds, changesNothing],
    withoutActor: [
      beforeAThousand(usedByNoOne),
      lists({ withoutActor: 'true', limit: '1' }),
      finds,
      changesNothing,
    ],
    live: [beforeAThousand(usedByNoOne), lists({ live: 'true', limit: '1' }), finds, changesNothing],
    another: [
      beforeAThousand(usedByNoOne),
      lists({ state: 'consumed' }),
      answer(({ response }) => {
        expect(response.body.items).to.deep.equal([])
        expect(response.body.nextCursor).to.be.a('string')
      }),
      lists(({ response }) => ({ state: 'consumed', limit: '1', cursor: response.body.nextCursor })),
      finds,
      changesNothing,
    ],
    'two of them': [
      beforeAThousand(usedByNoOne),
      lists({ state: 'consumed', createdBy: 'backend' }),
      (scene) => expect(scene.response.body.items.length).to.be.lessThan(51),
      lists((scene) => ({ ...ofItsUser(scene), state: 'consumed' })),
      finds,
      changesNothing,
    ],
    // The last, because it makes a record that the others would find.
    'a short page': [
      beforeAThousand(usedByNoOne),
      isIssued,
      exchanged(actedBy()),
      lists({ state: 'consumed' }),
      finds,
      ({ response, id }) => expect(response.body.nextCursor).to.be.a('string').and.not.to.equal(id),
      changesNothing,
    ],
  }),
]

/** A record as the API must show it: every member that it has. One that is a function is a condition. */
interface Made {
  readonly id: string
  readonly item: Readonly<Record<string, unknown>>
}
const isNow = (time: number) => Math.abs(time - now()) < 60
const CONTEXT = { ticketId: 'T-1', nested: [null, { a: true }] }
const base = (id: string, userId: string) => ({
  id,
  userId,
  context: {},
  createdBy: 'backend',
  createdAt: secondOf(id),
  expiresAt: secondOf(id) + 600,
})
const issuedNow = async (members: object = {}) => {
  const setting = await settingOf('usual')
  const userId = unique('user')
  return { setting, userId, ...(await issue(setting, { userId, ...members })) }
}
/** Exchanged, with what the record then says of it. */
const usedNow = async (request: Of<Parameters> = {}, members: object = {}) => {
  const made_ = await issuedNow(members)
  const { setting, subjectToken, id, userId } = made_
  const parameters = typeof request === 'function' ? await request({ setting } as Scene) : request
  const { body, text, status } = await exchange(setting, { subject_token: subjectToken, ...parameters })
  expect(status, text).to.equal(200)
  const isJwt = body.access_token.includes('.')
  const { jti, exp } = isJwt ? decodeJwt(body.access_token) : { jti: undefined, exp: isLater }
  const item = {
    ...base(id, userId),
    usedBy: 'spa',
    resource: isJwt ? API : OPAQUE_API,
    consumedAt: isNow,
    accessToken: { format: isJwt ? 'jwt' : 'opaque', ...(jti && { jti }), expiresAt: exp },
    state: 'consumed',
  }
  return { ...made_, item }
}
const isLater = (time: number) => time > now() + 500
const isBoth = (scope: string) => scope.split(' ').sort().join() === 'orders:read,orders:write'
/** Written as no request of this version writes it, and used by then. */
const storedNow = async (changes: Partial<NewSubjectToken> = {}) => {
  const setting = await settingOf('usual')
  const id = mintId()
  const userId = unique('user')
  const store = createSubjectTokenStore(setting.database.sequelize)
  const times = { createdAt: secondOf(id), expiresAt: secondOf(id) + 600 }
  const token = newToken({ id, issuer: setting.issuer, userId, ...times, ...changes })
  await store.insert(token)
  const item = {
    ...base(id, userId),
    usedBy: 'spa',
    resource: API,
    consumedAt: isNow,
    accessToken: { format: 'jwt', jti: id, expiresAt: isLater },
  }
  return { store, token, item }
}

/** A session that is open. */
const sessionNow = async (
  changes: Partial<SubjectTokenUse> = {},
  constraints: Partial<NewSubjectToken> = {},
) => {
  const bound = { clientId: 'shop', actorId: 'bob' }
  const { store, token, item: exchanged } = await storedNow({ purpose: 'session', ...bound, ...constraints })
  const { accessToken: _, resource: __, ...item } = exchanged
  const { resource: ___, ...use } = newUse({ at: now(), clientId: 'shop', actor: { sub: 'bob' } })
  const accessToken = { format: 'session', expiresAt: now() + 600 } as const
  await store.consume(token, now(), { ...use, accessToken, session: { logout: 'pending' }, ...changes })
  const session = { endsAt: isLater, logout: 'pending' }
  return {
    store,
    token,
    item: { ...item, ...bound, use: 'session', usedBy: 'shop', actor: { sub: 'bob' }, session },
  }
}

const RECORDS: Readonly<Record<string, () => Promise<Made>>> = {
  unused: async () => {
    const { id, userId } = await issuedNow()
    return { id, item: { ...base(id, userId), state: 'active' } }
  },
  constrained: async () => {
    const constraints = {
      actorId: 'bob',
      clientId: 'web',
      resource: API,
      scope: 'orders:read',
      context: CONTEXT,
      readOnly: true,
    }
    const { id, userId } = await issuedNow(constraints)
    return { id, item: { ...base(id, userId), ...constraints, state: 'active' } }
  },
  'for a JWT': () => usedNow(),
  'for an opaque token': () => usedNow({ resource: OPAQUE_API }),
  'by someone': async () => {
    const scope = 'openid orders:read'
    const used = await usedNow(async (scene) => ({ scope, ...(await actedBy()(scene)) }), { actorId: 'bob' })
    return { ...used, item: { ...used.item, scope, actorId: 'bob', actor: { sub: 'bob', clientId: 'spa' } } }
  },
  'by several': async () => {
    const used = await usedNow(actedByTwo)
    return { ...used, item: { ...used.item, actor: { sub: 'bob', act: { sub: 'carol' }, clientId: 'spa' } } }
  },
  'within constraints': async () => {
    const constraints = { clientId: 'spa', resource: API, scope: 'orders:read orders:write' }
    const used = await usedNow({ scope: 'orders:read profile' }, constraints)
    const ceiling = { scope: constraints.scope }
    return { ...used, item: { ...used.item, clientId: 'spa', scope: 'orders:read', ceiling } }
  },
  'within constraints, for no scope': async () => {
    const constraints = { clientId: 'spa', scope: 'orders:read' }
    const used = await usedNow({ resource: OPAQUE_API }, constraints)
    return { ...used, item: { ...used.item, clientId: 'spa', ceiling: { scope: 'orders:read' } } }
  },
  'for one of several': async () => {
    const resource = [API, OPAQUE_API]
    const used = await usedNow({}, { resource })
    return { ...used, item: { ...used.item, ceiling: { resource } } }
  },
  'for what was allowed, in another order': () =>
    usedNow(
      { scope: 'orders:write orders:read' },
      { resource: [API], scope: 'orders:read orders:write' },
    ).then(({ item, ...used }) => ({ ...used, item: { ...item, scope: isBoth } })),
  'of a session': async () => {
    const { store, token, item } = await sessionNow()
    const spent = (await store.find(token.issuer, token.id)) as SpentSubjectToken
    await store.recordReplay(spent, { at: now(), by: 'mallory' })
    const replay = { at: isNow, by: 'mallory' }
    const stopped = { revokedAt: isNow, revocation: { cause: 'replay' }, replay, state: 'revoked' }
    return { id: token.id, item: { ...item, ...stopped } }
  },
  'of a session whose application has confirmed its end': async () => {
    const { store, token, item } = await sessionNow({ resource: [API, OPAQUE_API] })
    await store.sessions?.settle(token.issuer, token.id, { mark: null, logout: 'confirmed', at: now() })
    const session = { ...item.session, logout: 'confirmed', logoutAt: isNow }
    return { id: token.id, item: { ...item, resource: [API, OPAQUE_API], session, state: 'consumed' } }
  },
  'of a session whose application cannot be told': async () => {
    const { token, item } = await sessionNow({ session: { logout: 'unsupported' } })
    const session = { ...item.session, logout: 'unsupported' }
    return { id: token.id, item: { ...item, session, state: 'consumed' } }
  },
  'of a session, with openid beyond what was allowed': async () => {
    const [scope, granted] = ['orders:read', 'openid orders:read']
    const { token, item } = await sessionNow({ scope: granted }, { scope })
    return { id: token.id, item: { ...item, scope: granted, ceiling: { scope }, state: 'consumed' } }
  },
  'that goes on in another one': async () => {
    const { setting, id, userId, item } = await usedNow()
    const next = await issue(setting, { userId })
    const body = { id, cause: 'continued', continuedBy: next.id }
    expect((await postRevocation(setting, body)).status).to.equal(200)
    const revocation = { cause: 'continued', client: 'backend', continuedBy: next.id }
    return { id, item: { ...item, revokedAt: isNow, revocation, state: 'revoked' } }
  },
  'that nothing could end': async () => {
    const { store, token, item } = await storedNow()
    const accessToken = { format: 'jwt', expiresAt: now() + 600, kept: true } as const
    await store.consume(token, now(), newUse({ at: now(), accessToken }))
    await store.revoke(token.issuer, token.id, now(), { cause: 'host', by: 'a job' })
    const revocation = { cause: 'host', by: 'a job', ended: 'kept' }
    return { id: token.id, item: { ...item, revokedAt: isNow, revocation, state: 'revoked' } }
  },
  acknowledged: async () => {
    const { setting, id, item } = await usedNow()
    expect((await acknowledge(setting, id, FINDING)).status).to.equal(204)
    return { id, item: { ...item, acknowledged: [{ at: isNow, ...FINDING }] } }
  },
  revoked: async () => {
    const { setting, id, userId } = await issuedNow()
    await postRevocation(setting, { id, by: 'dora', reason: 'wrong customer' })
    const revocation = { cause: 'api', client: 'backend', by: 'dora', reason: 'wrong customer' }
    return { id, item: { ...base(id, userId), revokedAt: isNow, revocation, state: 'revoked' } }
  },
  'used again': async () => {
    const { setting, subjectToken, id, item } = await usedNow()
    await exchange(setting, { subject_token: subjectToken }, { client: pairwise })
    const replay = { at: isNow, clientId: 'pairwise' }
    const stopped = { revokedAt: isNow, revocation: { cause: 'replay' }, replay, state: 'revoked' }
    return { id, item: { ...item, ...stopped } }
  },
}
const KINDS = Object.keys(RECORDS)
const known = new Map<string, Promise<Made>>()
/** Each is made once, because looking at it changes nothing. */
const recordOf = (kind: string): Promise<Made> => {
  const making = known.get(kind) ?? (RECORDS[kind] ?? expect.fail)()
  known.set(kind, making)
  return making
}
const shown = new WeakMap<Scene, Made>()
const valueAt = (value: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((inner, name) => Reflect.get(Object(inner), name), value)

/** The members that the page lists, by their ids. Lists hold them by their places. */
const MEMBERS = [
  ...sectionOf(readPage('docs/protocol.md'), 'The record').matchAll(/\[(M\d+)\]\s+`([\w.]+)`/g),
].map(([, id = '', path = '']) => [id, path.replace('acknowledged.', 'acknowledged.0.')] as const)
/** Each of these, and nothing else, at every level. A function is a condition. */
function expectShown(found: unknown, expected: unknown, path: string): void {
  if (typeof expected === 'function') expect(expected(found), path).to.equal(true)
  else if (typeof expected !== 'object' || expected === null) expect(found, path).to.equal(expected)
  else {
    expect(Object.keys(Object(found)), path).to.have.members(Object.keys(expected))
    for (const [name, inner] of Object.entries(expected))
      expectShown(Reflect.get(Object(found), name), inner, `${path}.${name}`)
  }
}
const looksAt =
  (kind: string): Step =>
  async (scene) => {
    const made = await recordOf(kind)
    shown.set(scene, made)
    scene.id = made.id
  }
const itemOf = (scene: Scene) => shown.get(scene)?.item ?? expect.fail()
/** Alone and in the list. */
const whole = rowsOf(KINDS)(
  'M80, the whole',
  each(KINDS, (kind) => [
    looksAt(kind),
    asks('GET /subject-tokens/{id}'),
    answer((scene) => expectShown(scene.response.body, itemOf(scene), 'item')),
    lists((scene) => ({ userId: String(itemOf(scene).userId) })),
    answer((scene) => {
      const items: readonly { id: string }[] = scene.response.body.items
      expectShown(
        items.find(({ id }) => id === scene.id),
        itemOf(scene),
        'item',
      )
    }),
    changesNothing,
  ]),
)
/** Each is in one of the records that are shown. */
const members = MEMBERS.map(([id, path]) =>
  rowsOf(['there'])(`${id}, ${path}`, {
    there: [
      answer(async () => {
        const items = (await Promise.all(KINDS.map(recordOf))).map(({ item }) => item)
        expect(items.some((item) => valueAt(item, path) !== undefined)).to.equal(true)
      }),
      record(() => {}),
    ],
  }),
)

const says = (revocation: object): Step =>
  answer(({ response }) => expect(response.body.revocation, response.text).to.deep.equal(revocation))

/** What is stored of the stop cannot be read. */
const spoils = (change: string): Steps => [
  ({ setting, id }) =>
    setting.database.sequelize.query(`UPDATE subject_token_stops SET ${change} WHERE token_id = X'${id}'`),
  asks('GET /subject-tokens/{id}'),
  says({ cause: 'unknown' }),
  // The log is told, which is no change.
  recordUnchanged,
]

const looks = [
  ...(['self', 'host', 'signedOut'] as const).map((cause) =>
    rowsOf(['stopped'])(`M68, ${cause}`, {
      stopped: [
        isIssued,
        ({ setting, id }) =>
          createSubjectTokenStore(setting.database.sequelize).revoke(setting.issuer, id, now(), { cause }),
        asks('GET /subject-tokens/{id}'),
        says({ cause }),
        changesNothing,
      ],
    }),
  ),
  rowsOf(['a cause that no one knows', 'what is not JSON'])('M68, unknown', {
    'a cause that no one knows': [isIssued, stop, spoils(`cause = 'other'`)],
    'what is not JSON': [isIssued, stop, spoils(`revocation = '{'`)],
  }),
  rowsOf(['command'])('M68, the cause', {
    command: [
      on('on a database that was restored'),
      isIssued,
      ({ setting }) => endUnspent(setting.database.sequelize),
      asks('GET /subject-tokens/{id}'),
      says({ cause: 'command' }),
      changesNothing,
    ],
  }),
  rowsOf(['people', 'the state'])('M80', {
    people: [
      isIssued,
      exchanged(actedBy(), { client: pairwise }),
      asks('GET /subject-tokens/{id}'),
      succeeds({ actor: { sub: 'bob', clientId: 'spa' }, usedBy: 'pairwise' }),
      answer(({ response, people }) => expect(response.body.userId).to.equal(people.userId)),
      changesNothing,
    ],
    'the state': [
      passes(0),
      isIssued,
      passes(599),
      asks('GET /subject-tokens/{id}'),
      succeeds({ state: 'active' }),
      passes(1),
      asks('GET /subject-tokens/{id}'),
      succeeds({ state: 'expired' }),
      changesNothing,
    ],
  }),
  fates(
    'M81 M82 M83 M84',
    each(NAMES, (name) => {
      const [steps, { state }] = FATES[name] ?? expect.fail()
      return [steps, asks('GET /subject-tokens/{id}'), succeeds({ state }), changesNothing]
    }),
  ),
]

const summary = (query = '?days=1'): Step => asks('GET /subject-tokens/summary', { query })
const today = ({ response }: Scene) => response.body.days.at(-1)
const counts = (members: Readonly<Record<string, unknown>>): Step =>
  answer((scene) => expectMembers(today(scene), members))
const DAY = 86_400
const DATE = /^20\d\d-\d\d-\d\d$/
const NOTHING = { issued: 0, exchanged: 0, withoutActor: 0, revoked: 0, ended: 0, replayed: 0 }
/** One of each: unused, exchanged without and with an actor, revoked, ended, used again. */
const oneOfEach: Steps = [
  isIssued,
  isIssued,
  exchanged(),
  isIssued,
  exchanged(actedBy()),
  isIssued,
  exchanged(actedBy()),
  stop,
  isIssued,
  exchanged(actedBy()),
  ({ setting, id }) => postRevocation(setting, { id, cause: 'self' }),
  isIssued,
  exchanged(actedBy()),
  useAgain,
]
const COUNTS = { issued: 6, exchanged: 5, withoutActor: 1, revoked: 2, ended: 1, replayed: 1 }
/** What was counted of a day that is so long ago is so old at most. */
const agesTo = (daysAgo: number, age: number): Steps => [
  onADayOfItsOwn,
  isIssued,
  passes(daysAgo * DAY),
  summary(`?days=${daysAgo + 1}`),
  // Without a request, because what is so old cannot be stopped any more.
  ({ setting, id }) =>
    createSubjectTokenStore(setting.database.sequelize).revoke(setting.issuer, id, secondOf(id), BY_API),
  passes(age - 1),
  summary(`?days=${daysAgo + 1}`),
  answer(({ response }) => expect(response.body.days[0].revoked).to.equal(0)),
  passes(1),
  summary(`?days=${daysAgo + 1}`),
  answer(({ response }) => expect(response.body.days[0].revoked).to.equal(1)),
  changesNothing,
]

const summaries = [
  rowsOf(['GET', 'HEAD'])('M86', {
    GET: [
      onADayOfItsOwn,
      isIssued,
      exchanged(),
      summary('?days=3'),
      answer(({ response }) => {
        const { live, days } = response.body
        expect([live, days.length]).to.deep.equal([1, 3])
        expect(days[0]).to.include(NOTHING)
        expect(days.map(({ date }: { date: string }) => date)).to.deep.equal(
          [2, 1, 0].map((before) => new Date((now() - before * DAY) * 1000).toISOString().slice(0, 10)),
        )
      }),
      changesNothing,
    ],
    HEAD: [onADayOfItsOwn, asks('HEAD /subject-tokens/summary'), succeeds(), recordUnchanged],
  }),
  ...Object.entries({ 'by default': ['', 30], most: ['?days=90', 90], least: ['?days=1', 1] } as const).map(
    ([title, [query, length]]) =>
      rowsOf(['GET'])(`M86, ${title}`, {
        GET: [
          onADayOfItsOwn,
          summary(query),
          answer(({ response }) => expect(response.body.days).to.have.length(length)),
          recordUnchanged,
        ],
      }),
  ),
  ...['days=0', 'days=91', 'days=1.5', 'days=01', 'days='].map((query) =>
    rowsOf(['GET'])(`M86, ${query}`, {
      GET: [summary(`?${query}`), wrongInput('days must be a whole number from 1 to 90')],
    }),
  ),
  rowsOf(['GET'])('M87', {
    GET: [onADayOfItsOwn, summary(), counts({ date: (date: string) => DATE.test(date) }), recordUnchanged],
  }),
  rowsOf(['that day', 'another day'])('M88 M89 M90 M91 M92 M166', {
    'that day': [onADayOfItsOwn, oneOfEach, summary(), counts(COUNTS), changesNothing],
    'another day': [
      onADayOfItsOwn,
      oneOfEach,
      passes(DAY),
      summary('?days=2'),
      answer(({ response }) => {
        const [before, since] = response.body.days
        expect(before).to.include(COUNTS)
        expect(since).to.include(NOTHING)
      }),
      changesNothing,
    ],
  }),
  rowsOf(['live', 'today', 'two days ago', 'three days ago'])('M93', {
    live: [
      onADayOfItsOwn,
      summary(),
      isIssued,
      exchanged(),
      passes(59),
      summary(),
      answer(({ response }) => expect(response.body.live).to.equal(0)),
      passes(1),
      summary(),
      answer(({ response }) => expect(response.body.live).to.equal(1)),
      changesNothing,
    ],
    today: agesTo(0, 60),
    'two days ago': agesTo(2, 60),
    'three days ago': agesTo(3, 3600),
  }),
  rowsOf(['at the same time', 'a failure'])('M93, else', {
    'at the same time': [
      onADayOfItsOwn,
      async (scene) => {
        const { setting } = scene
        const ask = () => manage(setting, 'GET', '/summary?days=1')
        await ask()
        scene.pass(60)
        await scene.request(async () => (await Promise.all([ask(), ask(), ask()]))[0] ?? expect.fail())
      },
      succeeds(),
      ({ calls }) => expect(calls.filter((call) => call === 'store.summarize')).to.have.length(1),
      recordUnchanged,
    ],
    'a failure': [
      onADayOfItsOwn,
      fails('store.summarize'),
      summary(),
      answers(503, 'temporarily_unavailable'),
      works('store.summarize'),
      summary(),
      succeeds(),
      recordUnchanged,
    ],
  }),
]

declareCells('M, records', [...filters, ...malformed, ...costs, whole, ...members, ...looks, ...summaries])
