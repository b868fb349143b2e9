/** The functions of a deployment: its policy, and its claims (docs/protocol.md §5). */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { machineClient } from '../../fixtures/clients.ts'
import { now, tooLate } from '../../fixtures/clock.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import { BILLING, billingApi, LEDGER } from '../../fixtures/on-behalf-of.ts'
import { postToken } from '../../fixtures/requests.ts'
import { TOKEN_EXCHANGE } from '../../src/base/constants.ts'
import { AccessDenied, type CustomClaimsRequest, type PolicyRequest } from '../../src/index.ts'
import {
  actedBy,
  actedByTwo,
  at,
  audience,
  DOORS,
  doors,
  everyDoor,
  made,
  type Of,
  own,
  ready,
  received,
  send,
} from './exchanging.ts'
import {
  changesNothing,
  denied,
  expectMembers,
  forbidden,
  invalidRequest,
  recordSays,
  refused,
  serverError,
  spent,
  succeeds,
  tokenSays,
} from './expectations.ts'
import { contextIsLost, functions, issuedWith, on, passes } from './given.ts'
import { issues } from './managing.ts'
import { by, proven, storedAs, variant } from './proofs.ts'
import { type Cell, each, type Rule, rowsOf, type Step, type Steps } from './rule.ts'
import type { Scene } from './scene.ts'
import type { Functions } from './settings.ts'

const FAILED = 'something went wrong'
const ISSUANCE = 'issuance'
const pairwise = variant('pairwise', { subject_type: 'pairwise' })

const stages = rowsOf([ISSUANCE, ...DOORS])
/** The same at issuance, with a request of its own, and at each door. */
const everyStage = (title: string, atIssuance: Steps, steps: Steps): Rule =>
  stages(title, { [ISSUANCE]: atIssuance, ...each(DOORS, (door) => [at(door), ready, steps]) })

interface Heard {
  policy?: PolicyRequest
  claims?: CustomClaimsRequest
}
const heard = new WeakMap<Scene, Heard>()
/** The functions say yes, and what they were asked is kept. */
export const listens: Step = (scene) => {
  const asked: Heard = {}
  heard.set(scene, asked)
  functions({
    isAllowed(request) {
      asked.policy = request
      return true
    },
    getCustomJwtClaims(request) {
      asked.claims = request
      return {}
    },
  })(scene)
}
type Members = Readonly<Record<string, unknown>>
export const policyHears =
  (members: Of<Members>): Step =>
  async (scene) =>
    expectMembers(heard.get(scene)?.policy, await made(members, scene))
const claimsHear =
  (members: Of<Members>): Step =>
  async (scene) =>
    expectMembers(heard.get(scene)?.claims, await made(members, scene))
export const contextHears =
  (members: Of<Members>): Step =>
  async (scene) =>
    expectMembers(heard.get(scene)?.claims?.context, await made(members, scene))

const issued = [succeeds({}, 201), recordSays({ state: 'active' })]
export const granted = [succeeds(), spent]
const CALLBACKS = ['isAllowed', 'getCustomJwtClaims', 'extraTokenClaims'] as const
/** What a function returns that says yes. */
const YES = { isAllowed: true, getCustomJwtClaims: {}, extraTokenClaims: {} }
/** One of the functions, whatever it returns. */
const one = (name: (typeof CALLBACKS)[number], call: () => unknown): Step =>
  functions({ [name]: call } as Functions)

const SEVERAL = [OPAQUE_API, API, BILLING]

/** The functions are those of a deployment that has none. */
export const forget: Step = ({ setting }) => {
  setting.functions = {}
}

