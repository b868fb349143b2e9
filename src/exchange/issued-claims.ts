import type { JsonObject } from '../base/json.ts'
import type { CustomClaimsRequest } from '../options.ts'
import { type AccessTokenDraft, subjectIdentifier } from '../provider/access-token.ts'
import { askCustomClaims, askExtraTokenClaims } from '../provider/claims-functions.ts'
import type { GrantContext } from '../provider/lib-grants.ts'
import { askAbout } from '../provider/reserved-claims.ts'
import type { Service } from '../provider/settings.ts'
import { statusClaim } from '../provider/status-claim.ts'
import { chainOf, subsOf } from '../tokens/actor-chain.ts'
import type { Actor, Subject } from './user-and-actors.ts'

interface ClaimsRequest {
  readonly draft: AccessTokenDraft
  /** The `sub` of the access token. */
  readonly sub: string
  readonly subject: Subject
  /** The claims function's view of the subject token. */
  readonly grant: CustomClaimsRequest['context']['grant']
  readonly actor?: Actor
}

/** All claims that the provider does not write itself: those of the deployment's functions, `status`, `act` and `read_only`. */
export async function collectClaims(
  ctx: GrantContext,
  { options, settings, statusLists }: Service,
  { draft, sub, subject, grant, actor }: ClaimsRequest,
): Promise<JsonObject> {
  const { extraTokenClaims } = settings
  const own = await askExtraTokenClaims(
    options,
    extraTokenClaims &&
      (() => askAbout('extraTokenClaims', { ctx, token: draft }, (copy) => extraTokenClaims(ctx, copy))),
  )
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
  const { client } = ctx.oidc
  const apis = subject.apis.map((id) => ({ sub: id, client_id: id }))
  // People are named by the identifiers that the client knows: pairwise like `sub`.
  const people = subsOf(actor).map(async (accountId) => ({
    sub: await subjectIdentifier(ctx, settings, { accountId, client }),
  }))
  const act = chainOf([...apis, ...(await Promise.all(people))])
  // The order matters: on a clash the custom claims win, and those of the plugin always.
  return {
    ...own,
    ...custom,
    ...(statusLists && subject.record && { status: statusClaim(statusLists, subject.record.statusIndex) }),
    ...(act && { act }),
    ...(subject.record?.readOnly && { read_only: true }),
  }
}
