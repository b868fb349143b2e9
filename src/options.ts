import type { Account } from 'oidc-provider'
import type { Seconds } from './base/clock.ts'
import {
  frozenCopy,
  isPlainJson,
  isPlainObject,
  isResourceIndicator,
  type JsonObject,
  refuseUnknown,
} from './base/json.ts'
import type { SubjectTokenPurpose } from './tokens/secret.ts'
import { isSubjectTokenStore, STORE_METHODS, type SubjectTokenStore } from './tokens/store.ts'
import { type ActClaim, LONGEST_LIFE } from './tokens/subject-token.ts'

/**
 * The request that `isAllowed` decides. Frozen, except `account`. All ids are account ids and client ids, never pairwise.
 * `stage` tells the two apart.
 */
export type PolicyRequest = ImpersonationPolicyRequest | OnBehalfOfPolicyRequest

/** A subject token, when it is issued and when it is exchanged. */
export interface ImpersonationPolicyRequest {
  /**
   * `issuance`: a subject token has been requested. `exchange`: an access token is about to be granted. `session`: an
   * engineer is at the door, or signs in as the user.
   */
  readonly stage: 'issuance' | 'exchange' | 'session'
  /** The use of the subject token. */
  readonly use: SubjectTokenPurpose
  /** Account id of the user to become. */
  readonly userId: string
  /** The user's account, as `findAccount` returned it. */
  readonly account: Account
  /** Who will act as the user. Absent if no actor is known. */
  readonly actor?: {
    readonly sub: string
    /** The client that the actor token was issued to. Absent at issuance. */
    readonly clientId?: string
    /** Every audience of the actor token, `[]` for none: each of them has seen it. Absent at issuance. */
    readonly audiences?: readonly string[]
    /** The earlier actors (RFC 8693 §4.1). Absent at issuance. */
    readonly act?: ActClaim
    /** When the engineer signed in, in seconds since the epoch. At `session` only. */
    readonly authTime?: Seconds
    /** How: the `acr` of the engineer's session, if it has one. At `session` only. */
    readonly acr?: string
    /** `true` if an actor token proved it, or a sign-in; at issuance it is only the constraint `actorId`. */
    readonly verified: boolean
  }
  /** The client that exchanges; at issuance the constraint, if any. */
  readonly client?: { readonly id: string }
  /** The backend that requested the subject token. */
  readonly createdBy: { readonly id: string }
  /** The context as the backend sent it. */
  readonly context: JsonObject
  /** The resource of the access token; at issuance the constraint, if any, as it was sent. */
  readonly resource?: string | readonly string[]
  /** The resources that will be granted, `[]` for none. Present when someone signs in as the user, and not yet at the door. */
  readonly resources?: readonly string[]
  /**
   * The claims of the user that the OpenID Connect parameter `claims` will bring, whatever the scopes bring; `[]` for none.
   * Present when someone signs in as the user, and not yet at the door.
   */
  readonly claims?: readonly string[]
  /** The scopes that will be granted, if any; at issuance the constraint, if any. */
  readonly scope?: string
  /** The tokens and the session that come of it change nothing. Absent: they may. */
  readonly readOnly?: true
}

/**
 * An API exchanges an access token that it received, to call another API for the same user. The last four members are
 * there if the token began as an impersonation; without them it is the user's own.
 */
export interface OnBehalfOfPolicyRequest {
  readonly stage: 'onBehalfOf'
  /** Account id of the user. */
  readonly userId: string
  /** The user's account, as `findAccount` returned it. */
  readonly account: Account
  /** The newest person who acts as the user, proven when the impersonation began. Absent without one. */
  readonly actor?: {
    readonly sub: string
    /** The client that the actor token was issued to. */
    readonly clientId?: string
    /** Absent: the actor token was sent when the impersonation began. */
    readonly audiences?: undefined
    /** The earlier actors (RFC 8693 §4.1). */
    readonly act?: ActClaim
    readonly verified: true
  }
  /** The API that exchanges: its client. */
  readonly client: { readonly id: string }
  /** The APIs that passed the user on before, newest first: their client ids. `[]` for the first one. */
  readonly through: readonly string[]
  /** The access token that the API received. */
  readonly subjectToken: {
    /** The client that it was issued to. */
    readonly clientId: string
    readonly audience: string
    readonly scope?: string
    /** Whether it is bound to a key. The new token then is, too. */
    readonly bound: boolean
  }
  /** The resource of the new access token. */
  readonly resource: string
  /** The scopes that will be granted, if any. */
  readonly scope?: string
  /** The backend that requested the subject token. */
  readonly createdBy?: { readonly id: string }
  /** The context as the backend sent it. */
  readonly context?: JsonObject
  /** The public id of the record. */
  readonly subjectTokenId?: string
  /** The use of the subject token. */
  readonly use?: SubjectTokenPurpose
  /** The subject token was read-only, and so is all that comes of it. */
  readonly readOnly?: true
}

