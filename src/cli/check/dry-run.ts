/** Asks the deployment's own functions about an example, and writes nothing. */
import type { Account } from 'oidc-provider'
import { askCustomClaims } from '../../callbacks/claims.ts'
import { assertPolicyAllows } from '../../callbacks/policy.ts'
import { epochTime } from '../../clock.ts'
import { TOKEN_EXCHANGE } from '../../constants.ts'
import type { ImpersonationPolicyRequest } from '../../options.ts'
import type { JsonObject } from '../../plain-json.ts'
import { findAccount } from '../../provider/grants.ts'
import { reasonOf } from '../../refusals.ts'
import { mintId } from '../../subject-tokens/id.ts'
import { contextOf } from './context.ts'
import { type Finding, fault, messageOf, ok } from './finding.ts'
import type { Deployment, Example } from './module.ts'

export async function dryRun({ inside }: Deployment, example: Example): Promise<Finding[]> {
  const about = 'dry run'
  const failed = (step: string, reason: string) => [
    fault(about, `${step}: ${reason}`, 'correct the example, or the function'),
  ]
  let account: Account | undefined
  try {
    account = await findAccount(contextOf(inside), example.userId)
  } catch (error) {
    return failed('findAccount', messageOf(error))
  }
  if (!account) return failed('findAccount', `there is no account ${example.userId}`)
  for (const stage of ['issuance', 'exchange'] as const) {
    try {
      await assertPolicyAllows(inside.options, policyRequest(stage, example, account))
    } catch (error) {
      return failed(`isAllowed at the ${stage}`, privateReason(error))
    }
  }
  try {
    const claims = await askCustomClaims(inside.options, claimsRequest(inside, example, account))
    return [ok(about, `isAllowed allows it, and getCustomJwtClaims returns ${JSON.stringify(claims)}`)]
  } catch (error) {
    return failed('getCustomJwtClaims', privateReason(error))
  }
}

const privateReason = (error: unknown): string => (error instanceof Error ? reasonOf(error) : String(error))

function policyRequest(
  stage: 'issuance' | 'exchange',
  example: Example,
  account: Account,
): ImpersonationPolicyRequest {
  const { actorId, clientId, createdBy, resource, scope, context } = example
  return {
    stage,
    userId: account.accountId,
    account,
    ...(actorId !== undefined && { actor: { sub: actorId, verified: stage === 'exchange' } }),
    client: { id: clientId },
    createdBy: { id: createdBy },
    context: context as JsonObject,
    resource,
    ...(scope !== undefined && { scope }),
  }
}

function claimsRequest({ options }: Deployment['inside'], example: Example, account: Account) {
  const iat = epochTime()
  const { actorId, clientId, resource, scope, context } = example
  return {
    token: {
      sub: account.accountId,
      aud: resource,
      ...(scope !== undefined && { scope }),
      clientId,
      iat,
      exp: iat + options.maxAccessTokenTTL,
    },
    context: {
      grant: {
        type: TOKEN_EXCHANGE,
        kind: 'impersonation' as const,
        subjectTokenId: mintId(),
        subjectTokenContext: context as JsonObject,
      },
      user: { id: account.accountId },
      client: { id: clientId },
      ...(actorId !== undefined && { actor: { sub: actorId } }),
    },
  }
}
