/** The exchange of subject tokens (docs/protocol.md §1, §3), and what an exchange by an API has in common with it. */
import { expect } from 'chai'
import { withActor } from '../../fixtures/actor-tokens.ts'
import { publicClient, webClient } from '../../fixtures/clients.ts'
import { now } from '../../fixtures/clock.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import { dpopKey } from '../../fixtures/dpop.ts'
import { SIGNING_KEY, signingKey } from '../../fixtures/keys.ts'
import { revoke } from '../../fixtures/management.ts'
import { EVERYTHING } from '../../fixtures/metadata-documents.ts'
import { apiClient, BILLING, ledgerApi, viewed } from '../../fixtures/on-behalf-of.ts'
import { statusOf } from '../../fixtures/status-lists.ts'
import { UNKNOWN_TOKEN } from '../../fixtures/subject-tokens.ts'
import { ACCESS_TOKEN_TYPE } from '../../src/base/constants.ts'
import { AccessDenied, type ActClaim, StoreFailure } from '../../src/index.ts'
import { mintToken } from '../../src/tokens/secret.ts'
import {
  actors,
  afresh,
  bearers,
  borneAs,
  byFormat,
  byPlace,
  destroyed,
  endGrant,
  endSession,
  everyBearer,
  impersonated,
  indexElsewhere,
  inSession,
  isReceived,
  jwtOnly,
  opaqueOnly,
  peopleAre,
  receivedTokens,
  rewriteExtra,
  rewriteGrant,
  sends,
  statusAt,
  token,
  tokenRefused,
} from './bearing.ts'
import {
  actedBy,
  actedByTwo,
  confidential,
  doors,
  everyDoor,
  everyResponse,
  exchanged,
  ready,
  received,
  send,
  sendCopies,
  sendTwice,
  sendTwiceAtOnce,
  sent,
} from './exchanging.ts'
import {
  answers,
  because,
  changesNothing,
  denied,
  invalidRequest,
  invalidTarget,
  isServerError,
  nothingToGrant,
  notLookedUp,
  recordSays,
  recordUnchanged,
  refused,
  refusedToken,
  serverError,
  spent,
  succeeds,
  tokenLivesOn,
  tokenSays,
  wrote,
} from './expectations.ts'
import { fails, functions, gone, issuedWith, on, passes, removed, stored, works } from './given.ts'
import { declareCells } from './matrix.ts'
import {
  asserting,
  assertion,
  by,
  claiming,
  mustPresent,
  mustProve,
  PRESENTED,
  proven,
  secretInBody,
  storedAs,
  theKey,
  variant,
} from './proofs.ts'
import { rowsOf, type Step } from './rule.ts'
import type { Scene } from './scene.ts'
import { UNSIGNABLE } from './settings.ts'

const SECRET_IN_BODY =
  'the client is registered with client_secret_basic: send its secret in the Authorization header'
const NO_GRANT = 'requested grant type is not allowed for this client'
const UNAVAILABLE = 'the service is temporarily unavailable'
const UNKNOWN = 'https://unknown.example.com'

const isFirst = ({ door }: Scene): boolean => door === 'a subject token'
const withoutGrant = webClient({ client_id: 'without-grant', grant_types: ['authorization_code'] })
/** May ask for fewer resources, scopes, or for one that cannot be signed. */
const narrow = variant('narrow', { token_exchange_resources: [API] })
const scoped = variant('scoped', { scope: 'openid' })
const unsigning = variant('unsigning', { token_exchange_resources: [UNSIGNABLE] })
const fleeting = publicClient({ client_id: 'fleeting' })

