import {
  checkDpopRequired,
  checkMtlsCert,
  type GrantContext,
  type SenderConstraint,
  validateDpop,
} from '../provider/grants.ts'
import { proofRefused } from '../refusals.ts'

/**
 * The key that the sender proved to hold, by DPoP (RFC 9449) or by a client certificate (RFC 8705); the access token
 * will be bound to it. Refuses wrong proofs, and a client that must send a proof and did not.
 */
export async function verifySender(ctx: GrantContext): Promise<SenderConstraint> {
  try {
    const sender = { dPoP: await validateDpop(ctx), certificate: checkMtlsCert(ctx) }
    checkDpopRequired(ctx, sender)
    return sender
  } catch (error) {
    throw proofRefused(error)
  }
}
