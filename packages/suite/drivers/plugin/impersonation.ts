/** Subject tokens of the management API, and people who act with access tokens (protocol.md §1 to §4). */
import { actorToken, withActor } from '../../../../fixtures/actor-tokens.ts'
import { machineClient, webClient } from '../../../../fixtures/clients.ts'
import { now } from '../../../../fixtures/clock.ts'
import { API, type Deployment, OPAQUE_API, startDeployment } from '../../../../fixtures/deployment.ts'
import { exchange } from '../../../../fixtures/requests.ts'
import { newToken } from '../../../../fixtures/subject-tokens.ts'
import { createSubjectTokenStore } from '../../../../src/sequelize/index.ts'
import { mintId } from '../../../../src/tokens/id.ts'
import { hashToken, mintToken } from '../../../../src/tokens/secret.ts'
import type { NewSubjectToken } from '../../../../src/tokens/subject-token.ts'
import type { Configuration, Driver, TokenKind, TokenRequest } from '../../src/driver.ts'
import { ManagementTokens } from '../../src/drivers/management.ts'
import { boundClients, CONFIGURATION, clientOf, common } from './deployment.ts'
import { personToken } from './people.ts'

const USER = 'alice'
const BOB = { accountId: 'bob', scope: 'openid' }

interface Variant {
  readonly name: string
  /** The format of the actor tokens that are valid. */
  readonly actors: 'jwt' | 'opaque'
  readonly requireActor: boolean
}

async function open({ actors, requireActor }: Variant): Promise<Driver> {
  const main = webClient()
  const deployment = await startDeployment({
    clients: boundClients(main),
    options: { maxDelegationDepth: 2, requireActor },
    configuration: CONFIGURATION,
  })
  const tokens = await managementTokens(deployment)
  return {
    ...common(deployment, main),
    targets: {
      jwt: { parameters: { resource: API }, audience: API, scopes: ['orders:read', 'orders:write'] },
      opaque: { parameters: { resource: OPAQUE_API }, audience: OPAQUE_API, scopes: ['orders:read'] },
    },
    actor: 'bob',
    earlierActor: 'carol',
    actorRequired: requireActor,
    subjectToken: ({ kind }) => subjectToken(deployment, tokens, kind),
    actorToken: (request) => actor(deployment, actors, request),
    close: () => deployment.close(),
  }
}

async function managementTokens({ tokenEndpoint, baseUrl }: Deployment): Promise<ManagementTokens> {
  const tokens = new ManagementTokens({
    tokenEndpoint,
    managementResource: `${baseUrl}/api`,
    backend: clientOf(machineClient()),
    user: USER,
    otherClientId: 'spa',
    context: {},
    scope: 'orders:read',
  })
  await tokens.prepare()
  return tokens
}

/** What the API cannot issue is put into the store: time that has passed, and another issuer. */
async function subjectToken(
  deployment: Deployment,
  tokens: ManagementTokens,
  kind: TokenKind,
): Promise<string | undefined> {
  switch (kind) {
    case 'expired':
      return stored(deployment, { expiresAt: now() - 3600 })
    case 'just-expired':
      return stored(deployment, { expiresAt: now() - 2 })
    case 'other-issuer':
      return stored(deployment, { issuer: 'https://other.example.com/oidc' })
    case 'user-gone':
      return userGone(deployment, tokens)
    case 'id-token':
    case 'refresh-token':
      return personToken(deployment, { accountId: USER, scope: 'openid' }, { kind })
  }
  return tokens.get(kind)
}

const gone = new WeakMap<Deployment, string>()

/** One token for the whole run, because the user can be disabled once. No exchange spends it. */
async function userGone(deployment: Deployment, tokens: ManagementTokens): Promise<string> {
  const known = gone.get(deployment)
  if (known !== undefined) return known
  const { token } = await tokens.issue({ userId: 'erin' })
  deployment.accounts.disable('erin')
  gone.set(deployment, token)
  return token
}

async function stored({ database, issuer }: Deployment, changes: Partial<NewSubjectToken>): Promise<string> {
  const id = mintId()
  const token = mintToken(id)
  const record = newToken({ id, tokenHash: hashToken(token), issuer, userId: USER, ...changes })
  await createSubjectTokenStore(database.sequelize).insert(record)
  return token
}

async function actor(
  deployment: Deployment,
  format: Variant['actors'],
  request: TokenRequest,
): Promise<string | undefined> {
  if (request.kind === 'chain') return bobByCarol(deployment)
  if (request.kind === 'valid') return actorToken(deployment, { ...BOB, format })
  return personToken(deployment, BOB, request)
}

/** A token of bob in which carol acts: it came from an exchange. */
async function bobByCarol(deployment: Deployment): Promise<string> {
  const tokens = await managementTokens(deployment)
  const { token } = await tokens.issue({ userId: 'bob' })
  const carol = withActor(await actorToken(deployment, { accountId: 'carol' }))
  const answer = await exchange(deployment, { subject_token: token, scope: 'openid', ...carol })
  return answer.body.access_token
}

const configuration = (variant: Variant): Configuration => ({
  name: `oidc-provider-impersonation, ${variant.name}`,
  profiles: [
    'management-token',
    'single-use',
    'delegation',
    'chains',
    'resource',
    'jwt',
    'opaque',
    'introspection',
    'dpop',
    'mtls',
    'metadata',
  ],
  open: () => open(variant),
})

export const impersonation = configuration({
  name: 'impersonation and delegation',
  actors: 'jwt',
  requireActor: false,
})
export const withRequiredActor = configuration({
  name: 'an actor is required, actor tokens are opaque',
  actors: 'opaque',
  requireActor: true,
})
