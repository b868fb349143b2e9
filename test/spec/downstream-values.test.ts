/** Values at the boundaries of docs/protocol.md §8: what an API may have received, and what it may ask for. */
import { expect } from 'chai'
import { withActor } from '../../fixtures/actor-tokens.ts'
import { CERTIFICATE } from '../../fixtures/clients.ts'
import { now } from '../../fixtures/clock.ts'
import { API } from '../../fixtures/deployment.ts'
import { apiClient, BILLING, LEDGER } from '../../fixtures/on-behalf-of.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import { UNKNOWN_TOKEN } from '../../fixtures/subject-tokens.ts'
import type { CustomClaimsRequest, PolicyRequest } from '../../src/options.ts'
import { certificateThumbprint } from '../../src/provider/actor-token.ts'
import { byOrders, type Claims, forged, LEDGER_BY_BILLING, passOn, wide } from './downstream.ts'
import { at, everyPassed, ready, send } from './exchanging.ts'
import {
  answers,
  changesNothing,
  invalidTarget,
  limitedTo,
  nothingToGrant,
  recordUnchanged,
  refusedToken,
  serverError,
  succeeds,
  tokenSays,
} from './expectations.ts'
import { fails, functions, issuedWith, on, passes, stored } from './given.ts'
import { declareCells } from './matrix.ts'
import { by, mustPresent, PRESENTED, proven, storedAs, theKey, variant } from './proofs.ts'
import { type Rule, type Step, values } from './rule.ts'
import type { Scene } from './scene.ts'
import { LASTING } from './settings.ts'

const OWN = "a user's own JWT"
const IMPERSONATION = 'a JWT'
/** What a user's own JWT says, and why it is refused. */
const refusedJwts = (title: string, reason: string, all: Readonly<Record<string, Claims>>): Rule =>
  values(title, all, (claims) => [at(OWN), forged(claims), send(), refusedToken(reason)])
const acts = (all: Readonly<Record<string, unknown>>): Record<string, Claims> =>
  Object.fromEntries(Object.entries(all).map(([form, act]) => [form, { act }]))

/** The `act` of a token that these APIs have passed on, newest first. */
const through = (...apis: readonly string[]): object | undefined =>
  apis.reduceRight<object | undefined>(
    (act, api) => ({ sub: api, client_id: api, ...(act && { act }) }),
    undefined,
  )

const lasting = variant('lasting', {
  token_exchange_audiences: [API],
  token_exchange_resources: [BILLING, LASTING],
})
const UNBOUND = 'bound to a key, and the new token would not be'
const NOT_OF_CLIENT = 'not among the resources of the client'

/** What the API was given is sent as an actor token. */
const actsWithIt: Step = (scene) =>
  scene.request(async () => {
    const { subjectToken } = await issue(scene.setting, { userId: 'dave' })
    return exchange(scene.setting, { subject_token: subjectToken, ...withActor(scene.received) })
  })
interface Heard {
  policy?: PolicyRequest
  grant?: CustomClaimsRequest['context']['grant']
}
const heard = new WeakMap<Scene, Heard>()
const heardBy = (scene: Scene): Heard => heard.get(scene) ?? expect.fail('not asked')
/** Keeps what the functions are asked last. */
const hears =
  (claims: Claims): Step =>
  (scene) =>
    functions({
      isAllowed: (policy) => heard.set(scene, { ...heard.get(scene), policy }).has(scene),
      getCustomJwtClaims({ context: { grant } }) {
        heard.set(scene, { ...heard.get(scene), grant })
        return claims
      },
    })(scene)
const bobIsRobert: Step = functions({
  findAccount: async (_ctx, id) => {
    const accountId = id === 'bob' ? 'robert' : id
    return { accountId, claims: () => ({ sub: accountId }) }
  },
})

