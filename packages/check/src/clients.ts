/** Keys, algorithms and clients that contradict each other; who may issue and exchange. */

import { type Client, type ClientMetadata, type Configuration, errors } from 'oidc-provider'
import { TOKEN_EXCHANGE } from 'oidc-provider-impersonation'
import {
  CLIENT_CREDENTIALS,
  type Deployment,
  registeredAudiences,
  registeredManagementScopes,
  registeredResources,
  withoutDocument,
} from 'oidc-provider-impersonation/inside'
import {
  descriptionOf,
  type Finding,
  fault,
  namedOrNone,
  namesOf,
  ok,
  someoneMay,
  warning,
} from './finding.ts'
import { checkResources } from './resources.ts'

/** The clients of a deployment that can be read, and what is wrong with the others. */
export interface FoundClients {
  readonly clients: readonly Client[]
  readonly findings: readonly Finding[]
}

/** `named`: ids that an example names, of stored clients too. */
export async function findClients(
  { inside: { provider, configuration } }: Deployment,
  named: readonly string[] = [],
): Promise<FoundClients> {
  const findings: Finding[] = []
  const clients: Client[] = []
  const fixed = (configuration.clients ?? []).map(({ client_id: id }) => id)
  for (const id of new Set([...fixed, ...named])) {
    try {
      // Not by `findRegisteredClient`, for which invalid metadata is an unknown client.
      const client = await withoutDocument(() => provider.Client.find(id))
      if (client) clients.push(client)
    } catch (error) {
      findings.push(unusable(id, error))
    }
  }
  if (findings.length === 0 && clients.length > 0) {
    const stored = clients.filter(({ clientId }) => !fixed.includes(clientId))
    const seen = [fixed.length > 0 && `${fixed.length} static clients`, namesOf(stored)].filter(Boolean)
    findings.push(ok('clients', `the metadata of ${seen.join(' and ')} is valid`))
  }
  return { clients, findings }
}

/** `resources`: what an example asks for. */
export async function checkClients(
  deployment: Deployment,
  { clients, findings }: FoundClients,
  resources: readonly string[] = [],
): Promise<Finding[]> {
  const { configuration, options } = deployment.inside
  const exchangers = clients.filter((client) => client.grantTypes?.includes(TOKEN_EXCHANGE) && !isApi(client))
  return [
    ...findings,
    ...checkSecrets(clients),
    ...checkRoles(clients, exchangers),
    ...(await checkResources(deployment, exchangers, resources)),
    ...(options.onBehalfOf ? checkApis(clients.filter(isApi)) : []),
    ...checkStrangers(configuration),
  ]
}

function unusable(id: string, error: unknown): Finding {
  const description = descriptionOf(error)
  if (description.includes('metadata document')) {
    const text = `"${id}" is not registered, and no metadata document of it was fetched`
    return fault('clients', text, 'name a registered client: a subject token is for no other')
  }
  return fault('clients', `"${id}" fails at its first request: ${description}`, adviceFor(error))
}

/** A newcomer meets this first: the provider's default is RS256, whatever the keys are. */
function adviceFor(error: unknown): string {
  if (descriptionOf(error).includes('id_token_signed_response_alg'))
    return 'add clientDefaults: { id_token_signed_response_alg: … } with the algorithm of your signing key'
  return error instanceof errors.OIDCProviderError
    ? 'correct its metadata'
    : 'look at what reads and validates its metadata: your adapter, its database, your validator'
}

/** `Authorization: Basic` is form-decoded (RFC 6749 §2.3.1), and many clients do not encode what they send. */
function checkSecrets(clients: readonly Client[]): Finding[] {
  const about = 'secrets'
  const basic = clients.filter((client) => client.tokenEndpointAuthMethod === 'client_secret_basic')
  const findings = basic.flatMap(({ clientId, clientSecret = '' }) => {
    const id = isItself(clientId) && !clientId.includes(':') ? [] : ['id']
    const parts = [...id, ...(isItself(clientSecret) ? [] : ['secret'])].join(' and ')
    const text = `"${clientId}": Authorization: Basic cannot carry its ${parts} unencoded`
    const advice = 'use A–Z a–z 0–9 - . _ ~ alone, or form-encode id and secret before Base64'
    return parts ? [fault(about, text, advice)] : []
  })
  if (findings.length > 0 || basic.length === 0) return findings
  return [ok(about, `Authorization: Basic can carry those of ${namesOf(basic)}`)]
}

/** Whether it says the same once it has been form-decoded. */
function isItself(text: string): boolean {
  try {
    return decodeURIComponent(text.replaceAll('+', ' ')) === text
  } catch {
    return false
  }
}

const ISSUE = 'subject-tokens:create'

function checkRoles(clients: readonly Client[], exchangers: readonly Client[]): Finding[] {
  const issuers = clients.filter((client) => registeredManagementScopes(client).has(ISSUE))
  const unlimited = exchangers.filter((client) => registeredResources(client.metadata()) === undefined)
  const text = `may exchange for every resource: ${namesOf(unlimited)}`
  const exchange = `add ${TOKEN_EXCHANGE} to the grant_types of your application`
  return [
    someoneMay('who may issue', issuers, `add ${ISSUE} to the scope of your backend`),
    someoneMay('who may exchange', exchangers, exchange),
    ...(unlimited.length > 0 ? [warning('resources', text, 'give them token_exchange_resources')] : []),
  ]
}

const audiencesOf = (client: Client): readonly string[] | undefined => registeredAudiences(client.metadata())

/** It exchanges the tokens it receives, and never a subject token. */
const isApi = (client: Client): boolean => audiencesOf(client) !== undefined

/** A client with an audience can exchange the tokens of that API. */
function checkApis(apis: readonly Client[]): Finding[] {
  const audiences = new Set(apis.flatMap((api) => audiencesOf(api) ?? []))
  const shared = [...audiences].flatMap((audience) => {
    const sharing = apis.filter((api) => audiencesOf(api)?.includes(audience))
    if (sharing.length < 2) return []
    const text = `${namesOf(sharing)} all exchange tokens for ${audience}`
    return [warning('downstream', text, 'leave the audience to the API that has it')]
  })
  return [namedOrNone('who may go downstream', apis), ...shared]
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
  if (!clientCredentials?.enabled && !granted)
    return [ok('strangers', `${by} give neither the exchange nor the management API`)]
  const text = `${by} give anyone client_credentials, because you enabled that grant yourself`
  const advice = 'require an initial access token, or leave features.clientCredentials to configure()'
  return [warning('strangers', text, advice)]
}
