/** An API that exchanges the access token it received (protocol.md §8). */
import { type Deployment, startDeployment } from '../../../../fixtures/deployment.ts'
import { revoke } from '../../../../fixtures/management.ts'
import { apiClient, BILLING, downstream, viewed } from '../../../../fixtures/on-behalf-of.ts'
import type { Configuration, Driver, TokenRequest } from '../../src/driver.ts'
import { boundClients, CONFIGURATION, common } from './deployment.ts'
import { personToken } from './people.ts'

const SCOPES = ['orders:read', 'orders:write']

async function open(): Promise<Driver> {
  const main = apiClient()
  const deployment = await startDeployment(
    downstream({}, { clients: boundClients(main), configuration: CONFIGURATION }),
  )
  return {
    ...common(deployment, main),
    targets: { jwt: { parameters: { resource: BILLING }, audience: BILLING, scopes: SCOPES } },
    earlierActor: 'bob',
    subjectToken: (request) => subjectToken(deployment, request),
    close: () => deployment.close(),
  }
}

async function subjectToken(deployment: Deployment, request: TokenRequest): Promise<string | undefined> {
  switch (request.kind) {
    case 'chain':
      return (await viewed(deployment)).accessToken
    case 'revoked':
      return stopped(deployment)
  }
  return personToken(deployment, { accountId: 'alice', scope: SCOPES.join(' ') }, request)
}

/** A JWT whose impersonation was stopped: its status list says so. */
async function stopped(deployment: Deployment): Promise<string> {
  const { accessToken, id } = await viewed(deployment)
  await revoke(deployment, id)
  return accessToken
}

export const onBehalfOf: Configuration = {
  name: 'oidc-provider-impersonation, on behalf of',
  profiles: ['on-behalf-of', 'chains', 'resource', 'jwt', 'dpop', 'mtls', 'metadata'],
  open,
}
