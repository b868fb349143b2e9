import { askCustomClaims, askExtraTokenClaims, type ClaimsOptions } from '../callbacks/claims.ts'
import { TOKEN_EXCHANGE } from '../constants.ts'
import type { JsonObject } from '../plain-json.ts'
import { type AccessTokenDraft, subjectIdentifier } from '../provider/access-token.ts'
import type { GrantContext } from '../provider/grants.ts'
import type { Settings } from '../provider/settings.ts'
import { type StatusLists, statusClaim } from '../provider/status-reference.ts'
import type { ActClaim } from '../subject-tokens/subject-token.ts'
import type { Actor } from './actor.ts'
import type { Subject } from './subject.ts'

interface ClaimsSources {
  readonly options: ClaimsOptions
  readonly settings: Pick<Settings, 'extraTokenClaims' | 'pairwiseIdentifier'>
  readonly statusLists: StatusLists | undefined
}

interface ClaimsRequest {
  readonly draft: AccessTokenDraft
  /** The `sub` of the access token. */
  readonly sub: string
  readonly subject: Subject
  readonly actor?: Actor
}

/** All claims that the provider does not write itself: those of the deployment's functions, `status` and `act`. */
export async function collectClaims(
  ctx: GrantContext,
  { options, settings, statusLists }: ClaimsSources,
  { draft, sub, subject, actor }: ClaimsRequest,
): Promise<JsonObject> {
  const { extraTokenClaims } = settings
  const own = await askExtraTokenClaims(options, extraTokenClaims && (() => extraTokenClaims(ctx, draft)))
  const custom = await askCustomClaims(options, {
    token: {
      // The id of an opaque token is its value.
      ...(draft.format === 'jwt' && { jti: draft.jti }),
      sub,
      aud: draft.aud,
      ...(draft.scope !== undefined && { scope: draft.scope }),
      clientId: ctx.oidc.client.clientId,
      iat: draft.iat,
      exp: draft.exp,
    },
    context: {
      grant: {
        type: TOKEN_EXCHANGE,
        kind: 'impersonation',
        subjectTokenId: subject.token.id,
        subjectTokenContext: subject.token.context,
      },
      user: { id: subject.token.userId },
      client: { id: ctx.oidc.client.clientId },
      ...(actor && { actor: { sub: actor.sub, clientId: actor.clientId } }),
    },
  })
  // In this order: on a clash the custom claims win, and those of the plugin always.
  return {
    ...own,
    ...custom,
    ...(statusLists && { status: statusClaim(statusLists, subject.token.statusIndex) }),
    ...(actor && { act: await actClaim(ctx, settings, actor) }),
  }
}

/** The chain with the identifiers that the client knows: pairwise like `sub`. The newest actor is outermost. */
async function actClaim(
  ctx: GrantContext,
  settings: Pick<Settings, 'pairwiseIdentifier'>,
  { sub, act }: ActClaim,
): Promise<JsonObject> {
  return {
    sub: await subjectIdentifier(ctx, settings, sub),
    ...(act && { act: await actClaim(ctx, settings, act) }),
  }
}
