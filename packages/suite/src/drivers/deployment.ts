/**
 * A deployment of oidc-provider-impersonation that runs: its addresses and credentials come from the environment
 * (`SUITE_ISSUER`, `SUITE_BACKEND_ID` …; `template/deployment.ts` lists them). It changes nothing but its own records.
 */
import type { Configuration, Driver, Profile, TokenRequest } from '../driver.ts'
import { send } from '../http.ts'
import { type Settings, settingsOf } from './environment.ts'
import { ManagementTokens } from './management.ts'
import { ReceivedTokens } from './received-tokens.ts'

/** The profiles that the settings allow. */
function profilesOf({ opaque, introspecting, actor, dpop }: Settings): Profile[] {
  return [
    'management-token',
    'single-use',
    'resource',
    'jwt',
    'metadata',
    ...(opaque ? (['opaque'] as const) : []),
    ...(introspecting ? (['introspection'] as const) : []),
    ...(actor ? (['delegation'] as const) : []),
    ...(dpop ? (['dpop'] as const) : []),
  ]
}

/** A member of the metadata that must be an address. */
function address(metadata: Readonly<Record<string, unknown>> | undefined, name: string): string {
  const value = metadata?.[name]
  if (typeof value !== 'string') throw new Error(`the metadata of the issuer has no ${name}`)
  return value
}

/** Both runs share a management API that issues every subject token. */
async function start(settings: Settings) {
  const { issuer, backend, introspecting, user, otherClientId, managementResource, context, scopes } =
    settings
  const metadata = `${issuer}/.well-known/openid-configuration`
  const { body } = await send(fetch, metadata)
  const tokenEndpoint = address(body, 'token_endpoint')
  const [scope = ''] = scopes
  const tokens = new ManagementTokens({
    ...{ tokenEndpoint, managementResource, backend, user, otherClientId, context, scope },
  })
  await tokens.prepare()
  const common = {
    issuer,
    tokenEndpoint,
    metadata,
    jwksUri: address(body, 'jwks_uri'),
    ...(introspecting && { introspectionEndpoint: address(body, 'introspection_endpoint') }),
    subject: settings.subject,
    close: () => tokens.close(),
  } satisfies Partial<Driver>
  const clients = { withoutGrant: backend, ...(introspecting && { introspecting }) }
  return { common, clients, tokens }
}

async function openImpersonation(settings: Settings): Promise<Driver> {
  const { client, resource, audience, scopes, opaque, actor } = settings
  const { common, clients, tokens } = await start(settings)
  return {
    ...common,
    clients: { main: client, ...clients },
    targets: {
      jwt: { parameters: { resource }, audience, scopes },
      ...(opaque && { opaque: { ...opaque, parameters: { resource: opaque.resource } } }),
    },
    ...(actor && { actor: actor.sub }),
    subjectToken: ({ kind }: TokenRequest) => tokens.get(kind),
    actorToken: async ({ kind }: TokenRequest) => (kind === 'valid' ? actor?.token : undefined),
  }
}

/** The API exchanges what the application has exchanged before. */
async function openOnBehalfOf(settings: Settings, api: NonNullable<Settings['api']>): Promise<Driver> {
  const { common, clients, tokens } = await start(settings)
  const received = new ReceivedTokens(common.tokenEndpoint, settings, tokens)
  const { client, resource, audience, scopes } = api
  return {
    ...common,
    clients: { main: client, ...clients },
    targets: { jwt: { parameters: { resource }, audience, scopes } },
    ...(settings.actor && { earlierActor: settings.actor.sub }),
    subjectToken: ({ kind }: TokenRequest) => received.get(kind),
  }
}

/** The configurations for the environment that is given. @throws {TypeError} that names the variables that are missing. */
export function deployment(environment: Readonly<Record<string, string | undefined>>): Configuration[] {
  const settings = settingsOf(environment)
  const { issuer, api, actor, dpop } = settings
  const impersonation: Configuration = {
    name: issuer,
    profiles: profilesOf(settings),
    open: () => openImpersonation(settings),
  }
  if (!api) return [impersonation]
  const onBehalfOf: Configuration = {
    name: `${issuer}, on behalf of`,
    profiles: [
      'on-behalf-of',
      'resource',
      'jwt',
      'metadata',
      ...(actor ? (['chains'] as const) : []),
      ...(dpop ? (['dpop'] as const) : []),
    ],
    open: () => openOnBehalfOf(settings, api),
  }
  return [impersonation, onBehalfOf]
}