const requests = [
  everyDoor('E1', [
    send({ scope: 'openid orders:read' }),
    succeeds({ refresh_token: undefined, id_token: undefined }),
    spent,
  ]),
  everyDoor('E2, credentials left out', [
    send({}, claiming(confidential)),
    answers(401, 'invalid_client'),
    because(null),
    changesNothing,
  ]),
  everyDoor('E2, a client that authenticates', [send({}, by(confidential)), succeeds(), spent]),
  doors('E2, a public client', {
    'a subject token': [send({}, { client: publicClient() }), succeeds(), spent],
    ...received('an API authenticates (§8.1)'),
  }),
  everyDoor('E3 E50', [
    send(secretInBody, claiming(confidential)),
    refused(401, 'invalid_client', SECRET_IN_BODY),
  ]),
  everyDoor('E4 E48', [
    stored(withoutGrant),
    send({}, { client: withoutGrant }),
    invalidRequest(NO_GRANT, null),
  ]),
  everyDoor('E4, a metadata document', [
    send({}, { client: EVERYTHING }),
    invalidRequest(NO_GRANT, 'the client describes itself in a metadata document'),
  ]),
  everyDoor('E5', [
    send({ grant_type: 'urn:ietf:params:oauth:grant-type:token-exchanges' }),
    refused(400, 'unsupported_grant_type', undefined, null),
  ]),
  everyDoor('E6 E35', [send({ subject_token: null }), invalidRequest('subject_token is required')]),
  everyDoor('E7', [send({ subject_token_type: null }), invalidRequest('subject_token_type is required')]),
  doors('E8', {
    'a subject token': [on('with an actor always'), send(), invalidRequest('actor_token is required')],
    ...received([on('with an actor always'), send(), succeeds(), spent]),
  }),
  doors('E8, sent', {
    'a subject token': [
      on('with an actor always'),
      send(actedBy()),
      tokenSays({ act: { sub: 'bob' } }),
      spent,
    ],
    ...received([send(actedBy()), invalidRequest('actor_token is not supported')]),
  }),
  everyDoor('E9', [
    send({ actor_token: 'x', actor_token_type: 'urn:x' }),
    invalidRequest('actor_token_type is not supported'),
  ]),
  everyDoor('E10', [
    send({ requested_token_type: 'urn:ietf:params:oauth:token-type:jwt' }),
    invalidRequest('requested_token_type is not supported'),
  ]),
  everyDoor('E10, an access token', [send({ requested_token_type: ACCESS_TOKEN_TYPE }), succeeds(), spent]),
  everyDoor('E11', [send({ resource: null }), invalidTarget('no resource')]),
  everyDoor('E11, named by the deployment', [
    (scene) => functions({ defaultResource: () => (isFirst(scene) ? API : BILLING) })(scene),
    send({ resource: null }),
    tokenSays((scene) => ({ aud: isFirst(scene) ? API : BILLING })),
    spent,
  ]),
  everyDoor('E12', [
    send({ scope: 'orders:read "' }),
    answers(400, 'invalid_scope'),
    because(null),
    changesNothing,
  ]),
  everyDoor('E14', [
    send({ authorization_details: '[{"type":"x"}]' }),
    invalidRequest('authorization_details is not supported'),
  ]),
  everyDoor('E15', [
    send({
      actor_token: '',
      actor_token_type: '',
      requested_token_type: '',
      scope: '',
      audience: '',
      authorization_details: '',
    }),
    succeeds({ scope: undefined }),
    spent,
  ]),
  everyDoor('E15, a space', [
    send({ requested_token_type: ' ' }),
    invalidRequest('requested_token_type is not supported'),
  ]),
  everyDoor('E16', [
    send({ scope: ['orders:read', 'orders:write'] }),
    invalidRequest("'scope' parameter must not be provided twice", null),
  ]),
  everyDoor('E17', [send({ prompt: 'none', act: '{"sub":"carol"}' }), succeeds(), spent]),
]

/** In the order of §3.1. */
const [PARAMETERS, SENDER, TOKEN, PEOPLE, TARGET, POLICY, CLAIMS, SPEND] = [1, 2, 3, 4, 5, 6, 7, 8]

/** A request in which everything is wrong from one stage on. */
const wrongFrom =
  (first: number): Step =>
  async (scene) => {
    const wrong = (stage = 0) => stage >= first
    if (wrong(TOKEN) && isFirst(scene)) scene.issuing = { clientId: 'pairwise' }
    await ready(scene)
    if (wrong(PEOPLE) && !isFirst(scene)) scene.setting.gone.add('bob')
    scene.setting.functions = {
      isAllowed: () => !wrong(POLICY),
      getCustomJwtClaims() {
        if (wrong(CLAIMS)) throw new AccessDenied('the claims say no')
        return {}
      },
    }
    if (wrong(SPEND)) fails('store.consume')(scene)
    await sent(
      scene,
      {
        ...(wrong(PARAMETERS) && { requested_token_type: 'urn:x' }),
        ...(wrong(PEOPLE) && isFirst(scene) && withActor('x')),
        ...(wrong(TARGET) && { resource: UNKNOWN }),
      },
      {
        ...(wrong(TOKEN) && !isFirst(scene) && { client: ledgerApi() }),
        ...(wrong(SENDER) && { headers: { dpop: 'garbage' } }),
      },
    )
  }

