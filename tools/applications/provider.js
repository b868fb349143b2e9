/** The provider that the applications sign in at, with pages as small as can be, and the door to them as someone else. */
import { exportJWK, generateKeyPair } from 'jose'
import Provider from 'oidc-provider'
import { createMemoryStore } from '../../packages/store-contract/src/index.ts'
import { createImpersonation } from '../../src/index.ts'

const findAccount = (_ctx, accountId) =>
  /^(sam|alice-.+)$/.test(accountId) ? { accountId, claims: () => ({ sub: accountId }) } : undefined

/** The provider's own `fetch` refuses addresses of this machine. */
const reachThisMachine = (url, { dispatcher: _, ...options }) => fetch(url, options)

/** `sessions` last this many seconds. */
export async function createProvider(issuer, clients, ttl) {
  const door = `${issuer}/door`
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const impersonation = createImpersonation({ store: createMemoryStore(), sessions: { door, ttl } })
  const provider = new Provider(
    issuer,
    impersonation.configure({
      clients,
      findAccount,
      fetch: reachThisMachine,
      jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: 'key' }] },
      cookies: { keys: ['a key for this run'] },
      features: { devInteractions: { enabled: true }, backchannelLogout: { enabled: true } },
    }),
  )
  impersonation.attach(provider)
  /** The access token that an application got last, by the account. */
  const issued = new Map()
  provider.on('access_token.saved', ({ accountId, jti }) => issued.set(accountId, jti))
  const userinfo = async (accountId) => {
    const headers = { authorization: `Bearer ${issued.get(accountId)}` }
    return (await fetch(`${issuer}/me`, { headers })).status
  }
  const management = impersonation.handler()
  const others = provider.callback()
  const handler = (request, response) => management(request, response, () => others(request, response))
  return { provider, door, records: impersonation.records, handler, userinfo }
}
