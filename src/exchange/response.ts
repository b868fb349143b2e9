import { ACCESS_TOKEN_TYPE } from '../constants.ts'
import type { JsonObject } from '../plain-json.ts'
import { type AccessTokenDraft, saveAccessToken } from '../provider/access-token.ts'
import { buildTokenResponse, type GrantContext } from '../provider/grants.ts'
import { noticeOpaqueByDefault } from '../provider/notices.ts'

/** Issues the access token, and returns the response of RFC 8693 §2.2.1. */
export async function issueAccessToken(ctx: GrantContext, draft: AccessTokenDraft, claims: JsonObject) {
  const accessToken = await saveAccessToken(ctx, draft, claims)
  noticeOpaqueByDefault(draft)
  return buildTokenResponse(ctx.oidc.provider, {
    accessToken,
    issuedTokenType: ACCESS_TOKEN_TYPE,
    tokenType: draft.tokenType,
    expiresIn: draft.exp - draft.iat,
    scope: draft.scope,
  })
}
