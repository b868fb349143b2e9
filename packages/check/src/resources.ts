/** The resources that applications exchange for, as the exchange would resolve them. */
import { type Client, errors, type ResourceServerInstance } from 'oidc-provider'
import {
  type Deployment,
  type GrantContext,
  messageOf,
  registeredResources,
  requestedResourceServers,
  unsentRequest,
} from 'oidc-provider-impersonation/inside'
import { type Finding, fault, ok } from './finding.ts'
import { inTime } from './in-time.ts'

/**
 * The resource in a request of the client, or without a name the one that `defaultResource` gives it; `undefined`: this
 * client gets no token for it; a text: why that cannot be told.
 */
async function lookUp(
  { inside }: Deployment,
  client: Client,
  resource: string | undefined,
): Promise<ResourceServerInstance | string | undefined> {
  try {
    const servers = requestedResourceServers(contextOf(inside, client, { resource }))
    const [server] = await inTime(inside, 'it', servers)
    return typeof (server?.identifier() ?? '') === 'string' ? server : 'defaultResource returns no string'
  } catch (error) {
    return error instanceof errors.InvalidTarget ? undefined : messageOf(error)
  }
}

/** The context of a request of this client to the token endpoint, which no one sent. */
function contextOf({ provider }: Deployment['inside'], client: Client, params: object): GrantContext {
  const ctx = unsentRequest(provider)
  Object.assign(ctx.oidc, { route: 'token', params })
  ctx.oidc.entity('Client', client)
  return ctx as unknown as GrantContext
}

const ABOUT = 'resources'

const COMPARE =
  'write it, character by character, as getResourceServerInfo knows it, or correct that function'
const write = (resource: string) => `write ${resource} in its token_exchange_resources`

const otherSpelling = (resource: string) => (resource.endsWith('/') ? resource.slice(0, -1) : `${resource}/`)

/** Stands for what may be asked for where no name is known. */
const ANY = 'https://any.invalid'

/** `named`: resources that are asked for beside those in `token_exchange_resources`. */
export async function checkResources(
  deployment: Deployment,
  clients: readonly Client[],
  named: readonly string[],
): Promise<Finding[]> {
  const findings: Finding[] = []
  const known = new Map<string, ResourceServerInstance>()
  const listOf = (client: Client) => registeredResources(client.metadata())
  const names = [...clients.flatMap((client) => listOf(client) ?? []), ...named]
  for (const client of clients) {
    const list = listOf(client)
    for (const resource of new Set([...(list ?? (names.length > 0 ? names : [ANY])), undefined])) {
      const found = await lookUp(deployment, client, resource)
      if (typeof found === 'object') known.set(resource === ANY ? 'any resource' : found.identifier(), found)
      else if (resource === undefined ? found : list) {
        const other = otherSpelling(resource ?? '')
        const meant = await lookUp(deployment, client, other)
        if (typeof meant === 'object') known.set(other, meant)
        const start = `"${client.clientId}" may exchange for ${resource ?? 'what defaultResource returns'}`
        const why =
          found === undefined ? 'which getResourceServerInfo does not know' : `which fails: ${found}`
        findings.push(fault(ABOUT, `${start}, ${why}`, typeof meant === 'object' ? write(other) : COMPARE))
      }
    }
  }
  for (const [name, { accessTokenFormat }] of known) {
    if (accessTokenFormat) continue
    const text = `access tokens for ${name} are opaque, because getResourceServerInfo returns no accessTokenFormat: an API that expects a JWT refuses them`
    const advice = "return accessTokenFormat: 'jwt' for it, or 'opaque' if its API introspects"
    findings.push(fault(ABOUT, text, advice))
  }
  if (findings.length > 0 || known.size === 0) return findings
  return [ok(ABOUT, `${[...known.keys()].join(', ')}: known, and the format of the access tokens is set`)]
}