const callbacks = CALLBACKS.flatMap((name) => {
  const atIssuance = (cell: Steps): Cell => (name === 'isAllowed' ? cell : 'not asked at issuance')
  const row = (title: string, call: () => unknown, issuing: Steps, exchanging: Steps): Rule =>
    stages(`${title}, ${name}`, {
      [ISSUANCE]: atIssuance([one(name, call), issues(), issuing]),
      ...each(DOORS, (door) => [at(door), ready, one(name, call), send(), exchanging]),
    })
  const failed = (reason: string) => serverError(`${name} ${reason}`)
  const failedAtIssuance = refused(500, 'server_error', FAILED, null)
  const refusal = name === 'extraTokenClaims' ? failed('failed') : denied('closed')
  const deniedAtIssuance = forbidden('closed')
  const rejects = () => Promise.reject(new Error('private: no directory'))
  return [
    row('P1, sync', () => YES[name], issued, granted),
    row('P1, async', async () => YES[name], issued, granted),
    row('P1, too late', () => tooLate(1), failedAtIssuance, failed('took more than 1 s')),
    row('P2 P6, an error', rejects, failedAtIssuance, [failed('failed'), forget, send(), granted]),
    row(
      'P5',
      () => {
        throw new AccessDenied('closed')
      },
      deniedAtIssuance,
      refusal,
    ),
    row('P5, later', async () => Promise.reject(new AccessDenied('closed')), deniedAtIssuance, refusal),
    row(
      'P6, a result of the wrong kind',
      () => 'yes',
      failedAtIssuance,
      failed(name === 'isAllowed' ? 'must return true or false' : 'must return a plain object'),
    ),
  ]
})

/** The calls of functions, and the spend, since the request. */
export const calledInOrder =
  (...expected: readonly string[]): Step =>
  ({ calls }) => {
    const told = calls.filter((call) =>
      /^(isAllowed|getCustomJwtClaims|extraTokenClaims|store\.consume)/.test(call),
    )
    expect(told).to.deep.equal(expected)
  }
const stageOf = ({ door }: Scene) => (door === 'a subject token' ? 'exchange' : 'onBehalfOf')
const inOrder: Step = (scene) => {
  const spends = scene.door === 'a subject token' ? ['store.consume'] : []
  return calledInOrder(
    `isAllowed at ${stageOf(scene)}`,
    'extraTokenClaims',
    'getCustomJwtClaims',
    // Asked by the provider when it saves the token, and not passed on.
    ...spends,
  )(scene)
}

const isFrozen = (value: unknown): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (Object.isFrozen(value) && Object.values(value).every(isFrozen))
const policyIsFrozen: Step = (scene) => {
  const policy = heard.get(scene)?.policy ?? expect.fail('not asked')
  const { account, ...rest } = policy
  expect([Object.isFrozen(policy), ...Object.values(rest).map(isFrozen)]).not.to.include(false)
  expect(Object.isFrozen(account)).to.equal(false)
}
const claimsAreFrozen: Step = (scene) => {
  expect(isFrozen(heard.get(scene)?.claims ?? expect.fail('not asked'))).to.equal(true)
}

const everywhere = [
  everyStage(
    'P3, of the policy',
    [listens, issues({ context: { a: { b: 1 } } }), policyIsFrozen, issued],
    [listens, send(), policyIsFrozen, granted],
  ),
  everyDoor('P3, of the claims', [
    issuedWith({ context: { a: { b: 1 } } }),
    ready,
    listens,
    send(),
    claimsAreFrozen,
    granted,
  ]),
  everyDoor('P4', [
    storedAs(pairwise),
    ready,
    listens,
    async (scene) => {
      const acting = scene.door === 'a subject token' ? await actedBy()(scene) : {}
      await send(acting, by(pairwise))(scene)
    },
    policyHears((scene) => ({
      userId: 'alice',
      client: { id: pairwise(scene).client_id },
      actor: (actor: { sub: string }) => actor.sub === 'bob',
    })),
    contextHears({ user: { id: 'alice' }, actor: { sub: 'bob', clientId: 'spa' } }),
    claimsHear((scene) => ({
      token: (token: { sub: string }) => token.sub === `alice@${pairwise(scene).client_id}`,
    })),
    granted,
  ]),
]

