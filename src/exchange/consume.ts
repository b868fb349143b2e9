import { epochTime } from '../clock.ts'
import { type AccessTokenDraft, dropGrant, saveGrant } from '../provider/access-token.ts'
import { type GrantContext, recordProof, type SenderConstraint } from '../provider/grants.ts'
import type { StatusLists } from '../provider/status-reference.ts'
import { misconfigured, subjectTokenRefused } from '../refusals.ts'
import type { SubjectTokenStore } from '../subject-tokens/store.ts'
import type { SubjectTokenUse } from '../subject-tokens/subject-token.ts'
import type { Actor } from './actor.ts'
import { assertUsable, type Permission } from './subject.ts'
import type { Target } from './target.ts'

interface Exchange {
  readonly sender: SenderConstraint
  readonly subject: Permission
  readonly actor?: Actor
  readonly target: Target
  readonly draft: AccessTokenDraft
  /** Absent where the deployment has none: nothing will end a JWT then. */
  readonly statusLists: StatusLists | undefined
}

/**
 * Spends the subject token. One conditional write decides between any number of concurrent requests; it is the
 * last point of refusal. The record of the DPoP proof and the Grant of an opaque token are written just before it,
 * so that nothing needs to be written between the spend and the access token.
 */
export async function consume(
  ctx: GrantContext,
  store: Pick<SubjectTokenStore, 'consume' | 'find'>,
  exchange: Exchange,
): Promise<void> {
  const { sender, subject, draft } = exchange
  assertLives(draft)
  await recordProof(ctx, sender)
  if (draft.format === 'opaque') await saveGrant(ctx, draft)
  let won = false
  try {
    const now = epochTime()
    won = await store.consume(subject.record, now, useOf(ctx, now, exchange))
  } finally {
    // The loser's Grant has no token. If this fails, it still expires when that token would have.
    if (!won && draft.format === 'opaque') await dropGrant(ctx, draft).catch(() => {})
  }
  if (won) return
  const { issuer, id } = subject.record
  const record = await store.find(issuer, id)
  if (record) assertUsable(record)
  throw subjectTokenRefused({ private: 'could not be spent' })
}

/** The deployment's functions may have taken longer than a short-lived token lives. */
export function assertLives({ exp }: AccessTokenDraft): void {
  if (exp <= epochTime()) throw misconfigured({ private: 'the access token ended before it was issued' })
}

/** What the record will say of it. */
function useOf(
  ctx: GrantContext,
  at: number,
  { actor, target, draft, statusLists }: Exchange,
): SubjectTokenUse {
  return {
    at,
    clientId: ctx.oidc.client.clientId,
    actor: actor && { sub: actor.sub, act: actor.act, clientId: actor.clientId },
    resource: target.resource,
    scope: target.scope,
    accessToken: {
      format: draft.format,
      expiresAt: draft.exp,
      ...(draft.format === 'jwt' && !statusLists && { kept: true }),
    },
    grantId: draft.format === 'opaque' ? draft.grantId : undefined,
  }
}
