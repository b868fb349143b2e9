import { askCustomClaims, askExtraTokenClaims, type ClaimsOptions } from '../callbacks/claims.ts'
import type { CustomClaimsRequest } from '../options.ts'
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
  /** What the claims function learns of the subject token. */
  readonly grant: CustomClaimsRequest['context']['grant']
  readonly actor?: Actor
}

/** All claims that the provider does not write itself: those of the deployment's functions, `status` and `act`. */
export async function collectClaims(
  ctx: GrantContext,
  { options, settings, statusLists }: ClaimsSources,
  { draft, sub, subject, grant, actor }: ClaimsRequest,
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
      grant,
      user: { id: subject.userId },
      client: { id: ctx.oidc.client.clientId },
      ...(actor && { actor: { sub: actor.sub, clientId: actor.clientId } }),
    },
  })
  // In this order: on a clash the custom claims win, and those of the plugin always.
  return {
    ...own,
    ...custom,
    ...(statusLists && subject.record && { status: statusClaim(statusLists, subject.record.statusIndex) }),
    ...withAct(throughApis(subject.apis, actor && (await actClaim(ctx, settings, actor)))),
  }
}

const withAct = (act: JsonObject | undefined): JsonObject => (act ? { act } : {})

/** The people of the chain, by the identifiers that the client knows: pairwise like `sub`. The newest is outermost. */
async function actClaim(
  ctx: GrantContext,
  settings: Pick<Settings, 'pairwiseIdentifier'>,
  { sub: accountId, act }: ActClaim,
): Promise<JsonObject> {
  return {
    sub: await subjectIdentifier(ctx, settings, { accountId, client: ctx.oidc.client }),
    ...withAct(act && (await actClaim(ctx, settings, act))),
  }
}

/** The APIs that passed the user on, around the people (RFC 8693 §4.1): `client_id` tells one from the other. */
function throughApis([newest, ...earlier]: readonly string[], people?: JsonObject): JsonObject | undefined {
  if (newest === undefined) return people
  return { sub: newest, client_id: newest, ...withAct(throughApis(earlier, people)) }
}
