/** The mistakes that the naive server can make on purpose, and the checks that each of them must turn red. */
import type { Deviation } from '../../src/deviations.ts'

/** The three ways the naive server is run. */
export type Mode = 'impersonation' | 'access-tokens' | 'on-behalf-of'

interface Planted {
  /** What the author of such a server got wrong. */
  readonly mistake: string
  /** The ids of the checks that see it, in each mode; no other check may turn red. */
  readonly red: Readonly<Partial<Record<Mode, readonly string[]>>>
  /** The named deviations that the report must mention. */
  readonly deviations?: readonly Deviation[]
}

const everywhere = (...ids: string[]): Planted['red'] => ({
  impersonation: ids,
  'access-tokens': ids,
  'on-behalf-of': ids,
})

/** Checks of both roles, where the mode has them. Subject tokens of the impersonation mode are opaque. */
const jwtTokens = (...names: string[]): Planted['red'] => ({
  impersonation: names.map((name) => `actor.${name}`),
  'access-tokens': names.flatMap((name) => [`subject.${name}`, `actor.${name}`]),
  'on-behalf-of': names.map((name) => `subject.${name}`),
})

const anyTokens = (...names: string[]): Planted['red'] => ({
  ...jwtTokens(...names),
  impersonation: names.flatMap((name) => [`subject.${name}`, `actor.${name}`]),
})

const FORGERIES = [
  'payload-changed',
  'unsigned',
  'alg-none',
  'hmac-with-public-key',
  'foreign-key',
  'embedded-key',
  'zero-signature',
]
const UNUSABLE = [
  'expired',
  'just-expired',
  'revoked',
  'other-issuer',
  'id-token',
  'refresh-token',
  'client',
  'user-gone',
]
const ACTOR_REFUSALS = [
  ...['unknown', 'altered', ...UNUSABLE, ...FORGERIES].map((name) => `actor.${name}`),
  'delegation.bad-actor-never-ignored',
  'dpop.bound-actor',
]
const ACT = ['delegation.act', 'delegation.act-not-sent', 'chains.nested', 'introspection.act']
const TYPES = [
  'request.subject-type-unknown',
  ...['id-token', 'refresh-token', 'saml'].map((name) => `request.subject-declared-${name}`),
]
const REPEATED = ['grant-type', 'subject-token', 'subject-token-type', 'scope', 'requested-token-type'].map(
  (name) => `request.${name}-repeated`,
)
const OPAQUE = ['opaque.issued', 'introspection.active', 'mtls.introspection']
const SUB = ['token.subject', 'token.not-the-client', 'introspection.active']
const PROOFS = [
  'url',
  'method',
  'old',
  'future',
  'id-missing',
  'type',
  'signature',
  'private-key',
  'symmetric',
  'unsigned',
  'malformed',
].map((name) => `dpop.${name}`)

