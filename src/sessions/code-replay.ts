/** A code of a session was used again: someone has a copy. The session ends, and the record says why (protocol.md §10.6). */
import type { AuthorizationCode, Configuration, KoaContextWithOIDC } from 'oidc-provider'
import { requestOf } from '../provider/failures.ts'
import type { Service } from '../provider/settings.ts'
import { endReplayed } from '../records/replay.ts'
import { revokeSubjectToken } from '../records/stop.ts'
import { isSpent } from '../tokens/subject-token.ts'
import { onSimultaneousCodes, recordIdOf } from './provider.ts'

type Context = Pick<KoaContextWithOIDC, 'get'>
type Policy = NonNullable<Configuration['revokeGrantPolicy']>

/**
 * The provider asks this policy before it ends a Grant: at the token endpoint, because a code was used again. Here the
 * record is written first, so that there is no moment in which only the Grant knows.
 */
export function sessionGrantPolicy(given: Policy = providersOwn, service: () => Service): Policy {
  return async (ctx) => {
    const code = await codeOfRequest(ctx)
    const id = recordIdOf(code?.grantId)
    if (id === undefined) return given(ctx)
    await endCopied(service(), id, ctx)
    return true
  }
}

/** The code that a request at the token endpoint redeems, used or not; `undefined` at every other request. */
async function codeOfRequest({ oidc }: KoaContextWithOIDC): Promise<AuthorizationCode | undefined> {
  const { route, params, provider } = oidc
  if (route !== 'token' || params?.grant_type !== 'authorization_code') return undefined
  return provider.AuthorizationCode.find(String(params.code), { ignoreExpiration: true })
}

const providersOwn: Policy = ({ oidc }: KoaContextWithOIDC) =>
  oidc.route !== 'revocation' || oidc.entities.AccessToken === undefined

/** Follows what else ends a Grant at the provider. */
export function followGrants(service: Service): void {
  const { provider } = service
  // If two requests bring one code at the same moment, an adapter lets one win, and the provider asks no policy.
  onSimultaneousCodes(provider, async ({ grantId }, ctx) => {
    const id = recordIdOf(grantId)
    if (id !== undefined) await endCopied(service, id, ctx)
  })
  provider.on('grant.revoked', (ctx, grantId) => {
    const id = recordIdOf(grantId)
    if (id === undefined) return
    // After a replay this changes nothing. What fails is found again: by its end.
    void signOut(service, { id, clientId: ctx.oidc.client?.clientId, ctx }).catch(() => {})
  })
}

/** Stops the session in the name of its application, where someone has signed out. */
export async function signOut(
  service: Service,
  {
    id,
    clientId,
    ctx,
  }: { readonly id: string; readonly clientId: string | undefined; readonly ctx: Context },
): Promise<void> {
  const revocation = { cause: 'signedOut', ...(clientId !== undefined && { client: clientId }) } as const
  await revokeSubjectToken(service, id, revocation, { request: requestOf(ctx) })
}

async function endCopied(service: Service, id: string, ctx: Context | undefined): Promise<void> {
  const { provider, store } = service
  const token = await store.find(provider.issuer, id)
  if (!token || !isSpent(token)) return
  const { clientId } = token.use
  await endReplayed(service, token, { clientId, sameClient: true, request: ctx && requestOf(ctx) })
}
