/** One Token Status List in JWT form (draft-ietf-oauth-status-list §4.1, §5.1): built and signed. */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { deflate } from 'node:zlib'
import { epochTime, type Seconds } from '../../base/clock.ts'
import type { JwtSigner } from '../../provider/keys.ts'
import { STATUS_LIST_SIZE } from '../../tokens/subject-token.ts'
import type { Stopped, StoppedList } from './stopped.ts'

/** A list as it is sent. */
export interface SignedStatusList {
  readonly jwt: string
  /** The entity tag (RFC 9110 §8.8.3). */
  readonly etag: string
  readonly iat: Seconds
}

interface Publication {
  readonly issuer: string
  readonly number: number
  readonly uri: string
  readonly ttl: Seconds
  readonly signJwt: JwtSigner
}

interface Signed extends SignedStatusList {
  readonly version: number
  /** When the first of its bits is not shown any more. */
  readonly completeUntil: Seconds
}

/** zlib at its default level, 6: above it, compression takes ten times as long and saves hardly anything. */
const compress = promisify<Buffer, Buffer>(deflate)

/** Returns the list that shows what is stopped. One that was signed before serves while it says the same. */
export function statusListOf(publication: Publication): (stopped: Stopped) => Promise<SignedStatusList> {
  let last: Signed | undefined
  let signing: Promise<Signed> | undefined
  const start = async (list: StoppedList, asOf: Seconds) => {
    try {
      last = await sign(publication, list, asOf)
      return last
    } finally {
      signing = undefined
    }
  }
  return async (stopped) => {
    const list = stopped.list(publication.number)
    const current = () => (last && isCurrent(last, list, stopped.asOf, publication) ? last : undefined)
    // A list that is being signed may have begun before the last stop.
    if (!current() && signing) await signing.catch(() => {})
    const known = current()
    if (known) return known
    // A list that begins now serves in any case: otherwise a slow key could keep a reader waiting without end.
    signing ??= start(list, stopped.asOf)
    return signing
  }
}

function isCurrent(
  { version, iat, completeUntil }: Signed,
  list: StoppedList,
  asOf: Seconds,
  { ttl }: Publication,
): boolean {
  const age = asOf - iat
  return version === list.version && age >= 0 && age < ttl / 2 && epochTime() < completeUntil
}

async function sign(
  { issuer, uri, ttl, signJwt }: Publication,
  { shownUntil, version }: StoppedList,
  asOf: Seconds,
): Promise<Signed> {
  const now = epochTime()
  const bytes = Buffer.alloc(STATUS_LIST_SIZE / 8)
  let completeUntil = Number.POSITIVE_INFINITY
  for (const [index, until] of shownUntil) {
    if (until <= now) continue
    setBit(bytes, index)
    completeUntil = Math.min(completeUntil, until)
  }
  const lst = (await compress(bytes)).toString('base64url')
  // Readers count `ttl` from `iat`: it must not be later than what the list knows.
  const claims = {
    iss: issuer,
    sub: uri,
    iat: asOf,
    exp: asOf + 10 * ttl,
    ttl,
    status_list: { bits: 1, lst },
  }
  const jwt = await signJwt('statuslist+jwt', claims)
  const etag = `"${createHash('sha256').update(jwt).digest('base64url')}"`
  return { jwt, etag, iat: asOf, version, completeUntil }
}

/** Bits of a byte count from the least significant one (draft-ietf-oauth-status-list §4.1). */
function setBit(bytes: Buffer, index: number): void {
  const place = index >> 3
  bytes.writeUInt8(bytes.readUInt8(place) | (1 << (index & 7)), place)
}