/** The argument of `getCustomJwtClaims`. Frozen. */
export interface CustomClaimsRequest {
  /** The access token as it will be issued. `jti` for JWTs only: the id of an opaque token is its value. */
  readonly token: {
    readonly jti?: string
    readonly sub: string
    /** The resource; for a session those that were granted, `[]` for none. */
    readonly aud: string | readonly string[]
    readonly scope?: string
    readonly clientId: string
    readonly iat: Seconds
    /** The end of the token, or of the session. */
    readonly exp: Seconds
  }
  /** Who exchanges what: account ids and client ids, never pairwise. `actor` if a person acts. */
  readonly context: {
    readonly grant: {
      readonly type: string
      /**
       * `onBehalfOf`: an API exchanges an access token that it received. `session`: someone signs in as the user; the
       * claims go into every access token of the session.
       */
      readonly kind: 'impersonation' | 'onBehalfOf' | 'session'
      /** The public id of the record, so that a claim can name it. Absent for what did not begin as an impersonation. */
      readonly subjectTokenId?: string
      /** `{}` for what did not begin as an impersonation. */
      readonly subjectTokenContext: JsonObject
      /** The token will have the claim `read_only`. */
      readonly readOnly?: true
      /** The APIs that passed the user on before, newest first: their client ids. Only with the kind `onBehalfOf`. */
      readonly through?: readonly string[]
      /** The claims of the received token that are not reserved. Only with the kind `onBehalfOf`. */
      readonly subjectTokenClaims?: JsonObject
    }
    readonly user: { readonly id: string }
    readonly client: { readonly id: string }
    readonly actor?: { readonly sub: string; readonly clientId?: string }
  }
  /** The option of that name. */
  readonly environmentVariables: JsonObject
}

/** The options of `createImpersonation`. Durations are whole seconds. A wrong or unknown option is a `TypeError`. */
export interface ImpersonationOptions {
  /** Where subject tokens and their records are kept. Required. */
  readonly store: SubjectTokenStore

  /**
   * The resource that a management token must be for (RFC 8707), and the start of `Location`: an absolute URI without
   * query and fragment. Default: the issuer without a trailing `/` and `/oidc`, followed by `/api`.
   */
  readonly managementResource?: string

  /**
   * Life of a subject token when the request names none, in seconds, 1 … `maxSubjectTokenTTL`. Default 600, or
   * `maxSubjectTokenTTL` if that is shorter.
   */
  readonly subjectTokenTTL?: Seconds

  /** Longest life of a subject token that a request may name, in seconds, 1 … 86400. Default 3600. */
  readonly maxSubjectTokenTTL?: Seconds

  /** Longest life of an access token from an exchange, in seconds, 1 … 86400. Default 900. */
  readonly maxAccessTokenTTL?: Seconds

  /** Whether an exchange without an actor token is refused (`invalid_request`). Default `false`. */
  readonly requireActor?: boolean

  /**
   * The value of a subject token's `readOnly` if the request has none. A read-only one is only exchanged for resources, and
   * only opens applications, that have declared that they obey it. Default `false`.
   */
  readonly readOnly?: boolean

  /** How many actors an `act` chain may hold, 1 … 10. Default 1: a token with `act` cannot act again. */
  readonly maxDelegationDepth?: number

  /**
   * Status lists, by which an API learns that a JWT was stopped before it expires. `ttl`: how long an
   * API may use a list before it fetches it again, in seconds, 5 … 300, default 30. `uri`: the http(s) address under which
   * APIs reach the lists, default `{managementResource}/status-lists`. `false`: JWTs carry no `status` and no lists are
   * served. Tokens that were issued under another `uri` are not found any more.
   */
  readonly statusList?: { readonly ttl?: Seconds; readonly uri?: string } | false

