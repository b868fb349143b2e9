/** Access tokens of people at a deployment of this repository, of every kind that the suite asks for. */
import { actorJwt, actorToken } from '../../../../fixtures/actor-tokens.ts'
import { now } from '../../../../fixtures/clock.ts'
import { API, type Deployment } from '../../../../fixtures/deployment.ts'
import { managementToken } from '../../../../fixtures/requests.ts'
import type { TokenKind, TokenRequest } from '../../src/driver.ts'

export interface Person {
  readonly accountId: string
  readonly scope: string
}

/** JWTs of the provider's own key, with claims that it would not issue now. */
const CLAIMS: Readonly<Partial<Record<TokenKind, () => Readonly<Record<string, unknown>>>>> = {
  expired: () => ({ iat: now() - 7200, exp: now() - 3600 }),
  'just-expired': () => ({ iat: now() - 600, exp: now() - 2 }),
  'other-issuer': () => ({ iss: 'https://other.example.com/oidc' }),
  'other-audience': () => ({ aud: 'https://other.example.com' }),
  'user-gone': () => ({ sub: 'mallory' }),
  narrow: () => ({ scope: 'orders:read' }),
}

/** Returns `undefined` for kinds that need more than an access token. */
export async function personToken(
  deployment: Deployment,
  { accountId, scope }: Person,
  { kind, jkt }: TokenRequest,
): Promise<string | undefined> {
  const own = { sub: accountId, scope, aud: API }
  const claims = CLAIMS[kind]?.()
  if (claims) return actorJwt(deployment, { ...own, ...claims })
  switch (kind) {
    case 'valid':
      return actorToken(deployment, { accountId, scope, format: 'jwt' })
    case 'bound':
      return actorJwt(deployment, { ...own, cnf: { jkt } })
    case 'revoked':
      return revoked(deployment, { accountId, scope })
    case 'id-token':
      return actorJwt(
        deployment,
        { sub: accountId, aud: 'spa', client_id: undefined },
        { header: { typ: 'JWT' } },
      )
    case 'refresh-token':
      return refreshToken(deployment, { accountId, scope })
    case 'client':
      return managementToken(deployment)
  }
  return undefined
}

/** An opaque token, because the provider's JWTs cannot be revoked. */
async function revoked(deployment: Deployment, { accountId, scope }: Person): Promise<string> {
  const value = await actorToken(deployment, { accountId, scope, audience: API })
  const token = await deployment.provider.AccessToken.find(value)
  await token?.destroy()
  return value
}

async function refreshToken({ provider }: Deployment, { accountId, scope }: Person): Promise<string> {
  const client = await provider.Client.find('spa')
  if (!client) throw new Error('the deployment has no client spa')
  const grantId = await new provider.Grant({ clientId: 'spa', accountId }).save()
  return new provider.RefreshToken({ accountId, client, grantId, scope, gty: 'authorization_code' }).save()
}