const ORDER = [
  everyDoor('E18', [wrongFrom(PARAMETERS), invalidRequest('requested_token_type is not supported')]),
  everyDoor('E19', [
    wrongFrom(SENDER),
    answers(400, 'invalid_dpop_proof'),
    because('ERR_JWS_INVALID'),
    changesNothing,
  ]),
  everyDoor('E20', [
    wrongFrom(TOKEN),
    refusedToken((scene) => (isFirst(scene) ? 'bound to another client' : 'for another audience')),
  ]),
  doors('E21', {
    'a subject token': [wrongFrom(PEOPLE), invalidRequest('actor_token is invalid', 'unknown or expired')],
    ...received([wrongFrom(PEOPLE), refusedToken('the account of an actor is gone or disabled')]),
  }),
  everyDoor('E22', [
    wrongFrom(TARGET),
    answers(400, 'invalid_target'),
    because('InvalidTarget'),
    changesNothing,
  ]),
  everyDoor('E23 E46', [wrongFrom(POLICY), denied('isAllowed returned false')]),
  everyDoor('E24 E46, of the claims function', [wrongFrom(CLAIMS), denied('the claims say no')]),
  doors('E25 E53', {
    'a subject token': [
      wrongFrom(SPEND),
      answers(503, 'temporarily_unavailable', 'request a new subject token'),
      recordSays({ state: 'active' }),
    ],
    ...received([wrongFrom(SPEND), succeeds(), changesNothing]),
  }),
  everyDoor('E25, at the same moment', [
    sendCopies(5, (scene) => ({ count: isFirst(scene) ? 1 : 5 })),
    succeeds(),
    (scene) => isFirst(scene) || recordUnchanged(scene),
    recordSays((scene) => ({
      usedBy: 'spa',
      ...(isFirst(scene) ? { state: 'revoked', revocation: { cause: 'replay' } } : { state: 'consumed' }),
    })),
  ]),
  everyDoor('E26 E52', [
    storedAs(unsigning),
    send({ resource: UNSIGNABLE }, by(unsigning)),
    isServerError,
    spent,
  ]),
]

const writes = rowsOf(['a JWT', 'an opaque token', 'a proof', 'several people', 'a lost race'])

const writing = [
  writes('E27', {
    'a JWT': [send(), succeeds(), wrote('store.consume'), spent],
    'an opaque token': [
      send({ resource: OPAQUE_API }),
      succeeds(),
      wrote('Grant.upsert', 'store.consume', 'AccessToken.upsert'),
      spent,
    ],
    'a proof': [send({}, proven), succeeds(), wrote('ReplayDetection.upsert', 'store.consume'), spent],
    'several people': [
      send(actedByTwo),
      succeeds(),
      ({ statements }) => {
        const written = statements.filter((sql) => /: (INSERT|UPDATE)/.test(sql))
        expect(written.map((sql) => /(subject_\w+)/.exec(sql)?.[1])).to.deep.equal([
          'subject_token_actors',
          'subject_token_uses',
        ])
      },
      recordSays({ actor: { sub: 'bob', act: { sub: 'carol' }, clientId: 'spa' } }),
    ],
    'a lost race': [
      ({ setting }) => void setting.instead.set('store.consume', async () => false),
      send({ resource: OPAQUE_API }),
      answers(400, 'invalid_request', 'subject_token is invalid'),
      wrote('Grant.upsert', 'store.consume', 'Grant.destroy'),
      recordUnchanged,
    ],
  }),
  writes('E27, what is written before the spend cannot be', {
    'a JWT': 'nothing is written before the spend',
    'an opaque token': [fails('Grant.upsert'), send({ resource: OPAQUE_API }), isServerError, changesNothing],
    'a proof': [fails('ReplayDetection.upsert'), send({}, proven), isServerError, changesNothing],
    'several people': 'its statement is of the store that spends: E54',
    'a lost race': 'it is one already',
  }),
  writes('E27, a refusal leaves it usable', {
    'a JWT': [send({ resource: UNKNOWN }), send(), succeeds(), spent],
    'an opaque token': [send({ resource: UNKNOWN }), send({ resource: OPAQUE_API }), succeeds(), spent],
    'a proof': [
      async (scene) => {
        const same = await proven(scene)
        await sent(scene, { resource: UNKNOWN }, same)
        await sent(scene, {}, same)
      },
      succeeds(),
      spent,
    ],
    'several people': [send({ resource: UNKNOWN }), send(actedByTwo), succeeds(), spent],
    'a lost race': 'it is one already',
  }),
]

const once = [
  everyDoor('E28, a proof', [
    sendTwice({}, proven),
    answers(400, 'invalid_grant'),
    because('DPoP proof JWT Replay detected'),
    changesNothing,
  ]),
  everyDoor('E28, copies of a proof', [
    sendTwiceAtOnce({}, proven),
    succeeds(),
    recordSays((scene) => ({ state: isFirst(scene) ? 'active' : 'consumed' })),
  ]),
  everyDoor('E28, an assertion', [
    storedAs(asserting),
    sendTwice(assertion, claiming(asserting)),
    answers(401, 'invalid_client'),
    changesNothing,
  ]),
  everyDoor('E28, copies of an assertion', [
    storedAs(asserting),
    sendTwiceAtOnce(assertion, claiming(asserting)),
    succeeds(),
    recordSays((scene) => ({ state: isFirst(scene) ? 'active' : 'consumed' })),
  ]),
]