  /**
   * Leeway for applications whose requests may be sent twice: a use of a spent subject token by the same client, which
   * authenticates (not `token_endpoint_auth_method: none`, because its id is no secret), within this time after the
   * exchange is refused and told by its event, but ends nothing and is not on the record. In seconds, 0 … 60.
   * Default 0: every such use ends what the exchange produced.
   */
  readonly replayLeeway?: Seconds

  /**
   * Whether an API may exchange an access token that it received for one of another API, of the same user. Such a client
   * is registered with `token_exchange_audiences` and `token_exchange_resources`. `hops`: how many APIs may pass the user
   * on one after the other, 1 … 10, default 1. `true` is `{}`. Needs `statusList`. Default `false`.
   */
  readonly onBehalfOf?: boolean | { readonly hops?: number }

  /**
   * Sessions: a subject token that was issued with `use: 'session'` opens an application, which is signed in as the user
   * for minutes. Needs `statusList`, a store that has `sessions`, a `maxAccessTokenTTL` of at least 60, and of the
   * provider `cookies.keys`, `features.backchannelLogout` and `features.rpInitiatedLogout`. Default: off.
   */
  readonly sessions?: SessionOptions

  /**
   * Keys that every `context` must hold, and that must not be blank. A missing one is refused by name at issuance
   * (400) and denied at the exchange (`access_denied`), because this option may have changed since. Default `[]`.
   */
  readonly requiredContext?: readonly string[]

  /**
   * Your policy, called at issuance and again at the exchange, and with `onBehalfOf` for every step. `true` allows, `false` denies (`access_denied`). Throw
   * `AccessDenied` to deny with a reason for the operator. Any other error, any other value, or taking longer than
   * `customClaimsTimeout` is a 500 and spends nothing. Default: everything is allowed.
   */
  readonly isAllowed?: (request: PolicyRequest) => boolean | Promise<boolean>

  /**
   * Claims for the access token, called once for each exchange, before the subject token is spent. Returns an object
   * of plain JSON without reserved claims, `{}` for none. Throw `AccessDenied` to deny (`access_denied`). Any other
   * error, any other value, or taking longer than `customClaimsTimeout` is a 500 and spends nothing. Default: no
   * claims.
   */
  readonly getCustomJwtClaims?: (request: CustomClaimsRequest) => object | Promise<object>

  /** Passed to `getCustomJwtClaims` as it is: an object of JSON values. Default `{}`. */
  readonly environmentVariables?: JsonObject

  /**
   * Time limit of `getCustomJwtClaims`, and of `isAllowed` and the provider's own `extraTokenClaims` too, each call on
   * its own: in seconds, 1 … 60. Exceeding it is a 500 that spends nothing. It also limits `findAccount` when a list or
   * a kill switch asks for the account behind a name; exceeding it then counts as no account. Default 5.
   */
  readonly customClaimsTimeout?: Seconds
}

/** How a person is shown instead of an account id: a name, or a name and an http(s) address that leads to them. */
export type PersonName = string | { readonly name: string; readonly url?: string }

/** The option `sessions`. */
export interface SessionOptions {
  /**
   * Where subject tokens are brought: an absolute URL on the origin of the issuer, without query and fragment, and with a
   * path that the provider does not serve. `router` and `handler` serve this path. Required.
   */
  readonly door: string
  /** How long a session lasts, in seconds, 60 … `maxAccessTokenTTL`. Default `maxAccessTokenTTL`. */
  readonly ttl?: Seconds
  /** How long ago the engineer may have signed in when the door is used, in seconds, 1 … 2592000. Default 43200. */
  readonly maxAge?: Seconds
  /** The engineer's session must have one of these as its `acr`; the door's sign-in asks for them. Default: any. */
  readonly acrValues?: readonly string[]
  /**
   * Names for account ids: those of the user and of the engineer on the page of the door. Those that are missing in the map
   * are shown as ids, and so are all if it throws, returns no `Map`, or takes longer than a second. Default: ids.
   */
  readonly nameOf?: (
    ids: readonly string[],
  ) => ReadonlyMap<string, PersonName> | Promise<ReadonlyMap<string, PersonName>>
}

