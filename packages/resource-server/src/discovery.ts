/** The issuer's metadata (OpenID Connect Discovery §4) and its keys, kept and renewed. */
import {
  type CryptoKey,
  createLocalJWKSet,
  errors,
  type JWSHeaderParameters,
  type JWTVerifyGetKey,
} from 'jose'
import { difference, ProviderUnavailable } from './errors.ts'
import type { Send } from './http.ts'
import { isObject, type JsonObject, parseObject } from './json.ts'
import { Keeper, type Kept } from './kept.ts'
import { isProtected, type ResolvedOptions } from './options.ts'
import { instant, type Seconds } from './time.ts'

export interface Issuer {
  /** The key that a JWT of the issuer names by its header; looked up in the issuer's own set, and nowhere else. */
  readonly keyOf: JWTVerifyGetKey
  introspectionEndpoint(): Promise<string>
}

/** A key that the issuer withdraws is known as withdrawn after this time. */
export const FRESH: Seconds = 600
/** While the issuer cannot be reached: an outage of an hour does not end the users' own tokens. */
export const USABLE: Seconds = 3600
/** How often keys are fetched because a token names one that is not known: anyone may send such tokens. */
export const UNKNOWN_KEY_REST: Seconds = 5
const LIMIT = 256 * 1024

export function issuerOf({ issuer, timeout }: ResolvedOptions, send: Send): Issuer {
  const getJson = async (what: string, url: string) =>
    parseObject(what, await send({ what, url, accept: 'application/json', limit: LIMIT, timeout }))

  const metadata = new Keeper('discovery', async () => {
    const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
    const what = `discovery at ${url}`
    const found = await getJson(what, url)
    // OpenID Connect Discovery §4.3: or a typo could make another issuer's keys ours.
    if (found.issuer !== issuer)
      throw new ProviderUnavailable(`${what}: another issuer: ${difference(issuer, found.issuer)}`)
    return justArrived(found)
  })
  const endpoint = async (name: 'jwks_uri' | 'introspection_endpoint') => {
    const url = (await metadata.get())[name]
    if (!isProtected(url)) throw new ProviderUnavailable(`discovery: no usable ${name}`)
    return url
  }
  const keys = new Keeper('keys', async () =>
    justArrived(keySet(await getJson('keys', await endpoint('jwks_uri')))),
  )

  return {
    async keyOf(header, token) {
      const known = await find(await keys.get(), header, token)
      if (known) return known
      const found = await find(await keys.newerThan(UNKNOWN_KEY_REST), header, token)
      if (!found) throw new errors.JWKSNoMatchingKey()
      return found
    },
    introspectionEndpoint: () => endpoint('introspection_endpoint'),
  }
}

function justArrived<Value>(value: Value): Kept<Value> {
  const arrivedAt = instant()
  return { value, since: arrivedAt, arrivedAt, freshFor: FRESH, usableUntil: arrivedAt + USABLE }
}

type KeySet = ReturnType<typeof createLocalJWKSet>

function keySet(found: JsonObject): KeySet {
  const { keys } = found
  if (!Array.isArray(keys) || !keys.every(isObject)) throw new ProviderUnavailable('keys: not a key set')
  return createLocalJWKSet({ keys })
}

async function find(
  keys: KeySet,
  header: JWSHeaderParameters,
  token: Parameters<JWTVerifyGetKey>[1],
): Promise<CryptoKey | undefined> {
  try {
    return await keys(header, token)
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return undefined
    // Several fit, because the token does not say which: the token's fault.
    if (error instanceof errors.JWKSMultipleMatchingKeys) throw error
    throw new ProviderUnavailable('keys: one of them cannot be used')
  }
}