const REPLAYED = answers(400, 'invalid_request', 'subject_token is invalid')
const byReplay = { state: 'revoked', revocation: { cause: 'replay' } }

const spending = [
  rowsOf(['a JWT', 'an opaque token'])('E29', {
    'a JWT': [
      send({ resource: UNSIGNABLE }),
      isServerError,
      recordSays({ state: 'consumed', usedBy: 'spa' }),
    ],
    'an opaque token': [
      fails('AccessToken.upsert'),
      send({ resource: OPAQUE_API }),
      isServerError,
      recordSays({ state: 'consumed', usedBy: 'spa' }),
    ],
  }),
]

const throws = () => {
  throw new Error('private: something')
}

const errors = [
  everyDoor('E7 E35, blank', [
    send({ subject_token_type: '' }),
    invalidRequest('subject_token_type is required'),
  ]),
  everyDoor('E36', [
    send({ actor_token: 'x' }),
    invalidRequest('actor_token_type is required with actor_token'),
  ]),
  everyDoor('E37', [
    send({ actor_token_type: ACCESS_TOKEN_TYPE }),
    invalidRequest('actor_token is required with actor_token_type'),
  ]),
  everyDoor('E38', [
    send({ subject_token_type: 'urn:ietf:params:oauth:token-type:id_token' }),
    invalidRequest('subject_token_type is not supported'),
  ]),
  everyDoor('E39', [
    send((scene) => ({ subject_token: [scene.subjectToken || scene.received, 'x'] })),
    invalidRequest("'subject_token' parameter must not be provided twice", null),
  ]),
  everyDoor('E42 E71, repeated', [
    send((scene) => ({ resource: isFirst(scene) ? [API, API] : [BILLING, BILLING] })),
    invalidTarget('more than one resource'),
  ]),
  everyDoor('E42 E71, a fragment', [
    send((scene) => ({ resource: `${isFirst(scene) ? API : BILLING}#x` })),
    invalidTarget('not an absolute URI without fragment'),
  ]),
  everyDoor('E42 E71, another spelling', [
    send((scene) => ({ resource: `${isFirst(scene) ? API : BILLING}/` })),
    invalidTarget('InvalidTarget'),
  ]),
  everyDoor('E42 E71, not allowed', [
    storedAs(narrow),
    send((scene) => ({ resource: isFirst(scene) ? OPAQUE_API : BILLING }), by(narrow)),
    invalidTarget('not among the resources of the client'),
  ]),
  everyDoor('E42, the management resource', [
    send(({ setting }) => ({ resource: `${setting.baseUrl}/api` })),
    invalidTarget('the management resource is for client_credentials only'),
  ]),
  everyDoor('E13 E43', [
    send({ audience: API, resource: null }),
    refused(400, 'invalid_target', 'audience is not supported: send resource instead'),
  ]),
  everyDoor('E45', [
    send({ scope: 'orders:read '.repeat(257).trim() }),
    refused(400, 'invalid_scope', 'more than 256 scopes were requested'),
  ]),
  everyDoor('E47, the policy throws', [
    ready,
    functions({ isAllowed: throws }),
    send(),
    serverError('isAllowed failed'),
  ]),
  everyDoor('E49', [
    send({}, (scene) => ({ client: { ...confidential(scene), client_secret: 'wrong' } })),
    answers(401, 'invalid_client'),
    because(null),
    changesNothing,
  ]),
  everyDoor('E51, a missing proof', [
    storedAs(mustProve),
    send({}, by(mustProve)),
    answers(400, 'invalid_grant'),
    because('DPoP proof JWT not provided'),
    changesNothing,
  ]),
  everyDoor('E51, a wrong proof', [
    send({}, async ({ setting }) => ({
      headers: { dpop: await (await dpopKey()).proof(setting, { htm: 'GET' }) },
    })),
    answers(400, 'invalid_dpop_proof'),
    because('DPoP proof htm mismatch'),
    changesNothing,
  ]),
  everyDoor('E51, a missing certificate', [
    storedAs(mustPresent),
    send({}, by(mustPresent)),
    answers(400, 'invalid_grant'),
    because('mutual TLS client certificate not provided'),
    changesNothing,
  ]),
  doors('E53, spent in truth', {
    'a subject token': [
      ({ setting }) =>
        void setting.instead.set('store.consume', async (call) => {
          await call()
          throw new Error('private: connection lost')
        }),
      send(),
      answers(503, 'temporarily_unavailable', 'request a new subject token'),
      recordSays({ state: 'consumed', usedBy: 'spa' }),
    ],
    ...received('nothing is spent'),
  }),
  doors('E54, the spend, which promises that it did nothing', {
    'a subject token': [
      fails('store.consume', new StoreFailure('private', { tookEffect: false })),
      send(),
      answers(503, 'temporarily_unavailable', UNAVAILABLE),
      changesNothing,
    ],
    ...received('nothing is spent'),
  }),
  everyDoor('E54 E56, the look-up', [
    ready,
    fails('store.find'),
    fails('store.findByStatusIndex'),
    send(),
    answers(503, 'temporarily_unavailable', UNAVAILABLE),
    ({ response }) => expect(response.headers.get('retry-after')).to.equal('5'),
    changesNothing,
    works('store.find'),
    works('store.findByStatusIndex'),
    send(),
    succeeds(),
    spent,
  ]),
  everyDoor('E57', [ready, fails('ReplayDetection.find'), send({}, proven), isServerError, changesNothing]),
]