/** The option `sessions`, complete and checked. */
export interface ResolvedSessions extends Required<Omit<SessionOptions, 'nameOf' | 'door'>> {
  readonly door: URL
  readonly nameOf: SessionOptions['nameOf']
}

/** The options as everything behind this file sees them: complete, checked and frozen. */
export interface ResolvedOptions
  extends Required<
      Omit<
        ImpersonationOptions,
        'managementResource' | 'statusList' | 'onBehalfOf' | 'sessions' | 'isAllowed' | 'getCustomJwtClaims'
      >
    >,
    Pick<ImpersonationOptions, 'managementResource' | 'isAllowed' | 'getCustomJwtClaims'> {
  readonly statusList: StatusListOptions | false
  readonly onBehalfOf: OnBehalfOfOptions | false
  readonly sessions: ResolvedSessions | undefined
}

/** How far an API passes a user on. */
export interface OnBehalfOfOptions {
  readonly hops: number
}

/** `uri` is absent where it follows from the management resource. */
export interface StatusListOptions {
  readonly ttl: Seconds
  readonly uri?: string
}

const LIFE_RANGE = { from: 1, to: LONGEST_LIFE }

/**
 * Fills in defaults and checks every option.
 *
 * @throws {TypeError} naming the option that is missing, unknown, of a wrong type or out of range.
 */
export function resolveOptions(given: ImpersonationOptions): ResolvedOptions {
  if (!isPlainObject(given)) throw new TypeError('createImpersonation takes an options object')
  const maxSubjectTokenTTL = given.maxSubjectTokenTTL ?? 3600
  const options: ResolvedOptions = {
    store: given.store,
    managementResource: given.managementResource,
    maxSubjectTokenTTL,
    subjectTokenTTL: given.subjectTokenTTL ?? Math.min(600, maxSubjectTokenTTL),
    maxAccessTokenTTL: given.maxAccessTokenTTL ?? 900,
    requireActor: given.requireActor ?? false,
    readOnly: given.readOnly ?? false,
    maxDelegationDepth: given.maxDelegationDepth ?? 1,
    statusList: resolveStatusList(given.statusList ?? {}),
    replayLeeway: given.replayLeeway ?? 0,
    onBehalfOf: resolveOnBehalfOf(given.onBehalfOf ?? false),
    sessions: undefined,
    requiredContext: given.requiredContext ?? [],
    isAllowed: given.isAllowed,
    getCustomJwtClaims: given.getCustomJwtClaims,
    environmentVariables: given.environmentVariables ?? {},
    customClaimsTimeout: given.customClaimsTimeout ?? 5,
  }
  refuseUnknown(Object.keys(given).filter((name) => !Object.hasOwn(options, name)))
  assert(
    isSubjectTokenStore(options.store),
    'store',
    `a SubjectTokenStore (with ${STORE_METHODS.join(', ')})`,
  )
  const { managementResource } = options
  assert(
    managementResource === undefined ||
      (isResourceIndicator(managementResource) && !managementResource.includes('?')),
    'managementResource',
    'an absolute URI without query and fragment',
  )
  assertWhole('maxSubjectTokenTTL', options.maxSubjectTokenTTL, LIFE_RANGE)
  assertWhole('subjectTokenTTL', options.subjectTokenTTL, { from: 1, to: options.maxSubjectTokenTTL })
  assertWhole('maxAccessTokenTTL', options.maxAccessTokenTTL, LIFE_RANGE)
  assertWhole('maxDelegationDepth', options.maxDelegationDepth, { from: 1, to: 10 })
  assertWhole('replayLeeway', options.replayLeeway, { from: 0, to: 60 })
  assertWhole('customClaimsTimeout', options.customClaimsTimeout, { from: 1, to: 60 })
  assert(typeof options.requireActor === 'boolean', 'requireActor', 'a boolean')
  assert(typeof options.readOnly === 'boolean', 'readOnly', 'a boolean')
  assert(isListOf(/./s, options.requiredContext), 'requiredContext', 'an array of non-empty strings')
  assertFunction('isAllowed', options.isAllowed)
  assertFunction('getCustomJwtClaims', options.getCustomJwtClaims)
  // A token that an API passes on must end with the impersonation.
  if (options.onBehalfOf && !options.statusList) throw new TypeError('option onBehalfOf needs statusList')
  assert(
    isPlainObject(options.environmentVariables) && isPlainJson(options.environmentVariables, 16),
    'environmentVariables',
    'an object of JSON values',
  )
  return Object.freeze({
    ...options,
    sessions: given.sessions === undefined ? undefined : resolveSessions(given.sessions, options),
    requiredContext: Object.freeze([...options.requiredContext]),
    environmentVariables: frozenCopy(options.environmentVariables),
  })
}

