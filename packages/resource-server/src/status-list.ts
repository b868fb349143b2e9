/** One Token Status List in JWT form (draft-ietf-oauth-status-list §5.1, §8.3): verified, decompressed, and read. */
import { base64url, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import { TOKEN_ALGORITHMS } from './algorithms.ts'
import { readUpTo } from './bounded.ts'
import { ProviderUnavailable } from './errors.ts'
import { isObject } from './json.ts'
import { reasonOf } from './jwt.ts'
import type { Kept } from './kept.ts'
import { instant, type Seconds } from './time.ts'

export interface StatusList {
  readonly bits: number
  readonly bytes: Uint8Array
}

/**
 * Enough for 131,072 tokens with the most bits that a status may have, 8. It bounds the memory that a decompression
 * bomb can take.
 */
const MAX_BYTES = 131_072
/**
 * Enough for the same list when nothing of it can be compressed: 4/3 of it for `lst`, and 4/3 of that in the JWT, which
 * leaves 29 kB for the rest.
 */
export const MAX_RESPONSE = 256 * 1024
/** A list that claims to be fresh for longer is not believed: a revocation must show within minutes. */
const MAX_TTL: Seconds = 300
/** How long an old list may serve at most, if no newer one can be fetched. */
const MAX_LIFE: Seconds = 10 * MAX_TTL

interface Expected {
  readonly uri: string
  readonly issuer: string
  readonly keyOf: JWTVerifyGetKey
}

/** @throws {ProviderUnavailable} for a list that breaks a rule: it is as if it had not come. */
export async function readStatusList(jwt: string, expected: Expected): Promise<Kept<StatusList>> {
  const arrivedAt = instant()
  // The library has seen to it that both are there, and numbers.
  const { iat = 0, exp = 0, ttl, status_list } = await verify(jwt, expected)
  if (typeof ttl !== 'number' || !(ttl > 0)) throw unusable('ttl')
  return {
    value: await decompress(status_list),
    since: Math.min(iat, arrivedAt),
    arrivedAt,
    freshFor: Math.min(ttl, MAX_TTL),
    usableUntil: Math.min(exp, arrivedAt + MAX_LIFE),
  }
}

async function verify(jwt: string, { uri, issuer, keyOf }: Expected): Promise<JWTPayload> {
  const rules = {
    typ: 'statuslist+jwt',
    // With key and address alone, the list of another issuer could be taken for this one's.
    issuer,
    subject: uri,
    algorithms: TOKEN_ALGORITHMS,
    requiredClaims: ['iat', 'exp', 'ttl', 'status_list'],
  }
  try {
    const { payload } = await jwtVerify(jwt, keyOf, rules)
    return payload
  } catch (error) {
    throw error instanceof ProviderUnavailable ? error : unusable(reasonOf(error))
  }
}

async function decompress(value: unknown): Promise<StatusList> {
  const { bits, lst } = isObject(value) ? value : {}
  if (bits !== 1 && bits !== 2 && bits !== 4 && bits !== 8) throw unusable('bits')
  if (typeof lst !== 'string') throw unusable('lst')
  try {
    const compressed = new Blob([new Uint8Array(base64url.decode(lst))])
    const bytes = await readUpTo(
      MAX_BYTES,
      compressed.stream().pipeThrough(new DecompressionStream('deflate')),
    )
    return { bits, bytes }
  } catch {
    throw unusable('lst cannot be decompressed')
  }
}

const unusable = (reason: string) => new ProviderUnavailable(`status list: ${reason}`)

/** The status at an index (draft §4.1: from the least significant bit on); `undefined` outside the list. */
export function statusAt({ bits, bytes }: StatusList, index: number): number | undefined {
  const byte = bytes[Math.floor((index * bits) / 8)]
  return byte === undefined ? undefined : (byte >> ((index * bits) % 8)) & (2 ** bits - 1)
}
