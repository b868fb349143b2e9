/** The key by which a sender proves who it is: DPoP (RFC 9449), a client certificate (RFC 8705). */
import { proofRefused } from '../base/errors.ts'
import { type GrantContext, grants } from './lib-grants.ts'

export type SenderConstraint = Awaited<ReturnType<typeof verifySender>>

/**
 * The key that the sender proved to hold, by DPoP (RFC 9449) or by a client certificate (RFC 8705); the access token
 * will be bound to it. Refuses wrong proofs, and a client that must send a proof and did not.
 */
export async function verifySender(ctx: GrantContext) {
  try {
    const { provider } = ctx.oidc
    const dPoP = await grants.validateDpop(provider, ctx)
    const certificate = grants.checkMtlsCert(provider, ctx)
    grants.checkDpopRequired(provider, ctx, dPoP)
    return { dPoP, certificate }
  } catch (error) {
    throw proofRefused(error)
  }
}

/** Records the DPoP proof, and refuses one that was used before (RFC 9449 §11.1). */
export async function recordProof(
  ctx: GrantContext,
  { dPoP }: Pick<SenderConstraint, 'dPoP'>,
): Promise<void> {
  try {
    await grants.checkDpopReplay(ctx.oidc.provider, ctx, dPoP, ctx.oidc.client.clientId)
  } catch (error) {
    throw proofRefused(error)
  }
}
