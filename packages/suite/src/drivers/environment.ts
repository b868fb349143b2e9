/** Reads the settings of a deployment from the environment, so that no credential is written into a file. */

export interface Settings {
  readonly issuer: string
  readonly managementResource: string
  readonly backend: { readonly id: string; readonly secret: string }
  readonly client: { readonly id: string; readonly secret?: string }
  /** Another client that may exchange. */
  readonly otherClientId?: string | undefined
  readonly introspecting?: { readonly id: string; readonly secret: string }
  readonly user: string
  /** The `sub` of the user, if it is not the id. */
  readonly subject: string
  readonly resource: string
  readonly audience: string
  readonly scopes: readonly string[]
  readonly opaque?: {
    readonly resource: string
    readonly audience: string
    readonly scopes: readonly string[]
  }
  readonly actor?: { readonly token: string; readonly sub: string }
  /** The client of the API behind `resource`, and the API that it calls for its users. */
  readonly api?: {
    readonly client: { readonly id: string; readonly secret: string }
    readonly resource: string
    readonly audience: string
    readonly scopes: readonly string[]
  }
  readonly context: Readonly<Record<string, unknown>>
  readonly dpop: boolean
}

type Environment = Readonly<Record<string, string | undefined>>

/** @throws {TypeError} that names the variables that are missing. */
export function settingsOf(environment: Environment): Settings {
  const missing: string[] = []
  const get = (name: string): string | undefined => environment[`SUITE_${name}`] || undefined
  const need = (name: string): string => {
    const value = get(name)
    if (value === undefined) missing.push(`SUITE_${name}`)
    return value ?? ''
  }
  const issuer = need('ISSUER')
  const resource = need('RESOURCE')
  const user = need('USER')
  const clientSecret = get('CLIENT_SECRET')
  const settings = {
    issuer,
    managementResource: get('MANAGEMENT_RESOURCE') ?? `${issuer.replace(/\/(oidc)?\/?$/, '')}/api`,
    backend: { id: need('BACKEND_ID'), secret: need('BACKEND_SECRET') },
    client: { id: need('CLIENT_ID'), ...(clientSecret !== undefined && { secret: clientSecret }) },
    otherClientId: get('OTHER_CLIENT_ID'),
    user,
    subject: get('SUBJECT') ?? user,
    resource,
    audience: get('AUDIENCE') ?? resource,
    scopes: need('SCOPES').split(' '),
    ...optional(get),
    context: JSON.parse(get('CONTEXT') ?? '{"reason":"token-exchange-suite"}'),
    dpop: get('DPOP') === '1',
  }
  if (missing.length > 0) throw new TypeError(`set these variables: ${missing.join(', ')}`)
  return settings
}

/** Features that are tested only if they are set. */
function optional(
  get: (name: string) => string | undefined,
): Pick<Settings, 'introspecting' | 'opaque' | 'actor' | 'api'> {
  const [id, secret] = [get('INTROSPECTING_ID'), get('INTROSPECTING_SECRET')]
  const [opaque, scopes] = [get('OPAQUE_RESOURCE'), get('OPAQUE_SCOPES')]
  const [token, sub] = [get('ACTOR_TOKEN'), get('ACTOR')]
  return {
    ...(id !== undefined && secret !== undefined && { introspecting: { id, secret } }),
    ...(opaque !== undefined &&
      scopes !== undefined && {
        opaque: { resource: opaque, audience: get('OPAQUE_AUDIENCE') ?? opaque, scopes: scopes.split(' ') },
      }),
    ...(token !== undefined && sub !== undefined && { actor: { token, sub } }),
    ...apiOf(get),
  }
}

function apiOf(get: (name: string) => string | undefined): Pick<Settings, 'api'> {
  const [id, secret] = [get('API_ID'), get('API_SECRET')]
  const [resource, scopes] = [get('DOWNSTREAM_RESOURCE'), get('DOWNSTREAM_SCOPES')]
  if (id === undefined || secret === undefined || resource === undefined || scopes === undefined) return {}
  const audience = get('DOWNSTREAM_AUDIENCE') ?? resource
  return { api: { client: { id, secret }, resource, audience, scopes: scopes.split(' ') } }
}
