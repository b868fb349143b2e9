import { assertPolicyAllows, type Policy } from '../callbacks/policy.ts'
import type { GrantContext } from '../provider/grants.ts'
import type { Actor } from './actor.ts'
import type { Permission } from './permission.ts'
import type { Target } from './target.ts'

/** Asks the policy again, now about what will be granted: it may have changed since the subject token was issued. */
export async function assertExchangeAllowed(
  ctx: GrantContext,
  policy: Policy,
  { subject, actor, target }: { subject: Permission; actor?: Actor; target: Target },
): Promise<void> {
  const { record, account } = subject
  await assertPolicyAllows(policy, {
    stage: 'exchange',
    use: record.purpose,
    userId: record.userId,
    account,
    ...(actor && { actor: { ...actor, verified: true } }),
    client: { id: ctx.oidc.client.clientId },
    createdBy: { id: record.createdBy },
    context: record.context,
    resource: target.resource,
    scope: target.scope,
  })
}
