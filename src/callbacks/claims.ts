import { RESERVED_CLAIMS } from '../constants.ts'
import type { CustomClaimsRequest, ResolvedOptions } from '../options.ts'
import { frozenCopy, isPlainJson, isPlainObject, type JsonObject } from '../plain-json.ts'
import { functionFailed } from '../refusals.ts'
import { callDeployment } from './call.ts'

/** Deeper claims than this are a mistake, or a cycle. */
const MAX_LEVELS = 32

/** How much of a path is worth reading in a message. */
const MAX_PATH = 256
const MAX_NAME = 64

/** The options that claims come from. */
export type ClaimsOptions = Pick<
  ResolvedOptions,
  'getCustomJwtClaims' | 'environmentVariables' | 'customClaimsTimeout'
>

/** Asks `getCustomJwtClaims`; `{}` where the deployment has none. */
export async function askCustomClaims(
  { getCustomJwtClaims, environmentVariables, customClaimsTimeout }: ClaimsOptions,
  request: Omit<CustomClaimsRequest, 'environmentVariables'>,
): Promise<JsonObject> {
  if (!getCustomJwtClaims) return {}
  const question = frozenCopy({ ...request, environmentVariables })
  const answer: unknown = await callDeployment('getCustomJwtClaims', customClaimsTimeout, () =>
    getCustomJwtClaims(question),
  )
  return checkClaims('getCustomJwtClaims', answer)
}

/** Asks the deployment's own `extraTokenClaims`, under the rules of custom claims; `{}` where it has none. */
export async function askExtraTokenClaims(
  { customClaimsTimeout }: Pick<ClaimsOptions, 'customClaimsTimeout'>,
  extraTokenClaims: (() => unknown) | undefined,
): Promise<JsonObject> {
  if (!extraTokenClaims) return {}
  const answer = await callDeployment('extraTokenClaims', customClaimsTimeout, extraTokenClaims)
  return answer === undefined ? {} : checkClaims('extraTokenClaims', answer)
}

/** Takes plain JSON members with names of their own, and refuses everything else: a wrong claim must not be issued. */
function checkClaims(name: 'getCustomJwtClaims' | 'extraTokenClaims', answer: unknown): JsonObject {
  if (!isPlainObject(answer)) throw functionFailed({ check: name, private: 'must answer a plain object' })
  const reserved = Object.keys(answer).find((claim) => RESERVED_CLAIMS.has(claim))
  if (reserved !== undefined)
    throw functionFailed({ check: name, private: `must not answer the reserved claim ${reserved}` })
  if (!isPlainJson(answer, MAX_LEVELS)) throw functionFailed({ check: name, private: whyNotJson(answer) })
  // A copy shares nothing with the deployment, which could still change the answer before it is issued.
  return frozenCopy(answer)
}

/** `undefined` is what code returns by mistake, so the member that holds it is named. */
function whyNotJson(answer: unknown): string {
  const path = pathOfUndefined(answer)
  return path === undefined ? 'must answer plain JSON' : `must not return undefined for the member ${path}`
}

function pathOfUndefined(answer: unknown): string | undefined {
  const members: [path: string, value: unknown][] = [['', answer]]
  // Members may hold each other.
  const seen = new Set<unknown>()
  for (const [path, value] of members) {
    if (value === undefined) return path
    if (seen.has(value) || path.length > MAX_PATH) continue
    seen.add(value)
    for (const [key, member] of membersOf(value)) members.push([path + stepTo(key, path), member])
  }
  return undefined
}

/** Members that hold a value: a getter may do anything. */
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