/** What may be wrong with a subject token. */
const subjectTokens = rowsOf([
  'malformed',
  'unknown',
  'expired',
  'used',
  'revoked',
  'of another issuer',
  'for another client',
  'for an actor, and there is none',
  'for another actor',
  'for another resource',
  'of a user that is gone',
  'of a user with the id of the client',
  'of a client that is an API',
])

const subjects = [
  subjectTokens('E40', {
    malformed: [
      send(({ subjectToken }) => ({ subject_token: `${subjectToken}=` })),
      answers(400, 'unauthorized_client'),
      changesNothing,
    ],
    unknown: [send({ subject_token: UNKNOWN_TOKEN }), refusedToken('unknown')],
    expired: [passes(0), ready, passes(600), send(), refusedToken('expired')],
    used: [exchanged(), send(), REPLAYED, recordSays(byReplay)],
    revoked: [ready, ({ setting, id }) => revoke(setting, id), send(), refusedToken('revoked')],
    'of another issuer': [on('of another issuer'), ready, on('usual'), send(), refusedToken('unknown')],
    'for another client': [issuedWith({ clientId: 'web' }), send(), refusedToken('bound to another client')],
    'for an actor, and there is none': [
      issuedWith({ actorId: 'bob' }),
      send(),
      refusedToken('bound to an actor, and none was sent'),
    ],
    'for another actor': [
      issuedWith({ actorId: 'carol' }),
      send(actedBy()),
      refusedToken('bound to another actor'),
    ],
    'for another resource': [
      issuedWith({ resource: OPAQUE_API }),
      send(),
      refusedToken('bound to another resource'),
    ],
    'of a user that is gone': [ready, gone('alice'), send(), refusedToken('the user is gone or disabled')],
    'of a user with the id of the client': [
      issuedWith({ userId: 'spa' }),
      send(),
      refusedToken('the sub to be issued is the id of the client'),
    ],
    'of a client that is an API': [send({}, { client: apiClient() }), refusedToken('the client is an API')],
  }),
]

/** The id of the record, and another secret. */
const withAnotherSecret = send(({ id }) => ({ subject_token: mintToken(id) }))
/** One look-up, and an event that does not name the record. */
const namesNoRecord: Step = ({ calls, events }) => {
  expect(calls.filter((call) => call.startsWith('store.'))).to.deep.equal(['store.find'])
  const said = { stage: 'exchange', error: 'invalid_request', check: 'subject_token' }
  expect(events[0]?.payload).to.deep.equal({ ...said, reason: 'unknown', clientId: 'spa' })
}

const forms = [
  rowsOf(['unspent', 'spent', 'revoked'])('E84', {
    unspent: [ready, withAnotherSecret, refusedToken('unknown'), namesNoRecord],
    spent: [exchanged(), withAnotherSecret, refusedToken('unknown'), namesNoRecord, tokenLivesOn],
    revoked: [
      ready,
      ({ setting, id }) => revoke(setting, id),
      withAnotherSecret,
      refusedToken('unknown'),
      namesNoRecord,
    ],
  }),
  rowsOf(['the last character of the id', 'the last character of the secret', 'another beginning'])('E85', {
    'the last character of the id': [
      send(({ subjectToken }) => ({ subject_token: spelledAnew(subjectToken, 25) })),
      refusedToken('malformed'),
      notLookedUp,
    ],
    'the last character of the secret': [
      send(({ subjectToken }) => ({ subject_token: spelledAnew(subjectToken, 68) })),
      refusedToken('malformed'),
      notLookedUp,
    ],
    'another beginning': [
      send(({ subjectToken }) => ({ subject_token: subjectToken.replace('sub_', 'ses_') })),
      refusedToken('malformed'),
      notLookedUp,
    ],
  }),
]

