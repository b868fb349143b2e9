/** The parts of the provider's access token model beyond its public types. */
import { randomBytes } from 'node:crypto'
import { type AccessToken, type Client, errors, type Provider } from 'oidc-provider'
import { epochTime, type Seconds } from '../base/clock.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../base/constants.ts'
import { misconfigured, proofRefused } from '../base/errors.ts'
import type { JsonObject } from '../base/json.ts'
import type { ResolvedOptions } from '../options.ts'
import type { AccessTokenFormat } from '../tokens/subject-token.ts'
import { buildTokenResponse, type GrantContext } from './lib-grants.ts'
import { noticeOpaqueByDefault } from './notices.ts'
import { decide, keeps } from './reserved-claims.ts'
import type { SenderConstraint } from './sender-constraint.ts'
import type { Settings } from './settings.ts'

/** An access token that is complete except for its claims, and neither signed nor saved. */
export type AccessTokenDraft = AccessToken & {
  readonly exp: Seconds
  readonly aud: string
  readonly format: Exclude<AccessTokenFormat, 'session'>
}

/** An access token in events. The id of an opaque one is its value. */
export interface ShownAccessToken {
  readonly format: AccessTokenDraft['format']
  readonly jti?: string
  readonly expiresAt: Seconds
}

interface Draft {
  /** The user. The token ends at `notAfter` at the latest. */
  readonly subject: { readonly userId: string; readonly notAfter?: Seconds }
  readonly target: {
    readonly resourceServer: NonNullable<AccessToken['resourceServer']>
    readonly scope?: string
  }
  readonly sender: SenderConstraint
  /** The id of a JWT, which leads to its record. Default: random. */
  readonly jti?: string
}

/** The access token as it will be issued, without its claims. Its life is the resource's own, within the cap. */
export async function draftAccessToken(
  ctx: GrantContext,
  { maxAccessTokenTTL }: Pick<ResolvedOptions, 'maxAccessTokenTTL'>,
  { subject: { userId, notAfter = Number.POSITIVE_INFINITY }, target, sender, jti }: Draft,
): Promise<AccessTokenDraft> {
  await assertUnreplaced(ctx)
  const { client, provider } = ctx.oidc
  const token = new provider.AccessToken({
    client,
    accountId: userId,
    resourceServer: target.resourceServer,
    scope: target.scope,
    // The value is set below, once the format is known.
    grantId: '',
    gty: TOKEN_EXCHANGE,
  })
  bind(token, sender)
  // `ttl` and `formats` may be functions of the deployment: the token is decided before they are called.
  decide(token)
  token.iat = epochTime()
  token.exp = Math.min(token.iat + Math.min(token.expiration, maxAccessTokenTTL), notAfter)
  // `save` would do this first, and it decides the format. Done here because the claims function receives the jti.
  token.jti = (token as unknown as { generateTokenId(): string }).generateTokenId()
  if (token.format === 'jwt' && jti !== undefined) token.jti = jti
  // A Grant of its own, never the user's: destroying it ends this one token. A JWT cannot be ended.
  if (token.format === 'opaque') token.grantId = randomBytes(32).toString('base64url')
  return token as AccessTokenDraft
}

/**
 * Refuses a provider whose functions were replaced after `configure`, before anything is spent: no token without its claims
 * is issued, and none that is not as it was decided.
 */
async function assertUnreplaced({ oidc: { provider, client } }: GrantContext): Promise<void> {
  const probe = new provider.AccessToken({ client, accountId: '', grantId: '', gty: TOKEN_EXCHANGE })
  Object.assign(probe, { format: 'jwt', exp: epochTime() })
  const attached = { claims: {}, read: false }
  claimsOf.set(probe, attached)
  const isKept = await keeps(probe)
  if (!attached.read)
    throw misconfigured({ private: 'extraTokenClaims was replaced after impersonation.configure()' })
  if (!isKept) throw misconfigured({ private: 'formats was replaced after impersonation.configure()' })
}

