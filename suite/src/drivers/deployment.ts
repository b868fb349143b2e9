/**
 * A deployment of oidc-provider-impersonation that runs: its addresses and credentials come from the environment
 * (`SUITE_ISSUER`, `SUITE_BACKEND_ID` …; `template/deployment.ts` lists them). It changes nothing but its own records.
 */
import type { Configuration, Driver, Profile, TokenRequest } from '../driver.ts'
import { send } from '../http.ts'
import { type Settings, settingsOf } from './environment.ts'
import { ManagementTokens } from './management.ts'

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

async function open(settings: Settings): Promise<Driver> {
  const { issuer, backend, client, introspecting, user, resource, audience, scopes, opaque, actor } = settings
  const metadata = `${issuer}/.well-known/openid-configuration`
  const { body } = await send(fetch, metadata)
  const tokenEndpoint = address(body, 'token_endpoint')
  const { managementResource, context } = settings
  const [scope = ''] = scopes
  const tokens = new ManagementTokens({ tokenEndpoint, managementResource, backend, user, context, scope })
  await tokens.prepare()
  return {
    issuer,
    tokenEndpoint,
    metadata,
    jwksUri: address(body, 'jwks_uri'),
    ...(introspecting && { introspectionEndpoint: address(body, 'introspection_endpoint') }),
    clients: { main: client, withoutGrant: backend, ...(introspecting && { introspecting }) },
    targets: {
      jwt: { parameters: { resource }, audience, scopes },
      ...(opaque && { opaque: { ...opaque, parameters: { resource: opaque.resource } } }),
    },
    subject: settings.subject,
    ...(actor && { actor: actor.sub }),
    subjectToken: ({ kind }: TokenRequest) => tokens.get(kind),
    actorToken: async ({ kind }: TokenRequest) => (kind === 'valid' ? actor?.token : undefined),
    close: () => tokens.close(),
  }
}

/** The configuration for the environment that is given. @throws {TypeError} that names the variables that are missing. */
export function deployment(environment: Readonly<Record<string, string | undefined>>): Configuration {
  const settings = settingsOf(environment)
  return { name: settings.issuer, profiles: profilesOf(settings), open: () => open(settings) }
}
