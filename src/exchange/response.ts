import { ACCESS_TOKEN_TYPE } from '../constants.ts'
import type { ResolvedOptions } from '../options.ts'
import type { JsonObject } from '../plain-json.ts'
import { type AccessTokenDraft, draftAccessToken, saveAccessToken } from '../provider/access-token.ts'
import { buildTokenResponse, type GrantContext, type SenderConstraint } from '../provider/grants.ts'
import type { Subject } from './subject.ts'
import type { Target } from './target.ts'

/** The access token as it will be issued, less its claims. Its life is the resource's own, within the cap. */
export function draftFor(
  ctx: GrantContext,
  options: ResolvedOptions,
  { subject, target, sender }: { subject: Subject; target: Target; sender: SenderConstraint },
): AccessTokenDraft {
  return draftAccessToken(ctx, {
    accountId: subject.token.userId,
    resourceServer: target.resourceServer,
    scope: target.scope,
    sender,
    maxLife: options.maxAccessTokenTTL,
  })
}

/** Issues the access token and answers the response of RFC 8693 §2.2.1. */
export async function issueAccessToken(ctx: GrantContext, draft: AccessTokenDraft, claims: JsonObject) {
  const accessToken = await saveAccessToken(ctx, draft, claims)
  return buildTokenResponse(ctx.oidc.provider, {
    accessToken,
    issuedTokenType: ACCESS_TOKEN_TYPE,
    tokenType: draft.tokenType,
    expiresIn: draft.exp - draft.iat,
    scope: draft.scope,
  })
}