/** The deployment's functions may have taken longer than a short-lived token lives. */
export function assertLives({ exp }: AccessTokenDraft): void {
  if (exp <= epochTime()) throw misconfigured({ private: 'the access token ended before it was issued' })
}

/** The members that events have of an access token. */
export const shownAccessToken = ({ format, jti, exp }: AccessTokenDraft): ShownAccessToken => ({
  format,
  ...(format === 'jwt' && { jti }),
  expiresAt: exp,
})

/** Binds the token to the key of the sender (RFC 7800 §3). The provider refuses two. */
function bind(token: AccessToken, { certificate, dPoP }: SenderConstraint): void {
  try {
    if (certificate) token.setThumbprint('x5t', certificate as string)
    if (dPoP) token.setThumbprint('jkt', dPoP.thumbprint)
  } catch (error) {
    throw proofRefused(error, [errors.InvalidRequest])
  }
}

/** The identifier by which a client knows an account: pairwise if the client's subjects are. */
export async function subjectIdentifier(
  ctx: GrantContext,
  settings: Pick<Settings, 'pairwiseIdentifier'>,
  { accountId, client }: { readonly accountId: string; readonly client: Client },
): Promise<string> {
  if (client.subjectType !== 'pairwise') return accountId
  if (!settings.pairwiseIdentifier) throw misconfigured({ private: 'pairwiseIdentifier is not configured' })
  const identifier: unknown = await settings.pairwiseIdentifier(ctx, accountId, client)
  // Anything else would issue an `act` without `sub`.
  if (typeof identifier !== 'string' || identifier === '') {
    throw misconfigured({ private: 'pairwiseIdentifier must return a non-empty string' })
  }
  return identifier
}

/** Signs or stores the token, and returns the response of RFC 8693 §2.2.1. */
export async function issueAccessToken(ctx: GrantContext, token: AccessTokenDraft, claims: JsonObject) {
  claimsOf.set(token, { claims, read: false })
  ctx.oidc.entity('AccessToken', token)
  const accessToken = await token.save()
  noticeOpaqueByDefault(token)
  return buildTokenResponse(ctx.oidc.provider, {
    accessToken,
    issuedTokenType: ACCESS_TOKEN_TYPE,
    tokenType: token.tokenType,
    expiresIn: token.exp - token.iat,
    scope: token.scope,
  })
}

/**
 * oidc-provider overwrites `token.extra` in `save()` with what `extraTokenClaims` returns. Finished claims wait here for the
 * wrapped `extraTokenClaims`. Written by `issueAccessToken`, read by `readClaims`, dropped with the token.
 */
const claimsOf = new WeakMap<object, { readonly claims: JsonObject; read: boolean }>()

/** The claims attached to this token; `undefined` for tokens of other grants. */
export function readClaims(token: object): JsonObject | undefined {
  const attached = claimsOf.get(token)
  if (attached) attached.read = true
  return attached?.claims
}

/** Saves the Grant that an opaque access token needs at introspection, and that ends it when destroyed. */
export async function saveGrant(ctx: GrantContext, token: AccessTokenDraft): Promise<void> {
  const { client, provider } = ctx.oidc
  const grant = new provider.Grant({ clientId: client.clientId, accountId: token.accountId })
  grant.jti = token.grantId
  grant.iat = token.iat
  grant.exp = token.exp
  await grant.save()
}

/** Destroys the Grant of an access token that will not be issued. */
export async function dropGrant(ctx: GrantContext, token: AccessTokenDraft): Promise<void> {
  await ctx.oidc.provider.Grant.adapter.destroy(token.grantId)
}

/** Ends an opaque access token by its Grant. Works at any moment, also before the token is saved. */
export async function endAccessToken(provider: Provider, grantId: string): Promise<void> {
  await provider.Grant.adapter.destroy(grantId)
  await provider.AccessToken.revokeByGrantId(grantId)
}
