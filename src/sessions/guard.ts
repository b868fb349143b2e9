/**
 * Tokens of a session leave only if all that decides about them was asked. A deployment that replaces what `configure`
 * returned would get tokens that name no one who acts.
 */
import { decodeJwt } from 'jose'
import type { KoaContextWithOIDC } from 'oidc-provider'
import { revokeSubjectToken } from '../records/stop.ts'
import { recordIdOf } from './names.ts'
import { hasReached, type SessionService } from './tokens.ts'

export const onlyBorneTokens =
  (service: SessionService) =>
  async (ctx: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> => {
    await next()
    const { route, entities } = ctx.oidc ?? {}
    const id = recordIdOf(entities?.AuthorizationCode?.grantId)
    if (route !== 'token' || ctx.status !== 200 || id === undefined || isBorne(ctx)) return
    Object.assign(ctx, { status: 500, body: '' })
    await revokeSubjectToken(service, id, {
      cause: 'host',
      reason: 'its tokens were not issued as configured',
    })
    throw new Error('tokens of a session need the configuration that impersonation.configure() returned')
  }

function isBorne(ctx: KoaContextWithOIDC): boolean {
  const { id_token: idToken, access_token: accessToken, refresh_token: refreshToken } = Object(ctx.body)
  const isJwt = String(accessToken).includes('.')
  // What is encrypted for the client cannot be read here.
  const isReadable = String(idToken).split('.').length === 3
  return (
    refreshToken === undefined &&
    (['IdToken', 'AccessToken', 'claims'] as const).every((stage) => hasReached(ctx, stage)) &&
    (!isJwt || hasReached(ctx, 'jwt')) &&
    (!isReadable || decodeJwt(idToken).act !== undefined)
  )
}