declareCells('D, values', [
  values(
    'D3, with the client',
    { 'one before': ['a-api'], 'the client in other letters': ['Orders-api'] },
    (apis) => [
      at(OWN),
      forged({ act: through(...apis) }),
      send(),
      tokenSays({ act: byOrders(through(...apis)) }),
      changesNothing,
    ],
  ),
  refusedJwts('D3, too many with the client', 'more than 2 APIs in the chain', {
    'two before': { act: through('a-api', 'b-api') },
  }),
  values(
    'D7, the whole form',
    {
      'one character too many': `${UNKNOWN_TOKEN}x`,
      'one too few': UNKNOWN_TOKEN.slice(0, -1),
      'another character': `${UNKNOWN_TOKEN.slice(0, -1)}.`,
      'another prefix': UNKNOWN_TOKEN.replace('sub_', 'Sub_'),
      'white space before it': ` ${UNKNOWN_TOKEN}`,
      'a line break after it': `${UNKNOWN_TOKEN}\n`,
    },
    (token) => [
      at(OWN),
      send({ subject_token: token }),
      refusedToken(token.includes('.') ? 'ERR_JWS_INVALID' : 'unknown or expired'),
    ],
  ),
  refusedJwts('D12, a malformed act', 'a malformed act claim', {
    ...acts({
      null: null,
      'a text': 'bob',
      empty: {},
      'without a name': { sub: '' },
      'of another issuer': { sub: 'bob', iss: 'x' },
      'an API of two names': { sub: 'a', client_id: 'b' },
      'an API without sub': { client_id: 'b' },
      'an API whose client_id is no text': { sub: 'b', client_id: ['b'] },
      'an API behind a person': { sub: 'bob', act: { sub: 'a-api', client_id: 'a-api' } },
    }),
  }),
  values('D8, first', { 'where an actor is required': apiClient() }, (client) => [
    on('with an actor always'),
    send({}, { client }),
    refusedToken('the client is an API'),
  ]),
  values('D12, to the second', { ending: 60 }, (left) => [
    passes(0),
    at(OWN),
    forged(() => ({ exp: now() + left })),
    passes(left - 1),
    send(),
    succeeds({ expires_in: 1 }),
    passes(1),
    send(),
    refusedToken('ERR_JWT_EXPIRED'),
  ]),
  values('D12, storage is down', { 'at its record': 'store.findByStatusIndex' }, (call) => [
    at(IMPERSONATION),
    ready,
    fails(call),
    send(),
    answers(503, 'temporarily_unavailable'),
    recordUnchanged,
  ]),
  refusedJwts('D14, one text, as it stands', 'for another audience', {
    'a slash more': { aud: `${API}/` },
    'a list of it': { aud: [API] },
    'another and it': { aud: [BILLING, API] },
    none: { aud: undefined },
  }),
  values('D14, any of the list', { first: API, last: BILLING }, (aud) => [
    at(OWN),
    storedAs(wide),
    forged({ aud }),
    send({ resource: LEDGER }, by(wide)),
    succeeds(),
    changesNothing,
  ]),
  values('D14, no audience', { 'of an empty list': [] }, (audiences) => {
    const emptied = variant('emptied', { token_exchange_audiences: audiences })
    return [at(OWN), storedAs(emptied), send({}, by(emptied)), refusedToken('for another audience')]
  }),
  values('D15, a status', { empty: {}, null: null }, (status) => [
    at(IMPERSONATION),
    forged({ status }),
    send(),
    refusedToken('its status is in no list of ours'),
  ]),
  values(
    'D15, pairwise',
    {
      'the client is not': { sub: 'alice@pairwise' },
      'for another client': { sub: 'alice@spa', client_id: 'pairwise' },
    },
    (claims) => [at(IMPERSONATION), forged(claims), send(), refusedToken('its status is of another user')],
  ),
  refusedJwts('D16, someone acts behind an API', 'someone acts, and it has no status', {
    'behind an API': { act: { sub: 'a-api', client_id: 'a-api', act: { sub: 'bob' } } },
  }),
  values(
    'D17, any key',
    {
      DPoP: { jkt: 'thumbprint' },
      'a certificate': { 'x5t#S256': 'thumbprint' },
      'of a kind that is unknown here': { jwe: 'x' },
      'of two kinds': { jkt: 'x', 'x5t#S256': 'y' },
      'that cannot be read': {},
      null: null,
    },
    (cnf) => [
      at(OWN),
      forged({ cnf }),
      send({}, { headers: PRESENTED }),
      refusedToken(UNBOUND),
      send({}, proven),
      tokenSays(async () => ({ cnf: { jkt: (await theKey()).thumbprint } })),
      recordUnchanged,
    ],
  ),
  values('D17, opaque', { 'a certificate': { 'x5t#S256': 'y' } }, (cnf) => [
    at("a user's own opaque token"),
    forged({ cnf }),
    send(),
    refusedToken(UNBOUND),
  ]),
  values('D17, by certificate', { DPoP: { jkt: 'thumbprint' } }, (cnf) => [
    at(OWN),
    storedAs(mustPresent),
    forged({ cnf }),
    send({}, (scene) => ({ client: mustPresent(scene), headers: PRESENTED })),
    tokenSays({ cnf: { 'x5t#S256': certificateThumbprint(CERTIFICATE) } }),
    recordUnchanged,
  ]),
  refusedJwts('D18, not by an alias', 'the user is gone or disabled', {
    'of the user': { sub: 'alias:alice' },
  }),
  values('D18, by the id that the record has', { 'of who acts': 'bob' }, () => [
    at(IMPERSONATION),
    ready,
    bobIsRobert,
    send(),
    refusedToken('the account of an actor is gone or disabled'),
  ]),
  values('D19, the names of people are no names of APIs', { 'of who acts': 'bob' }, (name) => {
    const client = apiClient({ client_id: name, client_secret: 'bob-secret' })
    return [
      at(IMPERSONATION),
      stored(client),
      send({}, { client }),
      tokenSays({ act: { sub: name, client_id: name, act: { sub: name } } }),
      changesNothing,
    ]
  }),
  refusedJwts('D19, an API twice in what came', 'an API twice in the chain', {
    'the client': { act: through('orders-api') },
    'the client, first': { act: through('a-api', 'orders-api') },
    'another, next to itself': { act: through('a-api', 'a-api') },
    'another, apart': { act: through('a-api', 'b-api', 'a-api') },
  }),
  values(
    'D21, as it stands',
    { 'a slash more': `${BILLING}/`, 'other letters': BILLING.toUpperCase() },
    (resource) => {
      const elsewhere = variant('elsewhere', {
        token_exchange_audiences: [API],
        token_exchange_resources: [resource],
      })
      return [at(OWN), storedAs(elsewhere), send({}, by(elsewhere)), invalidTarget(NOT_OF_CLIENT)]
    },
  ),
  values(
    'D23, none of these',
    { one: [API], 'two of three': [LEDGER, API], 'a slash more': [`${BILLING}/`, API] },
    (resource) => [at(IMPERSONATION), issuedWith({ resource }), send(), limitedTo(...resource)],
  ),
  values(
    'D23, after the list of the client',
    { 'of the record alone': [API, LEDGER], 'of neither': [API] },
    (resource) => [
      at(IMPERSONATION),
      issuedWith({ resource }),
      send({ resource: LEDGER }),
      invalidTarget(NOT_OF_CLIENT),
    ],
  ),
  values(
    'D25, requested and received',
    {
      both: ['orders:read', 'orders:read', 'orders:read'],
      'one of two': ['orders:read orders:write', 'orders:read', 'orders:read'],
      'the other': ['orders:write', 'orders:read', undefined],
      'none received': ['orders:read', undefined, undefined],
      'unknown here': ['unknown', 'unknown', undefined],
      'of the provider': ['profile orders:read', 'profile orders:read', 'profile orders:read'],
    } as Readonly<
      Record<string, readonly [asked: string, scope: string | undefined, granted?: string | undefined]>
    >,
    ([asked, scope, granted]) => [
      at(OWN),
      forged({ scope }),
      send({ scope: asked }),
      granted === undefined ? nothingToGrant : [succeeds({ scope: granted }), changesNothing],
    ],
  ),
  everyPassed('D26, it does not act', [
    send({ scope: 'openid orders:read' }),
    passOn,
    actsWithIt,
    answers(400, 'invalid_request', 'actor_token is invalid'),
    recordUnchanged,
  ]),
  values(
    'D28, the shortest',
    {
      'of the resource': [{}, 3000, 600],
      maxAccessTokenTTL: [{ resource: LASTING }, 3000, 900],
    } as const,
    ([target, left, life]) => [
      passes(0),
      at(OWN),
      storedAs(lasting),
      forged(() => ({ exp: now() + left })),
      send(target, by(lasting)),
      succeeds({ expires_in: life }),
      recordUnchanged,
    ],
  ),
  values('D31, what is heard at the second API', { 'of an impersonation': { tier: 'gold' } }, (claims) => [
    at(IMPERSONATION),
    issuedWith({ context: { ticketId: 'T-1' } }),
    hears(claims),
    send({ scope: 'orders:read' }),
    passOn,
    send(...LEDGER_BY_BILLING),
    tokenSays(claims),
    (scene) => {
      const { policy, grant } = heardBy(scene)
      expect(policy).to.deep.include({
        ...{ stage: 'onBehalfOf', client: { id: 'billing-api' }, through: ['orders-api'], resource: LEDGER },
        subjectToken: { clientId: 'orders-api', audience: BILLING, scope: 'orders:read', bound: false },
        ...{ context: { ticketId: 'T-1' }, subjectTokenId: scene.id, use: 'exchange' },
      })
      expect(grant).to.deep.include({ through: ['orders-api'], subjectTokenClaims: claims })
    },
    changesNothing,
  ]),
  values('D31, no reserved claim is heard', { 'of a user': { tier: 'gold' } }, (claims) => [
    at(OWN),
    hears({}),
    forged({ ...claims, ...{ auth_time: 1, acr: 'x', amr: ['pwd'], sid: 's', may_act: {} } }),
    send(),
    (scene) => expect(heardBy(scene).grant?.subjectTokenClaims).to.deep.equal(claims),
    succeeds(),
    changesNothing,
  ]),
  values('D31, the new token has ended', { 'before it is issued': 600 }, (life) => [
    passes(0),
    at(OWN),
    (scene) =>
      functions({
        getCustomJwtClaims() {
          scene.pass(life)
          return {}
        },
      })(scene),
    send(),
    serverError('the access token ended before it was issued'),
  ]),
  values('D28, at the next step', { 'of the child': 20 }, (left) => [
    passes(0),
    at(IMPERSONATION),
    send(),
    passOn,
    forged(() => ({ exp: now() + left })),
    send(...LEDGER_BY_BILLING),
    succeeds({ expires_in: left }),
    recordUnchanged,
  ]),
])