const oneText = [
  everyDoor('E55', [
    ready,
    send((scene) => ({ subject_token: isFirst(scene) ? UNKNOWN_TOKEN : 'x'.repeat(43) })),
    because((scene) => (isFirst(scene) ? 'unknown' : 'unknown or expired')),
    ({ kept, response }) => void Object.assign(kept, { other: response.text }),
    gone('alice'),
    send(),
    refusedToken('the user is gone or disabled'),
    ({ kept, response }) => expect(response.text).to.equal(kept.other),
  ]),
]

/** Base64url that stands for the same bytes: the next character differs in a bit that is not read. */
function spelledAnew(token: string, place: number): string {
  const next = String.fromCharCode(token.charCodeAt(place) + 1)
  return token.slice(0, place) + next + token.slice(place + 1)
}

/** The first of them acts, for whom the others acted before. */
const chained = (sub: string, ...earlier: readonly string[]): ActClaim => {
  const [next, ...others] = earlier
  return next === undefined ? { sub } : { sub, act: chained(next, ...others) }
}

const NO_OPAQUE_SIGNATURE = 'an opaque token is not signed'
const ENDED = 'unknown or expired'

const actorTokens = [
  everyBearer('E58, whatever the provider tolerates', [
    on('with a clock tolerance'),
    passes(0),
    token(() => ({ exp: now() + 60 })),
    passes(60),
    sends(),
    tokenRefused(byFormat('ERR_JWT_EXPIRED', ENDED)),
  ]),
  everyBearer('E58, a second before', [
    on('with a clock tolerance'),
    passes(0),
    token(() => ({ exp: now() + 60 })),
    passes(59),
    sends(),
    succeeds(),
    spent,
  ]),
  opaqueOnly('E59, found', 'a JWT is not looked up', [token(), destroyed, sends(), tokenRefused(ENDED)]),
  opaqueOnly('E59, with its session', 'a JWT has no session', [
    token(),
    inSession,
    sends(),
    succeeds(),
    spent,
  ]),
  opaqueOnly('E59, after its session', 'a JWT has no session', [
    token(),
    inSession,
    endSession,
    sends(),
    tokenRefused(ENDED),
  ]),
  opaqueOnly('E59, its Grant has ended', 'a JWT has no Grant', [
    token(),
    endGrant,
    sends(),
    tokenRefused('its grant has ended'),
  ]),
  opaqueOnly('E59, its Grant has expired', 'a JWT has no Grant', [
    passes(0),
    token(),
    rewriteGrant(() => ({ exp: now() })),
    sends(),
    tokenRefused('its grant has ended'),
  ]),
  ...(['accountId', 'clientId'] as const).map((member) =>
    opaqueOnly(`E59, a Grant of another ${member}`, 'a JWT has no Grant', [
      token(),
      rewriteGrant(() => ({ [member]: 'web' })),
      sends(),
      tokenRefused('its grant belongs to another client or account'),
    ]),
  ),
  jwtOnly('E60, signed by a stranger', NO_OPAQUE_SIGNATURE, [
    token({}, { key: signingKey('ES256', SIGNING_KEY.kid) }),
    sends(),
    tokenRefused('ERR_JWS_SIGNATURE_VERIFICATION_FAILED'),
  ]),
  ...Object.entries({
    'of another type': token({}, { header: { typ: 'JWT' } }),
    'of another issuer': token({ iss: 'https://other.example.com/oidc' }),
    'without exp': token({ exp: undefined }),
    'not valid yet': token(() => ({ nbf: now() + 60 })),
  }).map(([as, made]) =>
    jwtOnly(`E60, ${as}`, NO_OPAQUE_SIGNATURE, [
      made,
      sends(),
      tokenRefused('ERR_JWT_CLAIM_VALIDATION_FAILED'),
    ]),
  ),
  everyBearer('E60, of a client for itself', [
    token({ sub: 'spa' }),
    sends(),
    tokenRefused('a token of the client itself'),
  ]),
  everyBearer('E60, a malformed act', [
    token({ act: { sub: '' } }),
    sends(),
    tokenRefused('a malformed act claim'),
  ]),
  ...Object.entries({
    'another base': () => ({ status_list: { idx: 0, uri: 'https://elsewhere.example.com/0' } }),
    'another spelling of the number': ({ setting }: Scene) => statusAt(setting, 0, '00'),
    'an index beyond the list': ({ setting }: Scene) => statusAt(setting, 131_072),
  }).map(([as, status]) =>
    everyBearer(`E61, ${as}`, [
      token((scene) => ({ status: status(scene) })),
      sends(),
      tokenRefused('its status is in no list of ours'),
    ]),
  ),
  everyBearer('E62, no record', [
    token(({ setting }) => ({ status: statusAt(setting, 131_071) })),
    sends(),
    tokenRefused('its status has no record'),
  ]),
  everyBearer('E62, a record of another issuer', [
    token(async ({ setting }) => ({ status: statusAt(setting, await indexElsewhere()) })),
    sends(),
    tokenRefused('its status has no record'),
  ]),
  everyBearer('E62, revoked', [
    impersonated,
    ({ setting, kept }) => revoke(setting, kept.record ?? ''),
    sends(),
    tokenRefused(byFormat('stopped', ENDED)),
  ]),
  everyBearer('E62, revoked, and the token could not be ended', [
    impersonated,
    fails('Grant.destroy'),
    ({ setting, kept }) => revoke(setting, kept.record ?? ''),
    works('Grant.destroy'),
    sends(),
    tokenRefused('stopped'),
  ]),
  opaqueOnly('E63', 'a JWT is signed: its chain is in it, and is compared with the record in §8', [
    impersonated,
    rewriteExtra({ act: { sub: 'carol' } }),
    sends(),
    tokenSays((scene) => ({
      act: isReceived(scene)
        ? { sub: 'orders-api', client_id: 'orders-api', act: { sub: 'bob' } }
        : { sub: 'alice', act: { sub: 'bob' } },
    })),
    spent,
  ]),
  opaqueOnly('E64', 'a JWT without status is not known to be from an exchange', [
    impersonated,
    rewriteExtra({ status: undefined }),
    sends(),
    tokenRefused('its status is in no list of ours'),
  ]),
  opaqueOnly('E64, the record of another token', 'the status of a JWT is signed', [
    impersonated,
    rewriteExtra(async ({ setting }) => {
      const { accessToken } = await viewed(setting)
      return { status: { status_list: statusOf(accessToken) } }
    }),
    sends(),
    tokenRefused('its status is of another token'),
  ]),
  bearers('E64, without status lists', {
    'an actor token, JWT': [
      borneAs('an actor token, JWT'),
      on('without status lists'),
      token(({ setting }) => ({ status: statusAt(setting, 0) })),
      sends(),
      tokenRefused('its status is in no list of ours'),
    ],
    'an actor token, opaque': [
      borneAs('an actor token, opaque'),
      on('without status lists'),
      impersonated,
      sends(),
      tokenRefused('its status is in no list of ours'),
    ],
    ...receivedTokens('onBehalfOf needs status lists'),
  }),
  bearers('E41 E65', {
    ...actors([token({ scope: 'openid2 OpenID' }), sends(), tokenRefused('without scope openid')]),
    ...receivedTokens([token({ scope: 'orders:read' }), sends(), succeeds(), spent]),
  }),
  everyBearer('E66, removed between two requests', [
    stored(fleeting),
    token({ client_id: 'fleeting' }),
    sends(),
    afresh,
    removed(fleeting),
    sends(),
    tokenRefused('its client is gone'),
  ]),
  jwtOnly('E66, made pairwise between two requests', 'an opaque token names people by their account ids', [
    stored(fleeting),
    token({ client_id: 'fleeting' }),
    sends(),
    afresh,
    stored({ ...fleeting, subject_type: 'pairwise' }),
    sends(),
    tokenRefused(
      byPlace(
        'of a client with pairwise subjects, which cannot be mapped to accounts',
        'of a client with pairwise subjects, and it has no status',
      ),
    ),
  ]),
  bearers('E66, a pairwise client, by an opaque token', {
    'an actor token, JWT': 'the row above',
    'an actor token, opaque': [
      borneAs('an actor token, opaque'),
      token({ client_id: 'pairwise' }),
      sends(),
      succeeds(),
      spent,
    ],
    ...receivedTokens([
      token({ client_id: 'pairwise' }),
      sends(),
      tokenRefused('of a client with pairwise subjects, and it has no status'),
    ]),
  }),
  opaqueOnly('E66, a pairwise client, by an opaque token with act', 'the row above', [
    token({ client_id: 'pairwise', act: { sub: 'carol' } }),
    sends(),
    tokenRefused(
      byPlace(
        'of a client with pairwise subjects, which cannot be mapped to accounts',
        'someone acts, and it has no status',
      ),
    ),
  ]),
  everyBearer('E67', [
    token(),
    (scene) => gone(isReceived(scene) ? 'alice' : 'bob')(scene),
    sends(),
    tokenRefused(byPlace('its account is gone or disabled', 'the user is gone or disabled')),
  ]),
  everyBearer('E67, an alias', [
    token((scene) => ({ sub: isReceived(scene) ? 'alias:alice' : 'alias:bob' })),
    sends(),
    tokenRefused(byPlace('its account is gone or disabled', 'the user is gone or disabled')),
  ]),
  everyBearer('E68', [
    token(async () => ({ cnf: { jkt: (await theKey()).thumbprint } })),
    sends(),
    tokenRefused(
      byPlace('bound to a DPoP key that was not proven', 'bound to a key, and the new token would not be'),
    ),
  ]),
  everyBearer('E68, proven', [
    token(async () => ({ cnf: { jkt: (await theKey()).thumbprint } })),
    sends({}, proven),
    tokenSays(async () => ({ cnf: { jkt: (await theKey()).thumbprint } })),
    spent,
  ]),
  bearers('E68, another key', {
    ...actors([
      token({ cnf: { jkt: 'x'.repeat(43) } }),
      sends({}, proven),
      tokenRefused('bound to a DPoP key that was not proven'),
    ]),
    ...receivedTokens([token({ cnf: { jkt: 'x'.repeat(43) } }), sends({}, proven), succeeds(), spent]),
  }),
  bearers('E68, a certificate', {
    ...actors('E68, not enough'),
    ...receivedTokens([
      token({ cnf: { 'x5t#S256': 'x'.repeat(43) } }),
      sends({}, { headers: PRESENTED }),
      tokenRefused('bound to a key, and the new token would not be'),
    ]),
  }),
  jwtOnly('E68, another kind of binding', 'an opaque token is bound by a key or a certificate alone', [
    token({ cnf: { kid: 'x' } }),
    sends(),
    tokenRefused(
      byPlace('bound to an unknown kind of key', 'bound to a key, and the new token would not be'),
    ),
  ]),
  ...Object.entries({
    'an actor twice in the chain': { sub: 'carol', act: { sub: 'carol' } },
    'the actor is the subject': { sub: 'alice' },
    'more than 3 in the chain': chained('bob', 'carol', 'dave', 'erin'),
  }).map(([reason, actor]) =>
    bearers(`E69, ${reason}`, {
      ...actors('E69, may not act'),
      ...receivedTokens([peopleAre(actor), sends(), tokenRefused(reason)]),
    }),
  ),
  bearers('E70', {
    ...actors([
      token({ aud: 'https://elsewhere.example.com', client_id: 'web' }),
      sends(),
      succeeds(),
      recordSays({ state: 'consumed', actor: { sub: 'bob', clientId: 'web' } }),
    ]),
    ...receivedTokens('they are compared: §8.2'),
  }),
]

