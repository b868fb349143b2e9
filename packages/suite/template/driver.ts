/**
 * A driver for your server: copy this file, and replace what is marked. It runs by
 * `npx token-exchange-suite driver.ts` (Node 22.18 or newer runs TypeScript by itself).
 *
 * Begin with the profiles `access-token` and `jwt`, and with the token kind `valid`. Every kind that you add lets more
 * checks run; the report lists those that were skipped, and why. Your driver may get tokens in whatever way is easiest:
 * by logging in over HTTP, through an admin API, or from your own code if the server runs in the same process.
 */
import type { Configuration, Driver, TokenKind, TokenRequest } from 'token-exchange-suite'

const ISSUER = 'https://id.example.com' // replace

/** The user that the subject tokens are for. */
const SUBJECT = 'alice' // replace: the `sub` that your server issues

/** Gets an access token from your server. */
async function accessToken(username: string, scope: string): Promise<string> {
  // Replace this by a login that your server offers to tests.
  const response = await fetch(`${ISSUER}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'password',
      client_id: 'tests',
      username,
      password: process.env.TEST_PASSWORD ?? '',
      scope,
    }),
  })
  if (!response.ok) throw new Error(`no access token: ${response.status}`)
  const { access_token: token } = (await response.json()) as { access_token: string }
  return token
}

async function revoked(token: string): Promise<string> {
  await fetch(`${ISSUER}/revoke`, {
    method: 'POST',
    body: new URLSearchParams({ token, client_id: 'tests' }),
  })
  return token
}

/** One entry for each kind that you can make. `TokenKind` documents all of them. */
const subjectTokens: Partial<Record<TokenKind, () => Promise<string>>> = {
  valid: () => accessToken(SUBJECT, 'orders:read orders:write'),
  narrow: () => accessToken(SUBJECT, 'orders:read'),
  revoked: async () => revoked(await accessToken(SUBJECT, 'orders:read orders:write')),
}

const actorTokens: Partial<Record<TokenKind, () => Promise<string>>> = {
  valid: () => accessToken('bob', 'openid'),
}

const open = async (): Promise<Driver> => ({
  issuer: ISSUER,
  tokenEndpoint: `${ISSUER}/token`,
  jwksUri: `${ISSUER}/jwks`,
  clients: {
    main: { id: 'application', secret: process.env.CLIENT_SECRET ?? '' },
    withoutGrant: { id: 'another-application', secret: process.env.OTHER_SECRET ?? '' },
  },
  targets: {
    jwt: {
      parameters: { audience: 'orders' }, // or { resource: 'https://orders.example.com' }
      audience: 'orders',
      scopes: ['orders:read', 'orders:write'],
    },
  },
  subject: SUBJECT,
  actor: 'bob',
  subjectToken: async ({ kind }: TokenRequest) => subjectTokens[kind]?.(),
  actorToken: async ({ kind }: TokenRequest) => actorTokens[kind]?.(),
})

const configuration: Configuration = {
  name: 'my server 1.0',
  profiles: ['access-token', 'delegation', 'jwt'],
  // Checks that fail and stay red for now, each with the reason. One that passes again is reported.
  known: {},
  open,
}

export default configuration
