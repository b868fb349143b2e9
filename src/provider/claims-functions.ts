import { RESERVED_CLAIMS } from '../base/constants.ts'
import { functionFailed } from '../base/errors.ts'
import { frozenCopy, isPlainJson, isPlainObject, type JsonObject } from '../base/json.ts'
import type { CustomClaimsRequest, ResolvedOptions } from '../options.ts'
import type { SubjectToken } from '../tokens/subject-token.ts'
import { callDeployment } from './deployment-functions.ts'

/** Claims nested deeper than this are a mistake, or a cycle. */
const MAX_LEVELS = 32

/** How much of a path, and of each name in it, a message shows. */
const MAX_PATH = 256
const MAX_NAME = 64

/** The claims function's view of a record. */
export const recordInClaims = ({ id, context, readOnly }: SubjectToken) => ({
  subjectTokenId: id,
  subjectTokenContext: context,
  ...(readOnly && { readOnly }),
})

/** Asks `getCustomJwtClaims`; `{}` where the deployment has none. */
export async function askCustomClaims(
  { getCustomJwtClaims, environmentVariables, customClaimsTimeout }: ResolvedOptions,
  request: Omit<CustomClaimsRequest, 'environmentVariables'>,
): Promise<JsonObject> {
  if (!getCustomJwtClaims) return {}
  const question = frozenCopy({ ...request, environmentVariables })
  const claims: unknown = await callDeployment('getCustomJwtClaims', customClaimsTimeout, () =>
    getCustomJwtClaims(question),
  )
  return checkClaims('getCustomJwtClaims', claims)
}

/** Asks the deployment's own `extraTokenClaims`, under the rules of custom claims; `{}` where it has none. */
export async function askExtraTokenClaims(
  { customClaimsTimeout }: ResolvedOptions,
  extraTokenClaims: (() => unknown) | undefined,
): Promise<JsonObject> {
  if (!extraTokenClaims) return {}
  const claims = await callDeployment('extraTokenClaims', customClaimsTimeout, extraTokenClaims)
  return claims === undefined ? {} : checkClaims('extraTokenClaims', claims)
}

type ClaimsFunction = 'getCustomJwtClaims' | 'extraTokenClaims'

/** A copy, which shares nothing with the deployment: it could still change its own object before the token is issued. */
function checkClaims(name: ClaimsFunction, claims: unknown): JsonObject {
  assertClaims(name, claims)
  const copy = frozenCopy(claims)
  // A Proxy may have answered otherwise this time.
  assertClaims(name, copy)
  return copy
}

/** Plain JSON without reserved claims, and nothing else: a wrong claim must not be issued. */
function assertClaims(name: ClaimsFunction, claims: unknown): asserts claims is JsonObject {
  if (!isPlainObject(claims)) throw functionFailed({ check: name, private: 'must return a plain object' })
  const reserved = Object.keys(claims).find((claim) => RESERVED_CLAIMS.has(claim))
  if (reserved !== undefined)
    throw functionFailed({ check: name, private: `must not return the reserved claim ${reserved}` })
  if (!isPlainJson(claims, MAX_LEVELS)) throw functionFailed({ check: name, private: whyNotJson(claims) })
}

/** The usual mistake is a member that is `undefined`, so the message names it. */
function whyNotJson(claims: unknown): string {
  const path = pathOfUndefined(claims)
  return path === undefined ? 'must return plain JSON' : `must not return undefined for the member ${path}`
}

function pathOfUndefined(claims: unknown): string | undefined {
  const members: [path: string, value: unknown][] = [['', claims]]
  // Objects may contain each other.
  const seen = new Set<unknown>()
  for (const [path, value] of members) {
    if (value === undefined) return path
    if (seen.has(value) || path.length > MAX_PATH) continue
    seen.add(value)
    for (const [key, member] of membersOf(value)) members.push([path + stepTo(key, path), member])
  }
  return undefined
}

/** Members with a value; getters are not called, because they may do anything. */
function membersOf(value: unknown): Iterable<[string | number, unknown]> {
  if (Array.isArray(value)) return value.entries()
  if (!isPlainObject(value)) return []
  return Object.entries(Object.getOwnPropertyDescriptors(value)).flatMap(([key, member]) =>
    'value' in member ? [[key, member.value]] : [],
  )
}

function stepTo(key: string | number, path: string): string {
  if (typeof key === 'number') return `[${key}]`
  const name = key.length > MAX_NAME ? `${key.slice(0, MAX_NAME)}…` : key
  if (!/^[\w$-]+…?$/.test(name)) return `[${JSON.stringify(name)}]`
  return path === '' ? name : `.${name}`
}
