import type { PolicyRequest, ResolvedOptions } from '../options.ts'
import { frozenCopy, type JsonObject, type JsonValue } from '../plain-json.ts'
import { denied, functionFailed } from '../refusals.ts'
import { callDeployment } from './call.ts'

/** Asks the built-in rules, then the deployment. Every refusal names its check in the event, never in the answer. */
export async function assertPolicy(options: ResolvedOptions, request: PolicyRequest): Promise<void> {
  if (request.actor?.sub === request.userId) {
    throw denied({ check: 'actorIsNotSubject', private: 'an account cannot act for itself' })
  }
  const missing = missingContext(options, request.context)
  if (missing !== undefined)
    throw denied({ check: 'requiredContext', private: `context.${missing} is missing or blank` })
  await askDeployment(options, request)
}

/** The first key of `requiredContext` that is absent or blank. */
export function missingContext(
  { requiredContext }: { readonly requiredContext: readonly string[] },
  context: JsonObject,
): string | undefined {
  return requiredContext.find((key) => isBlank(memberOf(context, key)))
}

async function askDeployment(options: ResolvedOptions, request: PolicyRequest): Promise<void> {
  const { isAllowed, customClaimsTimeout } = options
  if (!isAllowed) return
  // The account is the deployment's own object, with functions on it: it is passed on as it came.
  const { account, ...rest } = request
  const question = Object.freeze({ ...frozenCopy(rest), account })
  const answer: unknown = await callDeployment('isAllowed', customClaimsTimeout, () => isAllowed(question))
  if (answer === false) throw denied({ check: 'isAllowed', private: 'isAllowed answered false' })
  if (answer !== true) throw functionFailed({ check: 'isAllowed', private: 'must answer true or false' })
}

const memberOf = (context: JsonObject, key: string): JsonValue | undefined =>
  Object.hasOwn(context, key) ? context[key] : undefined

function isBlank(value: JsonValue | undefined): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '')
}
