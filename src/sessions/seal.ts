/** Values that a browser carries from one request to the next, encrypted and authenticated by the keys of the provider's cookies. */
import { hkdfSync } from 'node:crypto'
import { EncryptJWT, errors, jwtDecrypt } from 'jose'
import type { Configuration } from 'oidc-provider'
import { epochTime, type Seconds } from '../base/clock.ts'
import { isPlainObject } from '../base/json.ts'
import { isId } from '../tokens/id.ts'
import type { TokenHash } from '../tokens/secret.ts'

/** How long the application may take to begin its sign-in. */
export const TO_ARRIVE: Seconds = 60

/**
 * The purposes: a token that was brought to the door; the page that asks; a browser that may arrive at the application;
 * what the door keeps of that, because it does not get the cookie of the arrival. None can stand for another.
 */
export type Purpose = 'brought' | 'asked' | 'armed' | 'kept'

/** A subject token, without its secret, and what was found out about it. */
export interface Sealed {
  /** The id of the record. */
  readonly id: string
  readonly hash: TokenHash
  /** The client that will be opened, and the `uid` of the engineer's session. Once someone was asked. */
  readonly client?: string | undefined
  readonly session?: string | undefined
  /** When the engineer had signed in, once the browser is armed. */
  readonly loginTs?: Seconds | undefined
  /** Where in the application to begin, as the caller wishes. */
  readonly target?: string | undefined
}

/** The content that a browser arrives with, and when that is over. */
export interface Armed extends Sealed {
  readonly until: Seconds
}

/** The keys that sign the cookies: the first one seals, all of them open, so that they can be changed. */
export const keysOf = ({ cookies }: Configuration): readonly (string | Buffer)[] => {
  const keys: unknown = cookies?.keys
  return Array.isArray(keys) ? keys : []
}

const ALGORITHMS = { keyManagementAlgorithms: ['dir'], contentEncryptionAlgorithms: ['A256GCM'] }

export type Seal = ReturnType<typeof sealOf>

export function sealOf(issuer: string, configuration: Configuration) {
  const derive = (key: string | Buffer) =>
    new Uint8Array(hkdfSync('sha256', key, issuer, 'oidc-provider-impersonation sessions', 32))
  /** Opened by any of the keys. */
  async function decrypt(purpose: Purpose, value: string | undefined): Promise<Armed | undefined> {
    if (value === undefined) return undefined
    const expected = { issuer, audience: purpose, requiredClaims: ['exp'], ...ALGORITHMS }
    for (const key of keysOf(configuration)) {
      const opened = await jwtDecrypt(value, derive(key), expected).catch((error: unknown) =>
        // Looked at last, when all else is as it should be.
        error instanceof errors.JWTExpired ? error : undefined,
      )
      if (!opened) continue
      const { sealed, exp } = opened.payload
      return isSealed(sealed) && exp !== undefined ? { ...sealed, until: exp } : undefined
    }
    return undefined
  }
  return {
    seal(purpose: Purpose, content: Sealed, life: Seconds): Promise<string> {
      const [newest] = keysOf(configuration)
      if (newest === undefined) throw new Error('cookies.keys is empty')
      return new EncryptJWT({ sealed: content })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .setIssuer(issuer)
        .setAudience(purpose)
        .setExpirationTime(epochTime() + life)
        .encrypt(derive(newest))
    },
    /** `undefined` for everything that was not sealed here, for this purpose, or too long ago. */
    async open(purpose: Purpose, value: string | undefined): Promise<Sealed | undefined> {
      const opened = await decrypt(purpose, value)
      if (!opened || isOver(opened)) return undefined
      const { until: _, ...content } = opened
      return content
    },
    /** A value that was sealed too long ago opens, too: such a browser is refused rather than taken for one that was never armed. */
    openArmed: (value: string | undefined) => decrypt('armed', value),
  }
}

/** The key sealed nothing else. Looked at all the same, because everything rests on it. */
const isSealed = (value: unknown): value is Sealed =>
  isPlainObject(value) && isId(value.id) && typeof value.hash === 'string'

export const isOver = ({ until }: Armed): boolean => until <= epochTime()
