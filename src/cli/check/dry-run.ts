/** Asks the deployment's own functions about an example, and writes nothing. */
import type { Account } from 'oidc-provider'
import { askCustomClaims } from '../../callbacks/claims.ts'
import { askDeployment, assertPolicyAllows } from '../../callbacks/policy.ts'
import type { JsonObject } from '../../plain-json.ts'
import { findAccount } from '../../provider/grants.ts'
import { reasonOf } from '../../refusals.ts'
import { mintId } from '../../subject-tokens/id.ts'
import { contextOf } from './context.ts'
import { type Begun, claimsRequest, policyRequest, stepRequest } from './example-requests.ts'
import { type Finding, fault, messageOf, note, ok } from './finding.ts'
import type { Deployment, Example } from './module.ts'

const ABOUT = 'dry run'

const failed = (step: string, reason: string): Finding[] => [
  fault(ABOUT, `${step}: ${reason}`, 'correct the example, or the function'),
]

export async function dryRun(deployment: Deployment, example: Example): Promise<Finding[]> {
  const { inside } = deployment
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
  const subjectTokenId = mintId()
  let claims: JsonObject
  try {
    const kind = { kind: 'impersonation', subjectTokenId } as const
    claims = await askCustomClaims(
      inside.options,
      claimsRequest(inside, { example, issued: example, account, kind }),
    )
  } catch (error) {
    return failed('getCustomJwtClaims', privateReason(error))
  }
  return [
    ok(ABOUT, `isAllowed allows it, and getCustomJwtClaims returns ${JSON.stringify(claims)}`),
    ...(await dryRunStep(deployment, example, { account, subjectTokenId, claims })),
  ]
}

/** The step of an API to another one, with the access token of the example. */
async function dryRunStep(deployment: Deployment, example: Example, begun: Begun): Promise<Finding[]> {
  const { inside } = deployment
  const { options } = inside
  const step = example.onBehalfOf
  if (!options.onBehalfOf) {
    const advice = 'set onBehalfOf, or remove it from the example'
    return step ? [fault(ABOUT, 'onBehalfOf is off: an API can exchange nothing', advice)] : []
  }
  if (!step) return [note(ABOUT, 'the stage onBehalfOf was not tried: the example has no member onBehalfOf')]
  try {
    await askDeployment(options, await stepRequest(deployment, { example, step, begun }))
  } catch (error) {
    return failed('isAllowed at the stage onBehalfOf', privateReason(error))
  }
  try {
    const { account, subjectTokenId, claims: subjectTokenClaims } = begun
    const kind = { kind: 'onBehalfOf', subjectTokenId, through: [], subjectTokenClaims } as const
    const request = claimsRequest(inside, { example, issued: step, account, kind })
    const claims = await askCustomClaims(options, request)
    return [
      ok(ABOUT, `onBehalfOf: isAllowed allows it, and getCustomJwtClaims returns ${JSON.stringify(claims)}`),
    ]
  } catch (error) {
    return failed('getCustomJwtClaims with the kind onBehalfOf', privateReason(error))
  }
}

const privateReason = (error: unknown): string => (error instanceof Error ? reasonOf(error) : String(error))
