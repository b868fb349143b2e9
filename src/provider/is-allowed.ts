import { denied, functionFailed } from '../base/errors.ts'
import { frozenCopy, type JsonObject, type JsonValue } from '../base/json.ts'
import type { ImpersonationPolicyRequest, PolicyRequest, ResolvedOptions } from '../options.ts'
import type { SubjectToken } from '../tokens/subject-token.ts'
import { callDeployment } from './deployment-functions.ts'

/** The options that decide whether an impersonation is allowed. */
export type Policy = Pick<ResolvedOptions, 'isAllowed' | 'requiredContext' | 'customClaimsTimeout'>

/** Applies the built-in rules, then asks the deployment. Every refusal names its check, in the event only. */
export async function assertPolicyAllows(policy: Policy, request: ImpersonationPolicyRequest): Promise<void> {
  if (request.actor?.sub === request.userId) {
    throw denied({ check: 'actorIsNotSubject', private: 'an account cannot act for itself' })
  }
  const missing = missingContext(policy, request.context)
  if (missing !== undefined)
    throw denied({ check: 'requiredContext', private: `context.${missing} is missing or blank` })
  await askDeployment(policy, request)
}

/** The first key of `requiredContext` that is absent or blank. */
export function missingContext(
  { requiredContext }: Pick<Policy, 'requiredContext'>,
  context: JsonObject,
): string | undefined {
  return requiredContext.find((key) => isBlank(memberOf(context, key)))
}

/** The policy's view of a record. */
export const recordInPolicy = ({ purpose, createdBy, context, readOnly }: SubjectToken) => ({
  use: purpose,
  createdBy: { id: createdBy },
  context,
  ...(readOnly && { readOnly }),
})

/** Asks the deployment alone. */
export async function askDeployment(
  { isAllowed, customClaimsTimeout }: Pick<Policy, 'isAllowed' | 'customClaimsTimeout'>,
  request: PolicyRequest,
): Promise<void> {
  if (!isAllowed) return
  // The account is the deployment's own object and has functions, so it is not copied.
  const { account, ...rest } = request
  const question = Object.freeze({ ...frozenCopy(rest), account })
  const decision: unknown = await callDeployment('isAllowed', customClaimsTimeout, () => isAllowed(question))
  if (decision === false) throw denied({ check: 'isAllowed', private: 'isAllowed returned false' })
  if (decision !== true) throw functionFailed({ check: 'isAllowed', private: 'must return true or false' })
}

const memberOf = (context: JsonObject, key: string): JsonValue | undefined =>
  Object.hasOwn(context, key) ? context[key] : undefined

function isBlank(value: JsonValue | undefined): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '')
}