const CONTEXT = { ticketId: 'T-1', nested: { list: [1, null, 'x'] } }
/** What the policy is told at all stages. */
const EVERYWHERE = {
  userId: 'alice',
  account: ({ accountId }: { accountId: string }) => accountId === 'alice',
  createdBy: { id: 'backend' },
  context: CONTEXT,
  scope: 'orders:read',
  use: 'exchange',
}
const NOTHING = {
  actor: undefined,
  context: {},
  scope: undefined,
  through: undefined,
  subjectToken: undefined,
  subjectTokenId: undefined,
}
const policies = [
  everyStage(
    'P2 P7 P24, the order',
    [issues(), calledInOrder('isAllowed at issuance'), issued],
    [send(), inOrder, granted],
  ),
  everyStage(
    'P8 P9 P10 P12 P13 P14 P15 P16 P32',
    [
      listens,
      issues({ clientId: 'web', context: CONTEXT, resource: API, scope: 'orders:read' }),
      policyHears({ ...EVERYWHERE, stage: 'issuance', client: { id: 'web' }, resource: API }),
      issued,
    ],
    [
      (scene) => Object.assign(scene, { received: '', subjectToken: '' }),
      issuedWith({ context: CONTEXT }),
      ready,
      listens,
      send({ scope: 'orders:read unknown' }),
      policyHears((scene) => ({
        ...EVERYWHERE,
        stage: stageOf(scene),
        ...(scene.door === 'a subject token'
          ? { client: { id: 'spa' }, resource: API }
          : { client: { id: 'orders-api' }, resource: BILLING }),
      })),
      granted,
    ],
  ),
  everyStage(
    'P9, an alias',
    [listens, issues({ userId: 'alias:alice' }), policyHears({ userId: 'alice' }), issued],
    [listens, send(), policyHears({ userId: 'alice' }), granted],
  ),
  stages('P11', {
    [ISSUANCE]: [
      listens,
      issues({ actorId: 'bob' }),
      policyHears({ actor: { sub: 'bob', verified: false } }),
      issued,
    ],
    'a subject token': [
      ready,
      listens,
      send(async ({ setting }) => withActor(await actorToken(setting, { format: 'jwt', audience: API }))),
      policyHears({ actor: { sub: 'bob', clientId: 'spa', audiences: [API], verified: true } }),
      granted,
    ],
    ...received([
      ready,
      listens,
      send(),
      policyHears({ actor: { sub: 'bob', clientId: 'spa', verified: true } }),
      granted,
    ]),
  }),
  stages('P11, without audience, and acted for', {
    [ISSUANCE]: 'no one has acted yet',
    'a subject token': [
      ready,
      listens,
      send(actedByTwo),
      policyHears({
        actor: { sub: 'bob', act: { sub: 'carol' }, clientId: 'spa', audiences: [], verified: true },
      }),
      granted,
    ],
    ...received([
      (scene) => void Object.assign(scene, { acting: actedByTwo }),
      ready,
      listens,
      send(),
      policyHears({ actor: { sub: 'bob', act: { sub: 'carol' }, clientId: 'spa', verified: true } }),
      granted,
    ]),
  }),
  everyStage(
    'P11 P12 P14 P16 P17 P18 P19, nothing',
    [listens, issues(), policyHears({ ...NOTHING, client: undefined }), issued],
    [
      (scene) =>
        void Object.assign(scene, { received: '', subjectToken: '', acting: {}, scope: 'orders:read' }),
      ready,
      listens,
      send(),
      policyHears((scene) =>
        scene.door === 'a subject token'
          ? NOTHING
          : {
              ...NOTHING,
              through: [],
              subjectToken: {
                clientId: 'spa',
                audience: audience(scene),
                scope: 'orders:read',
                bound: false,
              },
              subjectTokenId: scene.id,
            },
      ),
      granted,
    ],
  ),
  stages('P17, the second', {
    [ISSUANCE]: 'no API has passed anyone on',
    'a subject token': 'no API has passed anyone on',
    ...received([
      send(),
      (scene) => void Object.assign(scene, { received: scene.response.body.access_token }),
      listens,
      send({ resource: LEDGER }, { client: billingApi() }),
      policyHears({ through: ['orders-api'] }),
      granted,
    ]),
  }),
  stages('P18, bound', {
    [ISSUANCE]: 'there is none',
    'a subject token': 'there is none',
    ...received([
      (scene) => void Object.assign(scene, { application: proven }),
      ready,
      listens,
      send({}, proven),
      policyHears({ subjectToken: ({ bound }: { bound: boolean }) => bound }),
      granted,
    ]),
  }),
  stages('P15, a list', {
    [ISSUANCE]: [listens, issues({ resource: SEVERAL }), policyHears({ resource: SEVERAL }), issued],
    'a subject token': [
      issuedWith({ resource: SEVERAL }),
      ready,
      listens,
      send(),
      policyHears({ resource: API }),
      granted,
    ],
    ...received([
      issuedWith({ resource: SEVERAL }),
      ready,
      listens,
      send(),
      policyHears({ resource: BILLING }),
      granted,
    ]),
  }),
  rowsOf(["a user's own JWT", "a user's own opaque token"])(
    'P9 P11 P13 P14 P19 P32, no impersonation',
    own([
      ready,
      listens,
      send(),
      policyHears({
        userId: 'alice',
        actor: undefined,
        createdBy: undefined,
        context: undefined,
        subjectTokenId: undefined,
        use: undefined,
      }),
      granted,
    ]),
  ),
  everyStage(
    'P21, false',
    [functions({ isAllowed: () => false }), issues(), forbidden('isAllowed returned false')],
    [functions({ isAllowed: () => false }), send(), denied('isAllowed returned false')],
  ),
  stages('P21, without a policy', {
    [ISSUANCE]: [on('without functions'), issues(), calledInOrder(), issued],
    ...each(DOORS, (door) => [
      at(door),
      on('without functions'),
      send(),
      (scene) =>
        calledInOrder(
          'extraTokenClaims',
          ...(scene.door === 'a subject token' ? ['store.consume'] : []),
        )(scene),
      granted,
    ]),
  }),
  stages('P22', {
    [ISSUANCE]: [
      issues({ userId: 'alias:alice', actorId: 'alice' }),
      forbidden('an account cannot act for itself'),
      calledInOrder(),
    ],
    'a subject token': [
      ready,
      send(actedBy('alice')),
      invalidRequest('actor_token is invalid', 'the actor is the subject'),
      calledInOrder(),
    ],
    ...received('E69'),
  }),
  stages('P23', {
    [ISSUANCE]: [
      on('with required context'),
      issues({ context: { ticketId: ' ' } }),
      invalidRequest('context.ticketId is required, and must not be blank', null),
      calledInOrder(),
    ],
    'a subject token': [
      on('with required context'),
      issuedWith({ context: { ticketId: 'T-1' } }),
      ready,
      contextIsLost,
      send(),
      denied('context.ticketId is missing or blank'),
      calledInOrder(),
    ],
    ...received('D1'),
  }),
]

