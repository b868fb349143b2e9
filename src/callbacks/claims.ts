import { RESERVED_CLAIMS } from '../constants.ts'
import type { CustomClaimsRequest, ResolvedOptions } from '../options.ts'
import { frozenCopy, isPlainJson, isPlainObject, type JsonObject } from '../plain-json.ts'
import { functionFailed } from '../refusals.ts'
import { callDeployment } from './call.ts'

/** Deeper claims than this are a mistake, or a cycle. */
const MAX_LEVELS = 32

/** Asks `getCustomJwtClaims`; `{}` where the deployment has none. */
export async function askCustomClaims(
  options: ResolvedOptions,
  request: Omit<CustomClaimsRequest, 'environmentVariables'>,
): Promise<JsonObject> {
  const { getCustomJwtClaims, customClaimsTimeout, environmentVariables } = options
  if (!getCustomJwtClaims) return {}
  const question = frozenCopy({ ...request, environmentVariables })
  const answer: unknown = await callDeployment('getCustomJwtClaims', customClaimsTimeout, () =>
    getCustomJwtClaims(question),
  )
  return checkClaims('getCustomJwtClaims', answer)
}

/** Asks the deployment's own `extraTokenClaims`, under the rules of custom claims; `{}` where it has none. */
export async function askExtraTokenClaims(
  options: ResolvedOptions,
  extraTokenClaims: (() => unknown) | undefined,
): Promise<JsonObject> {
  if (!extraTokenClaims) return {}
  const answer = await callDeployment('extraTokenClaims', options.customClaimsTimeout, extraTokenClaims)
  return answer === undefined ? {} : checkClaims('extraTokenClaims', answer)
}

/** Takes plain JSON members with names of their own, and refuses everything else: a wrong claim must not be issued. */
function checkClaims(name: 'getCustomJwtClaims' | 'extraTokenClaims', answer: unknown): JsonObject {
  if (!isPlainObject(answer)) throw functionFailed(name, 'must answer a plain object')
  const reserved = Object.keys(answer).find((claim) => RESERVED_CLAIMS.has(claim))
  if (reserved !== undefined) throw functionFailed(name, `must not answer the reserved claim ${reserved}`)
  if (!isPlainJson(answer, MAX_LEVELS)) throw functionFailed(name, 'must answer plain JSON')
  // A copy shares nothing with the deployment, which could still change the answer before it is issued.
  return frozenCopy(answer)
}