const targets = [
  everyDoor('E72', [send({ scope: 'orders:read unknown' }), succeeds({ scope: 'orders:read' }), spent]),
  everyDoor('E73', [
    issuedWith({ scope: 'orders:read profile' }),
    send({ scope: 'orders:read orders:write' }),
    succeeds({ scope: 'orders:read' }),
    spent,
  ]),
  everyDoor('E74', [
    storedAs(scoped),
    send({ scope: 'profile orders:read' }, by(scoped)),
    succeeds({ scope: 'orders:read' }),
    spent,
  ]),
  everyDoor('E75', [
    send({ scope: 'offline_access orders:read' }),
    succeeds({ scope: 'orders:read' }),
    spent,
  ]),
  everyDoor('E76, no one acts', [
    send({ scope: 'openid orders:read' }),
    succeeds({ scope: 'orders:read' }),
    spent,
  ]),
  doors('E76, someone acts', {
    'a subject token': [
      send(async (scene) => ({ scope: 'openid', ...(await actedBy()(scene)) })),
      succeeds({ scope: 'openid' }),
      spent,
    ],
    ...received('an API never gets it: §8.3'),
  }),
  doors('E76, someone acts, and no one may act through them', {
    'a subject token': [
      on('one person deep'),
      send(async (scene) => ({ scope: 'openid', ...(await actedBy()(scene)) })),
      nothingToGrant,
    ],
    ...received('an API never gets it: §8.3'),
  }),
  everyDoor('E44 E77, none of them', [send({ scope: 'unknown offline_access' }), nothingToGrant]),
]

const responses = [
  everyResponse('E78 E79 E80 E81 E82 E83', (target) => [
    passes(0),
    send({ ...target, scope: 'orders:read' }),
    succeeds({
      access_token: (value: unknown) => typeof value === 'string',
      issued_token_type: ACCESS_TOKEN_TYPE,
      token_type: 'Bearer',
      expires_in: 600,
      scope: 'orders:read',
    }),
    ({ response }) => expect(response.headers.get('cache-control')).to.equal('no-store'),
    tokenSays({ sub: 'alice' }),
    spent,
  ]),
  everyResponse('E81, with a proof', (target) => [
    send(target, proven),
    succeeds({ token_type: 'DPoP' }),
    spent,
  ]),
  everyResponse('E83, none was granted', (target) => [send(target), succeeds({ scope: undefined }), spent]),
]

declareCells('E', [
  ...requests,
  ...ORDER,
  ...writing,
  ...once,
  ...spending,
  ...errors,
  ...subjects,
  ...oneText,
  ...actorTokens,
  ...targets,
  ...forms,
  ...responses,
])