const clientIn = ({ door }: Scene) => (door === 'a subject token' ? 'spa' : 'orders-api')
const claims = [
  everyDoor('P24, after the policy has said no', [
    ready,
    functions({ isAllowed: () => false }),
    send(),
    (scene) => calledInOrder(`isAllowed at ${stageOf(scene)}`)(scene),
    denied('isAllowed returned false'),
  ]),
  everyDoor('P24, not JSON', [
    ready,
    functions({ getCustomJwtClaims: () => ({ at: new Date(0) }) }),
    send(),
    serverError('getCustomJwtClaims must return plain JSON'),
  ]),
  everyDoor('P25 P27 P28 P29 P30', [
    passes(0),
    ready,
    listens,
    send({ scope: 'orders:read' }),
    claimsHear((scene) => ({
      token: {
        jti: decodeJwt(scene.response.body.access_token).jti,
        sub: 'alice',
        aud: scene.door === 'a subject token' ? API : BILLING,
        scope: 'orders:read',
        clientId: clientIn(scene),
        iat: now(),
        exp: now() + 600,
      },
      environmentVariables: { region: 'eu' },
    })),
    contextHears((scene) => ({
      user: { id: 'alice' },
      client: { id: clientIn(scene) },
      actor: scene.door === 'a subject token' ? undefined : { sub: 'bob', clientId: 'spa' },
    })),
    granted,
  ]),
  rowsOf(['a subject token'])('P25, opaque', {
    'a subject token': [
      passes(0),
      ready,
      listens,
      send({ resource: OPAQUE_API }),
      claimsHear(() => ({
        token: { sub: 'alice', aud: OPAQUE_API, clientId: 'spa', iat: now(), exp: now() + 600 },
      })),
      granted,
    ],
  }),
  doors('P26', {
    'a subject token': [
      issuedWith({ context: CONTEXT }),
      ready,
      listens,
      send(),
      contextHears(({ id }) => ({
        grant: {
          type: TOKEN_EXCHANGE,
          kind: 'impersonation',
          subjectTokenId: id,
          subjectTokenContext: CONTEXT,
        },
      })),
      granted,
    ],
    ...received([
      issuedWith({ context: CONTEXT }),
      functions({ getCustomJwtClaims: () => ({ tier: 'gold' }) }),
      ready,
      listens,
      send(),
      contextHears(({ id }) => ({
        grant: {
          type: TOKEN_EXCHANGE,
          kind: 'onBehalfOf',
          subjectTokenId: id,
          subjectTokenContext: CONTEXT,
          through: [],
          subjectTokenClaims: { tier: 'gold' },
        },
      })),
      granted,
    ]),
  }),
  rowsOf(["a user's own JWT", "a user's own opaque token"])(
    'P26, no impersonation',
    own([
      ready,
      listens,
      send(),
      contextHears({
        grant: {
          type: TOKEN_EXCHANGE,
          kind: 'onBehalfOf',
          subjectTokenContext: {},
          through: [],
          subjectTokenClaims: {},
        },
      }),
      granted,
    ]),
  ),
  rowsOf(['a subject token'])('P29, several', {
    'a subject token': [
      ready,
      listens,
      send(actedByTwo),
      contextHears({ actor: { sub: 'bob', clientId: 'spa' } }),
      granted,
    ],
  }),
  everyDoor('P29, no one', [
    (scene) => void Object.assign(scene, { acting: {}, scope: 'orders:read' }),
    ready,
    listens,
    send(),
    contextHears({ actor: undefined }),
    granted,
  ]),
  rowsOf(['another grant'])('P31, every token', {
    'another grant': [
      functions({ extraTokenClaims: () => ({ department: 'sales' }) }),
      (scene) =>
        scene.request(() =>
          postToken(
            scene.setting,
            { grant_type: 'client_credentials', resource: API, scope: 'orders:read' },
            { client: machineClient() },
          ),
        ),
      tokenSays({ department: 'sales', sub: 'backend' }),
      changesNothing,
    ],
  }),
  everyDoor('P31', [
    ready,
    functions({ extraTokenClaims: () => ({ department: 'sales' }) }),
    send(),
    inOrder,
    tokenSays({ department: 'sales', sub: 'alice' }),
    spent,
  ]),
  everyDoor('P31, both', [
    ready,
    functions({
      extraTokenClaims: () => ({ department: 'sales', tier: 'silver' }),
      getCustomJwtClaims: () => ({ tier: 'gold' }),
    }),
    send(),
    tokenSays({ department: 'sales', tier: 'gold' }),
    spent,
  ]),
]

export const functionRules = [...callbacks, ...everywhere, ...policies, ...claims]