function resolveStatusList(
  given: NonNullable<ImpersonationOptions['statusList']>,
): StatusListOptions | false {
  if (given === false) return false
  assert(isPlainObject(given), 'statusList', 'an object or false')
  const { ttl = 30, uri, ...others } = given
  refuseUnknown(Object.keys(others), 'statusList.')
  assertWhole('statusList.ttl', ttl, { from: 5, to: 300 })
  assert(
    uri === undefined || isStatusListBase(uri),
    'statusList.uri',
    'an http or https URL without query and fragment',
  )
  return Object.freeze({ ttl, ...(uri !== undefined && { uri }) })
}

function resolveOnBehalfOf(
  given: NonNullable<ImpersonationOptions['onBehalfOf']>,
): OnBehalfOfOptions | false {
  if (given === false) return false
  assert(given === true || isPlainObject(given), 'onBehalfOf', 'a boolean or an object')
  const { hops = 1, ...others } = given === true ? {} : given
  refuseUnknown(Object.keys(others), 'onBehalfOf.')
  assertWhole('onBehalfOf.hops', hops, { from: 1, to: 10 })
  return Object.freeze({ hops })
}

const SHORTEST_SESSION: Seconds = 60
const MONTH: Seconds = 2_592_000

function resolveSessions(given: SessionOptions, options: ResolvedOptions): ResolvedSessions {
  const { maxAccessTokenTTL, statusList, store } = options
  assert(isPlainObject(given), 'sessions', 'an object')
  const { door, ttl = maxAccessTokenTTL, maxAge = 43_200, acrValues = [], nameOf, ...others } = given
  refuseUnknown(Object.keys(others), 'sessions.')
  assert(isDoor(door), 'sessions.door', 'an http or https URL with a plain path, without query and fragment')
  if (!statusList) throw new TypeError('option sessions needs statusList')
  if (!store.sessions) throw new TypeError('option sessions needs a store that has sessions')
  if (maxAccessTokenTTL < SHORTEST_SESSION)
    throw new TypeError(`option sessions needs a maxAccessTokenTTL of at least ${SHORTEST_SESSION}`)
  assertWhole('sessions.ttl', ttl, { from: SHORTEST_SESSION, to: maxAccessTokenTTL })
  assertWhole('sessions.maxAge', maxAge, { from: 1, to: MONTH })
  assert(isListOf(/^[!-~]+$/, acrValues), 'sessions.acrValues', 'an array of strings without spaces')
  assertFunction('sessions.nameOf', nameOf)
  return Object.freeze({ door: new URL(door), ttl, maxAge, acrValues: Object.freeze([...acrValues]), nameOf })
}

/** Its path is served as it is: nothing in it may read as a pattern, and clients may have nothing to resolve. */
function isDoor(value: unknown): value is string {
  if (typeof value !== 'string' || !URL.canParse(value) || !/^https?:\/\//i.test(value)) return false
  const { origin, pathname } = new URL(value)
  return /^(\/[\w\-.~]+)+$/.test(pathname) && value.toLowerCase() === (origin + pathname).toLowerCase()
}

const isListOf = (shape: RegExp, value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((text) => typeof text === 'string' && shape.test(text))

/** An address that a number can follow: APIs compare such addresses character by character. */
export const isStatusListBase = (uri: unknown): boolean =>
  isResourceIndicator(uri) && /^https?:\/\//i.test(uri) && !uri.includes('?') && !uri.endsWith('/')

function assert(condition: boolean, option: string, expected: string): asserts condition {
  if (!condition) throw new TypeError(`option ${option} must be ${expected}`)
}

function assertWhole(option: string, value: unknown, { from, to }: { from: number; to: number }): void {
  const fits = Number.isSafeInteger(value) && Number(value) >= from && Number(value) <= to
  assert(fits, option, `a whole number from ${from} to ${to}`)
}

function assertFunction(option: string, value: unknown): void {
  assert(value === undefined || typeof value === 'function', option, 'a function')
}
