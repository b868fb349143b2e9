/** Keys, algorithms and clients that contradict each other; who may issue and exchange. */
import type { Client, ClientMetadata, Configuration } from 'oidc-provider'
import { CLIENT_CREDENTIALS, TOKEN_EXCHANGE } from '../../constants.ts'
import { registeredManagementScopes, registeredResources } from '../../provider/clients.ts'
import { checkDownstream, isApi } from './downstream.ts'
import { type Finding, fault, messageOf, note, ok, warning } from './finding.ts'
import type { Deployment } from './module.ts'

export async function checkClients(deployment: Deployment): Promise<Finding[]> {
  const { provider, configuration } = deployment.inside
  const findings: Finding[] = []
  const clients: Client[] = []
  for (const { client_id: id } of configuration.clients ?? []) {
    try {
      // Not by `findClient`, for which invalid metadata is an unknown client.
      const client = await provider.Client.find(id)
      if (client) clients.push(client)
    } catch (error) {
      findings.push(
        fault('clients', `"${id}" fails at its first request: ${descriptionOf(error)}`, adviceFor(error)),
      )
    }
  }
  if (findings.length === 0 && clients.length > 0) {
    findings.push(ok('clients', `the metadata of ${clients.length} static clients is valid`))
  }
  return [
    ...findings,
    ...checkRoles(clients),
    ...(await checkDownstream(deployment, clients)),
    ...checkStrangers(configuration),
  ]
}

const descriptionOf = (error: unknown): string => {
  const description: unknown = Reflect.get(Object(error), 'error_description')
  return typeof description === 'string' ? description : messageOf(error)
}

/** What a stranger runs into first: the provider's default is RS256, whatever the keys are. */
const adviceFor = (error: unknown): string =>
  descriptionOf(error).includes('id_token_signed_response_alg')
    ? 'add clientDefaults: { id_token_signed_response_alg: … } with the algorithm of your signing key'
    : 'correct its metadata'

function checkRoles(clients: readonly Client[]): Finding[] {
  const names = (found: readonly Client[]) => found.map(({ clientId }) => clientId).join(', ')
  const issuers = clients.filter((client) => registeredManagementScopes(client).has('subject-tokens:create'))
  const exchangers = clients.filter((client) => client.grantTypes?.includes(TOKEN_EXCHANGE) && !isApi(client))
  const unlimited = exchangers.filter((client) => registeredResources(client.metadata()) === undefined)
  return [
    issuers.length > 0
      ? ok('who may issue', names(issuers))
      : note('who may issue', 'no static client; clients that are stored elsewhere were not looked at'),
    exchangers.length > 0
      ? ok('who may exchange', names(exchangers))
      : note('who may exchange', 'no static client; clients that are stored elsewhere were not looked at'),
    ...(unlimited.length > 0
      ? [
          warning(
            'resources',
            `may exchange for every resource: ${names(unlimited)}`,
            'give them token_exchange_resources',
          ),
        ]
      : []),
  ]
}

/** Whether someone who is not known can get further than the deployment intends. */
function checkStrangers({ features = {}, clientDefaults = {} }: Configuration): Finding[] {
  const { registration, clientIdMetadataDocument, clientCredentials } = features
  const open = [
    ...(registration?.enabled && !registration.initialAccessToken ? ['dynamic registration'] : []),
    ...(clientIdMetadataDocument?.enabled ? ['client-ID metadata documents'] : []),
  ]
  if (open.length === 0) return [ok('strangers', 'no one registers without an initial access token')]
  const by = open.join(' and ')
  const granted = (clientDefaults as Partial<ClientMetadata>).grant_types?.includes(CLIENT_CREDENTIALS)
  if (clientCredentials?.enabled || granted) {
    return [
      warning(
        'strangers',
        `${by} give anyone client_credentials, because you enabled that grant yourself`,
        'require an initial access token, or leave features.clientCredentials to configure()',
      ),
    ]
  }
  return [ok('strangers', `${by} give neither the exchange nor the management API`)]
}
