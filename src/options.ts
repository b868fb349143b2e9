import type { Account } from 'oidc-provider'
import type { Seconds } from './clock.ts'
import { frozenCopy, isPlainJson, isPlainObject, type JsonObject } from './plain-json.ts'
import { isResourceIndicator } from './resource-indicator.ts'
import type { SubjectTokenStore } from './subject-tokens/store.ts'
import { type ActClaim, LONGEST_LIFE } from './subject-tokens/subject-token.ts'

/** What `isAllowed` is asked about. All ids are account ids and client ids, never pairwise. */
export interface PolicyRequest {
  /** `issuance`: the constraints of a token about to be made. `exchange`: what is about to be granted. */
  readonly stage: 'issuance' | 'exchange'
  readonly userId: string
  /** What `findAccount` answered for the user. */
  readonly account: Account
  readonly actor?: {
    readonly sub: string
    /** The client the actor token was issued to. */
    readonly clientId?: string
    /** Every audience of the actor token, `[]` for none: each of them has seen it. Absent at issuance. */
    readonly audiences?: readonly string[]
    /** Who acted through the actor before (RFC 8693 §4.1). */
    readonly act?: ActClaim
    /** `true` when an actor token proved it; at issuance it is only the constraint `actorId`. */
    readonly verified: boolean
  }
  readonly client?: { readonly id: string }
  readonly createdBy: { readonly id: string }
  readonly context: JsonObject
  readonly resource?: string
  readonly scope?: string
}

/** What `getCustomJwtClaims` is given, frozen. */
export interface CustomClaimsRequest {
  /** The access token as it will be issued. `jti` for JWTs only: the id of an opaque token is its value. */
  readonly token: {
    readonly jti?: string
    readonly sub: string
    readonly aud: string
    readonly scope?: string
    readonly clientId: string
    readonly iat: Seconds
    readonly exp: Seconds
  }
  readonly context: {
    readonly grant: { readonly type: string; readonly subjectTokenContext: JsonObject }
    readonly user: { readonly id: string }
    readonly client: { readonly id: string }
    readonly actor?: { readonly sub: string; readonly clientId?: string }
  }
  readonly environmentVariables: JsonObject
}

export interface ImpersonationOptions {
  /** Where subject tokens live. Required. */
  readonly store: SubjectTokenStore

  /**
   * The resource a management token must be bound to (RFC 8707), and the base of `Location`: an absolute URI
   * without query and fragment. Default: the issuer less a trailing `/oidc`, plus `/api`.
   */
  readonly managementResource?: string

  /** Life of a subject token when the request names none, in seconds, 1 … `maxSubjectTokenTTL`. Default 600. */
  readonly subjectTokenTTL?: Seconds

  /** Longest life a request may ask for, in seconds, 1 … 86400. Default 3600. */
  readonly maxSubjectTokenTTL?: Seconds

  /** Cap on the life of an impersonation access token, in seconds, 1 … 86400. Default 3600. */
  readonly maxAccessTokenTTL?: Seconds

  /** Refuse an exchange without actor token. Default `false`. */
  readonly requireActor?: boolean

  /** How many actors an `act` chain may hold, 1 … 10. Default 1: a token with `act` cannot act again. */
  readonly maxDelegationDepth?: number

  /**
   * Keys that every `context` must hold, non-blank. One that is missing is refused by name when the token is issued
   * (400), and denied at the exchange (`access_denied`), where this option may have changed since. Default none.
   */
  readonly requiredContext?: readonly string[]

  /**
   * The deployment's policy, asked at issuance and again at exchange. `true` allows, `false` denies
   * (`access_denied`), and so does throwing `AccessDenied`, which gives the operator a reason; any other throw, any
   * other value or more than `customClaimsTimeout` is a 500 and spends nothing. Default: allow.
   */
  readonly isAllowed?: (request: PolicyRequest) => boolean | Promise<boolean>

  /**
   * Claims for the access token, called once for every exchange before the subject token is spent. Returns
   * plain JSON members, `{}` for none, no reserved claim. Throw `AccessDenied` to deny (400); any other
   * failure is a 500 and spends nothing. Default: none.
   */
  readonly getCustomJwtClaims?: (request: CustomClaimsRequest) => object | Promise<object>

  /** Handed to `getCustomJwtClaims` as it is. Default `{}`. */
  readonly environmentVariables?: JsonObject

  /** Time limit of the deployment's functions, in seconds, 1 … 60. Default 5. */
  readonly customClaimsTimeout?: Seconds
}

/** The options behind the door: complete, checked and frozen. */
export interface ResolvedOptions
  extends Required<Omit<ImpersonationOptions, 'managementResource' | 'isAllowed' | 'getCustomJwtClaims'>>,
    Pick<ImpersonationOptions, 'managementResource' | 'isAllowed' | 'getCustomJwtClaims'> {}

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
    maxAccessTokenTTL: given.maxAccessTokenTTL ?? 3600,
    requireActor: given.requireActor ?? false,
    maxDelegationDepth: given.maxDelegationDepth ?? 1,
    requiredContext: given.requiredContext ?? [],
    isAllowed: given.isAllowed,
    getCustomJwtClaims: given.getCustomJwtClaims,
    environmentVariables: given.environmentVariables ?? {},
    customClaimsTimeout: given.customClaimsTimeout ?? 5,
  }
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(options, name)) throw new TypeError(`unknown option: ${name}`)
  }
  assertStore(options.store)
  assertManagementResource(options.managementResource)
  assertWhole('maxSubjectTokenTTL', options.maxSubjectTokenTTL, LIFE_RANGE)
  assertWhole('subjectTokenTTL', options.subjectTokenTTL, { from: 1, to: options.maxSubjectTokenTTL })
  assertWhole('maxAccessTokenTTL', options.maxAccessTokenTTL, LIFE_RANGE)
  assertWhole('maxDelegationDepth', options.maxDelegationDepth, { from: 1, to: 10 })
  assertWhole('customClaimsTimeout', options.customClaimsTimeout, { from: 1, to: 60 })
  assert(typeof options.requireActor === 'boolean', 'requireActor', 'a boolean')
  assert(
    Array.isArray(options.requiredContext) &&
      options.requiredContext.every((key) => typeof key === 'string' && key !== ''),
    'requiredContext',
    'an array of non-empty strings',
  )
  assertFunction('isAllowed', options.isAllowed)
  assertFunction('getCustomJwtClaims', options.getCustomJwtClaims)
  assert(
    isPlainObject(options.environmentVariables) && isPlainJson(options.environmentVariables, 16),
    'environmentVariables',
    'an object of JSON values',
  )
  return Object.freeze({
    ...options,
    requiredContext: Object.freeze([...options.requiredContext]),
    environmentVariables: frozenCopy(options.environmentVariables),
  })
}

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

function assertManagementResource(value: unknown): void {
  assert(
    value === undefined || (isResourceIndicator(value) && !value.includes('?')),
    'managementResource',
    'an absolute URI without query and fragment',
  )
}

const STORE_METHODS = ['insert', 'findByHash', 'consume', 'get', 'list', 'revoke', 'revokeWhere'] as const

function assertStore(store: unknown): void {
  const complete =
    typeof store === 'object' &&
    store !== null &&
    STORE_METHODS.every((method) => typeof Reflect.get(store, method) === 'function')
  assert(complete, 'store', `a SubjectTokenStore (with ${STORE_METHODS.join(', ')})`)
}