const FAULTS = {
  reusable: {
    mistake: 'The subject token is never spent.',
    red: { impersonation: ['single-use.second-use', 'single-use.race', 'single-use.replay-ends-token'] },
  },
  race: {
    mistake: 'The subject token is read, and marked as spent a moment later.',
    red: { impersonation: ['single-use.race'] },
  },
  'spent-too-early': {
    mistake: 'The subject token is spent before the request has been checked.',
    red: { impersonation: ['single-use.refusal-spends-nothing'] },
  },
  'replay-unnoticed': {
    mistake: 'A second use is refused, and the token of the first one stays valid.',
    red: { impersonation: ['single-use.replay-ends-token'] },
  },
  'act-from-claims': {
    mistake: 'The function for custom claims may set act.',
    red: {
      impersonation: [...ACT, 'delegation.impersonation'],
      'access-tokens': [...ACT, 'delegation.impersonation'],
      'on-behalf-of': ['on-behalf-of.act', 'on-behalf-of.chain'],
    },
  },
  'act-missing': {
    mistake: 'The actor token is verified, and then forgotten.',
    red: {
      impersonation: ACT,
      'access-tokens': ACT,
      'on-behalf-of': ['on-behalf-of.act', 'on-behalf-of.chain'],
    },
  },
  'act-from-parameters': {
    mistake: 'Parameters of the request are copied into the claims.',
    red: {
      impersonation: ['delegation.act-not-sent'],
      'access-tokens': ['delegation.act-not-sent'],
    },
  },
  'act-with-everything': {
    mistake: 'The whole payload of the actor token becomes act.',
    red: { impersonation: ['delegation.act-identity'], 'access-tokens': ['delegation.act-identity'] },
  },
  'chain-dropped': {
    mistake: 'The actors before the newest one are dropped.',
    red: {
      impersonation: ['chains.nested'],
      'access-tokens': ['chains.nested'],
      'on-behalf-of': ['on-behalf-of.chain'],
    },
  },
  'chain-reversed': {
    mistake: 'The newest actor is put innermost.',
    red: {
      impersonation: ['chains.nested'],
      'access-tokens': ['chains.nested'],
      'on-behalf-of': ['on-behalf-of.chain'],
    },
  },
  'subject-and-actor-swapped': {
    mistake: 'sub becomes the actor, and act the user.',
    red: { impersonation: [...ACT, 'delegation.subject'], 'access-tokens': [...ACT, 'delegation.subject'] },
  },
  'bad-actor-ignored': {
    mistake: 'An actor token that fails verification is treated as if none had been sent.',
    red: { impersonation: ACTOR_REFUSALS, 'access-tokens': ACTOR_REFUSALS },
  },
  'actor-constraint-ignored': {
    mistake: 'The subject token says who may act, and the exchange does not look.',
    red: { impersonation: ['delegation.may-act'] },
  },
  'audience-ignored': {
    mistake: 'The parameter audience is ignored.',
    red: everywhere('target.unknown-audience'),
  },
  'audience-copied': {
    mistake: 'The parameter audience is copied into the token.',
    red: everywhere('target.unknown-audience', 'target.audience-not-copied'),
  },
  'first-resource-only': {
    mistake: 'Of several resources the first one is taken.',
    red: everywhere('target.two-resources', 'target.two-known-resources'),
  },
  'resource-by-prefix': {
    mistake: 'Resources are compared by how they begin.',
    red: everywhere('target.fragment', 'target.look-alike'),
  },
  'resource-ignored': {
    mistake: 'An unknown resource falls back to the default one.',
    red: everywhere(
      'target.unknown-resource',
      'target.relative',
      'target.fragment',
      'target.look-alike',
      'target.two-resources',
      'target.order-of-two',
    ),
  },
  'forbidden-target': {
    mistake: 'A refused target is 403, as a refused page is.',
    red: everywhere(
      'target.unknown-resource',
      'target.unknown-audience',
      'target.relative',
      'target.fragment',
      'target.look-alike',
      'target.two-resources',
      'target.two-known-resources',
      'target.order-of-two',
    ),
  },
  'own-audience-too': {
    mistake: 'The token is also for the authorization server itself.',
    red: everywhere('target.audience'),
  },
  'other-resource-accepted': {
    mistake: 'The resource that the subject token is limited to is not compared.',
    red: { impersonation: ['subject.other-resource'] },
  },
  'scope-by-substring': {
    mistake: 'A scope is looked up with includes() in the text of the permitted ones.',
    red: everywhere('scope.part-of-a-name'),
  },
  'scope-without-case': {
    mistake: 'Scopes are compared without case.',
    red: everywhere('scope.case'),
  },
  'scope-growth': {
    mistake: 'The scope of the subject token is not a limit.',
    red: everywhere('scope.ceiling'),
  },
  'scope-by-default': {
    mistake: 'A request without scope gets all scopes of the resource.',
    red: everywhere('scope.ceiling-of-default'),
  },
  'all-scopes': {
    mistake: 'Whatever is requested, all scopes of the resource are granted.',
    red: everywhere('scope.narrowed', 'scope.ceiling', 'scope.ceiling-of-default', 'introspection.active'),
  },
  'any-scope': {
    mistake: 'Whatever is requested is granted.',
    red: everywhere('scope.unknown', 'scope.part-of-a-name', 'scope.case', 'scope.ceiling'),
  },
  'scope-untold': {
    mistake: 'The response never names the scope.',
    red: everywhere('response.scope-told'),
  },
  'signature-ignored': {
    mistake: 'JWTs are decoded, and not verified.',
    red: jwtTokens('altered', ...FORGERIES),
  },
  'alg-none': {
    mistake: 'The library accepts the algorithm none.',
    red: jwtTokens('alg-none'),
  },
  'hmac-confusion': {
    mistake: 'The algorithm of the header decides, and the public key is the only key there is.',
    red: jwtTokens('hmac-with-public-key'),
  },
  'embedded-key': {
    mistake: 'The key in the header of the JWT is used.',
    red: jwtTokens('embedded-key'),
  },
  'zero-signature': {
    mistake: 'The ECDSA implementation does not guard against zeros.',
    red: jwtTokens('zero-signature'),
  },
  'issuer-ignored': {
    mistake: 'iss is not compared, because the signature was right.',
    red: anyTokens('other-issuer'),
  },
  'expiry-ignored': {
    mistake: 'exp is not looked at.',
    red: anyTokens('expired', 'just-expired'),
  },
  tolerance: {
    mistake: 'A clock tolerance of a minute applies to tokens of the server itself.',
    red: anyTokens('just-expired'),
  },
  'revocation-ignored': {
    mistake: 'A valid signature is enough: revoked tokens pass.',
    red: anyTokens('revoked'),
  },
  'id-token-accepted': {
    mistake: 'Every JWT with the right signature and issuer passes for an access token.',
    red: jwtTokens('id-token'),
  },
  'refresh-token-accepted': {
    mistake: 'The token is looked up in all tables.',
    red: anyTokens('refresh-token'),
  },
  'client-token-accepted': {
    mistake: "A client's own token passes for a user's.",
    red: jwtTokens('client'),
  },
  'gone-user-accepted': {
    mistake: 'The account is not looked up.',
    red: anyTokens('user-gone'),
  },
  'other-client-accepted': {
    mistake: 'A subject token may be exchanged by any client.',
    red: { impersonation: ['subject.other-client'], 'access-tokens': ['subject.other-client'] },
  },
  'subject-audience-ignored': {
    mistake: 'An API may exchange any token that it got hold of.',
    red: { 'on-behalf-of': ['subject.other-audience', 'on-behalf-of.child-is-its-own'] },
  },
  'lives-longer': {
    mistake: 'The new token gets a full life, however short that of its parent is.',
    red: { 'on-behalf-of': ['on-behalf-of.expiry'] },
  },
  'parent-audience-kept': {
    mistake: 'The audience of the subject token is added to that of the new one.',
    red: {
      'access-tokens': ['target.audience', 'introspection.active'],
      'on-behalf-of': ['target.audience', 'introspection.active', 'on-behalf-of.audience'],
    },
  },
  oracle: {
    mistake: 'The refusal says what is wrong with the token.',
    red: everywhere('errors.no-oracle'),
  },
  'token-in-error': {
    mistake: 'The refusal quotes the token.',
    red: everywhere('errors.no-token', 'errors.no-oracle'),
  },
  'stack-in-error': {
    mistake: 'The refusal shows the stack.',
    red: everywhere('errors.no-internals'),
  },
  'error-form': {
    mistake: 'Refusals are declared as text.',
    red: everywhere('errors.json'),
  },
  'html-error': {
    mistake: 'Where no grant is found, the page of the web framework appears.',
    red: everywhere(
      'errors.json',
      'errors.no-store',
      'request.grant-type-missing',
      'request.grant-type-case',
    ),
  },
  'invalid-grant': {
    mistake: 'The error for bad tokens is invalid_grant. Many servers do so: it is a named deviation.',
    red: {},
    deviations: ['invalid-grant'],
  },
  'one-code': {
    mistake: 'Every refusal is invalid_request.',
    red: {},
    deviations: [
      'grant-not-allowed',
      'target-as-invalid-request',
      'scope-as-invalid-request',
      'dpop-as-invalid-request',
    ],
  },
  'requested-type-ignored': {
    mistake: 'requested_token_type is ignored, and the response says what was issued instead.',
    red: {},
    deviations: ['requested-type-not-honoured'],
  },
  'no-pragma': {
    mistake: 'Pragma, which HTTP has deprecated, is left out.',
    red: {},
    deviations: ['no-pragma'],
  },
  'quotes-in-error': {
    mistake: 'The error description holds quotes.',
    red: everywhere('errors.characters'),
  },
  'error-cached': {
    mistake: 'Refusals may be cached.',
    red: everywhere('errors.no-store'),
  },
  'response-cached': {
    mistake: 'The response may be cached.',
    red: everywhere('response.no-store'),
  },
  'response-form': {
    mistake: 'The response is declared as text.',
    red: everywhere('response.json'),
  },
  'no-issued-token-type': {
    mistake: 'The response has the members that every other grant has.',
    red: everywhere('response.issued-token-type', 'request.requested-type'),
  },
  'no-token-type': {
    mistake: 'token_type is N_A although the token is an access token.',
    red: everywhere('response.token-type', 'dpop.binds'),
  },
  'no-expires-in': {
    mistake: 'expires_in is left out.',
    red: everywhere('response.expires-in', 'response.expiry-true'),
  },
  'expires-in-untrue': {
    mistake: 'expires_in is a constant that no one has compared with exp.',
    red: everywhere('response.expiry-true'),
  },
  'refresh-token-issued': {
    mistake: 'A refresh token comes along, as with every other grant.',
    red: everywhere('response.no-refresh-token', 'response.no-refresh-by-scope'),
  },
  'refresh-by-scope': {
    mistake: 'offline_access brings a refresh token.',
    red: everywhere('response.no-refresh-by-scope'),
  },
  'types-ignored': {
    mistake: 'The types that the request declares are not looked at.',
    red: {
      impersonation: [...TYPES, 'delegation.actor-declared-id-token'],
      'access-tokens': [...TYPES, 'delegation.actor-declared-id-token'],
      'on-behalf-of': TYPES,
    },
  },
  'type-optional': {
    mistake: 'subject_token_type may be left out.',
    red: everywhere('request.subject-type-missing'),
  },
  'actor-pair-ignored': {
    mistake: 'actor_token and its type are read one without the other.',
    red: {
      impersonation: ['request.actor-token-missing', 'request.actor-type-missing'],
      'access-tokens': ['request.actor-token-missing', 'request.actor-type-missing'],
      'on-behalf-of': ['request.actor-token-missing'],
    },
  },
  'requested-type-lied': {
    mistake: 'issued_token_type repeats what was requested.',
    red: everywhere('request.requested-type-unknown'),
  },
  'repeats-accepted': {
    mistake: 'Of a repeated parameter the first value is taken.',
    red: {
      impersonation: [...REPEATED, 'delegation.actor-repeated'],
      'access-tokens': [...REPEATED, 'delegation.actor-repeated'],
      'on-behalf-of': REPEATED,
    },
  },
  'query-accepted': {
    mistake: 'Parameters of the address count as those of the body.',
    red: everywhere('request.by-get', 'request.token-in-query'),
  },
  'unknown-parameter-refused': {
    mistake: 'Parameters that the server does not know are an error.',
    red: everywhere('request.unknown-parameter'),
  },
  'crash-on-odd-input': {
    mistake: 'An odd character in a token is an unhandled exception.',
    red: everywhere('request.odd-characters'),
  },
  'any-client': {
    mistake: 'A client id is enough: the secret is not compared.',
    red: everywhere('client.no-credentials', 'client.wrong-secret'),
  },
  'grant-unchecked': {
    mistake: 'Every client may exchange.',
    red: everywhere('client.without-grant'),
  },
  'wrong-client-id': {
    mistake: 'client_id is the client of the subject token.',
    red: everywhere('jwt.client', 'introspection.active'),
  },
  'sub-is-client': {
    mistake: 'sub is the client that exchanged.',
    red: {
      impersonation: [...SUB, 'delegation.subject', 'delegation.act-not-sent'],
      'access-tokens': [...SUB, 'delegation.subject', 'delegation.act-not-sent'],
      'on-behalf-of': SUB,
    },
  },
  'plain-jwt': {
    mistake: 'The header says typ JWT.',
    red: everywhere('jwt.type'),
  },
  'no-jti': {
    mistake: 'Tokens have no jti.',
    red: everywhere('jwt.claims', 'jwt.id-unique'),
  },
  'same-jti': {
    mistake: 'jti is a constant.',
    red: everywhere('jwt.id-unique'),
  },
  'symmetric-tokens': {
    mistake: 'Access tokens are signed with a shared secret.',
    red: everywhere('jwt.signature', 'jwt.algorithm'),
  },
  'issuer-with-slash': {
    mistake: 'iss ends with a slash, the issuer of the metadata does not.',
    red: everywhere('jwt.issuer'),
  },
  milliseconds: {
    mistake: 'Times are milliseconds.',
    red: {
      impersonation: ['response.expiry-true', 'jwt.times'],
      'access-tokens': ['response.expiry-true', 'jwt.times'],
      'on-behalf-of': ['response.expiry-true', 'jwt.times', 'on-behalf-of.expiry'],
    },
  },
  'subject-token-inside': {
    mistake: 'The subject token is kept in the new one, for reference.',
    red: everywhere('token.no-subject-token'),
  },
  'short-tokens': {
    mistake: 'Opaque tokens are counted up.',
    red: everywhere('opaque.unguessable'),
  },
  'introspection-open': {
    mistake: 'Introspection asks for no credentials.',
    red: everywhere('introspection.unauthenticated'),
  },
  'introspection-talks': {
    mistake: 'Introspection says why a token is not active.',
    red: everywhere('introspection.unknown'),
  },
  'introspection-without-act': {
    mistake: 'Introspection leaves the actor out.',
    red: { impersonation: ['introspection.act'], 'access-tokens': ['introspection.act'] },
  },
  'introspection-of-permissions': {
    mistake: 'Introspection shows every string that the server has issued as active.',
    red: { impersonation: ['introspection.subject-token'] },
  },
  'cnf-dropped': {
    mistake: 'The proof is verified, and the new token is not bound.',
    red: everywhere('dpop.binds'),
  },
  'child-unbound': {
    mistake: 'A bound subject token is exchanged for one that is bound to nothing.',
    red: { 'on-behalf-of': ['on-behalf-of.binding-kept'] },
  },
  'bound-as-bearer': {
    mistake: 'A bound token is accepted without its key.',
    red: { impersonation: ['dpop.bound-actor'], 'access-tokens': ['dpop.bound-subject', 'dpop.bound-actor'] },
  },
  'proof-replayed': {
    mistake: 'Proofs are not remembered.',
    red: everywhere('dpop.replay', 'dpop.replay-race'),
  },
  'proof-ignored-if-bad': {
    mistake: 'A proof that fails verification is treated as if none had been sent.',
    red: everywhere(...PROOFS, 'dpop.replay', 'dpop.replay-race'),
  },
  'proof-not-compared': {
    mistake: 'The address and the method of a proof are not compared.',
    red: everywhere('dpop.url', 'dpop.method'),
  },
  'proof-ageless': {
    mistake: 'The age of a proof is not looked at.',
    red: everywhere('dpop.old', 'dpop.future'),
  },
  'binding-optional': {
    mistake: 'A client that is registered for bound tokens gets others, too.',
    red: everywhere('dpop.required', 'mtls.required'),
  },
  'certificate-forgotten': {
    mistake: 'The certificate authenticates the client, and the token is not bound to it.',
    red: everywhere('mtls.binds'),
  },
  'grant-unlisted': {
    mistake: 'The metadata does not list the grant.',
    red: everywhere('metadata.grant-types'),
  },
  'everything-refused': {
    mistake: 'The grant is registered, and nothing behind it works.',
    red: everywhere('request.accepted'),
  },
  'actors-refused': {
    mistake: 'An exchange with an actor token never works.',
    red: {
      impersonation: ['delegation.accepted', 'dpop.bound-actor'],
      'access-tokens': ['delegation.accepted', 'dpop.bound-actor'],
    },
  },
  'crash-without-subject': {
    mistake: 'A request without a subject token is an unhandled exception.',
    red: everywhere(
      'request.subject-token-missing',
      'request.subject-token-empty',
      'request.token-in-query',
      'errors.json',
      'errors.no-store',
    ),
  },
  'crash-on-long-input': {
    mistake: 'A long token does not fit into the column.',
    red: everywhere('request.oversized-token'),
  },
  'unknown-client-accepted': {
    mistake: 'A client that is not registered is treated as a new one.',
    red: everywhere('client.unknown'),
  },
  'token-cached': {
    mistake: 'The response to the same request comes from a cache.',
    red: everywhere('response.tokens-differ', 'jwt.id-unique'),
  },
  'unknown-is-401': {
    mistake: 'An unknown subject token is 401 invalid_token, as an unknown access token is at an API.',
    red: {
      impersonation: ['subject.unknown', 'subject.altered', 'subject.refresh-token', 'errors.no-oracle'],
    },
  },
  'one-scope-only': {
    mistake: 'The whole scope parameter is looked up as one name.',
    red: everywhere('scope.as-asked'),
  },
  'scope-not-in-token': {
    mistake: 'The response names a scope, and the token has none.',
    red: everywhere('scope.token-agrees', 'introspection.active'),
  },
  'jwt-everywhere': {
    mistake: 'The format of the resource is not looked at.',
    red: {
      impersonation: [...OPAQUE, 'introspection.act', 'single-use.replay-ends-token'],
      'access-tokens': [...OPAQUE, 'introspection.act'],
      'on-behalf-of': OPAQUE,
    },
  },
  'introspection-cached': {
    mistake: 'Introspection may be cached.',
    red: everywhere('introspection.no-store'),
  },
  'introspection-without-cnf': {
    mistake: 'Introspection does not show the key of a bound token.',
    red: everywhere('dpop.introspection', 'mtls.introspection'),
  },
  'cnf-copied': {
    mistake: "The new token is bound to its parent's key, which the API does not have.",
    red: { 'on-behalf-of': ['on-behalf-of.binding-proven'] },
  },
  'metadata-of-another-host': {
    mistake: 'The metadata names the host behind the proxy.',
    red: everywhere('metadata.issuer', 'metadata.token-endpoint'),
  },
} as const satisfies Readonly<Record<string, Planted>>

export type Fault = keyof typeof FAULTS
export const FAULT_NAMES = Object.keys(FAULTS) as Fault[]
export const planted = (fault: Fault): Planted => FAULTS[fault]
