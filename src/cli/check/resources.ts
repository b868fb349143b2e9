/** What the deployment's own `getResourceServerInfo` says of a resource, asked once for each resource and client. */
import { type Client, errors } from 'oidc-provider'
import { within } from '../../clock.ts'
import { isResourceIndicator } from '../../resource-indicator.ts'
import { contextOf } from './context.ts'
import { messageOf } from './finding.ts'
import type { Deployment } from './module.ts'

interface KnownResource {
  /** What `aud` of its access tokens says. */
  readonly audience: string
  readonly format: string
}

/** What is known of it; `undefined`: this client gets no token for it; a text: why that cannot be told. */
export type LookUp = (resource: string, client: Client) => Promise<KnownResource | string | undefined>

export function resourceLookUp({ inside }: Deployment): LookUp {
  const { configuration, options } = inside
  const getInfo = configuration.features?.resourceIndicators?.getResourceServerInfo
  const asked = new Map<string, ReturnType<LookUp>>()

  const ask: LookUp = async (resource, client) => {
    if (!getInfo || !isResourceIndicator(resource)) return undefined
    try {
      const info = Promise.resolve(getInfo(contextOf(inside), resource, client))
      const { audience = resource, accessTokenFormat = 'opaque' } = await within(
        options.customClaimsTimeout,
        info,
      )
      return { audience, format: accessTokenFormat }
    } catch (error) {
      return error instanceof errors.InvalidTarget ? undefined : messageOf(error) || 'it takes too long'
    }
  }
  return (resource, client) => {
    const key = JSON.stringify([resource, client.clientId])
    const known = asked.get(key) ?? ask(resource, client)
    asked.set(key, known)
    return known
  }
}
