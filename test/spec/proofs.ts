/** How a request proves who sends it, and clients that must prove a key. */
import type { ClientMetadata } from 'oidc-provider'
import { CERTIFICATE } from '../../fixtures/clients.ts'
import { type DpopKey, dpopKey } from '../../fixtures/dpop.ts'
import type { Parameters } from '../../fixtures/http.ts'
import { signingKey } from '../../fixtures/keys.ts'
import { assertionBy } from '../../fixtures/requests.ts'
import { confidential } from './exchanging.ts'
import { stored } from './given.ts'
import type { Step } from './rule.ts'
import type { Scene } from './scene.ts'

type ClientOf = (scene: Scene) => ClientMetadata

/** The client of the door under another name, with this metadata. */
export const variant =
  (name: string, metadata: Partial<ClientMetadata>): ClientOf =>
  (scene) => {
    const client = confidential(scene)
    return { ...client, client_id: `${name}-${client.client_id}`, ...metadata }
  }

export const storedAs =
  (clientOf: ClientOf): Step =>
  (scene) =>
    stored(clientOf(scene))(scene)

export const by = (clientOf: ClientOf) => (scene: Scene) => ({ client: clientOf(scene) })
/** The client says who it is, and proves nothing. */
export const claiming = (clientOf: ClientOf) => (scene: Scene) => ({
  client: { client_id: clientOf(scene).client_id },
})

/** As by client_secret_post. */
export const secretOf =
  (clientOf: ClientOf) =>
  (scene: Scene): Parameters => {
    const { client_id, client_secret } = clientOf(scene)
    return { client_id, client_secret }
  }
export const secretInBody = secretOf(confidential)

export const mustProve = variant('dpop', { dpop_bound_access_tokens: true })
export const mustPresent = variant('mtls', { tls_client_certificate_bound_access_tokens: true })

let key: Promise<DpopKey> | undefined
export const theKey = (): Promise<DpopKey> => {
  key ??= dpopKey()
  return key
}
/** With a DPoP proof by that key. */
export const proven = async ({ setting }: Scene) => ({
  headers: { dpop: await (await theKey()).proof(setting) },
})
export const PRESENTED = { 'x-client-certificate': encodeURIComponent(CERTIFICATE) }

const ASSERTING = signingKey('ES256', 'asserting')
const { d: _, ...publicPart } = ASSERTING
export const asserting = variant('asserting', {
  client_secret: undefined,
  token_endpoint_auth_method: 'private_key_jwt',
  jwks: { keys: [publicPart] },
})
/** The parameters by which it authenticates. */
export const assertion = (scene: Scene, key = ASSERTING): Promise<Parameters> =>
  assertionBy(scene.setting, asserting(scene).client_id, key)
