/** What a browser carries from one request to the next: encrypted and authenticated by the keys of the provider's cookies. */
import { hash, hkdfSync } from 'node:crypto'
import { EncryptJWT, jwtDecrypt } from 'jose'
import type { Context } from 'koa'
import type { Configuration, Provider } from 'oidc-provider'
import { epochTime, type Seconds } from '../clock.ts'
import type { ResolvedSessions } from '../options.ts'
import { isId } from '../subject-tokens/id.ts'
import type { TokenHash } from '../subject-tokens/secret.ts'

/**
 * What each is for: a token that was brought to the door; the page that asks; a browser that may arrive at the application.
 * None can stand for another.
 */
export type Purpose = 'brought' | 'asked' | 'armed'

/** A subject token, without its secret, and what was found out about it. */
export interface Sealed {
  /** Of the record. */
  readonly id: string
  readonly hash: TokenHash
  /** The client that will be opened, and the `uid` of the engineer's session. Once someone was asked. */
  readonly client?: string
  readonly session?: string
  /** Where in the application to begin, as the caller wishes. */
  readonly target?: string
}

export interface Seal {
  seal(purpose: Purpose, content: Sealed, life: Seconds): Promise<string>
  /** `undefined` for everything that was not sealed here, for this purpose, or too long ago. */
  open(purpose: Purpose, value: string | undefined): Promise<Sealed | undefined>
}

/** The keys that sign the cookies: the first one seals, all of them open, so that they can be changed. */
export const keysOf = ({ cookies }: Configuration): readonly (string | Buffer)[] => {
  const keys: unknown = cookies?.keys
  return Array.isArray(keys) ? keys : []
}

const ALGORITHMS = { keyManagementAlgorithms: ['dir'], contentEncryptionAlgorithms: ['A256GCM'] }

export function sealOf(issuer: string, configuration: Configuration): Seal {
  const derived = new Map<string | Buffer, Uint8Array>()
  const derive = (key: string | Buffer): Uint8Array => {
    const known = derived.get(key)
    if (known) return known
    const made = new Uint8Array(hkdfSync('sha256', key, issuer, 'oidc-provider-impersonation sessions', 32))
    derived.set(key, made)
    return made
  }
  return {
    seal(purpose, content, life) {
      const [newest] = keysOf(configuration)
      if (newest === undefined) throw new Error('cookies.keys is empty')
      return new EncryptJWT({ ...content })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .setIssuer(issuer)
        .setAudience(purpose)
        .setExpirationTime(epochTime() + life)
        .encrypt(derive(newest))
    },
    async open(purpose, value) {
      if (value === undefined) return undefined
      const expected = { issuer, audience: purpose, requiredClaims: ['exp'], ...ALGORITHMS }
      for (const key of keysOf(configuration)) {
        const opened = await jwtDecrypt<Partial<Sealed>>(value, derive(key), expected).catch(() => undefined)
        if (!opened) continue
        const { id, hash, client, session, target } = opened.payload
        // The key sealed nothing else. Looked at all the same, because everything rests on it.
        if (!isId(id) || typeof hash !== 'string') return undefined
        return { id, hash, ...(client && { client }), ...(session && { session }), ...(target && { target }) }
      }
      return undefined
    },
  }
}

/** The cookie of each purpose that has one, and the requests that it is sent with. */
interface CookiePlace {
  readonly provider: Provider
  readonly sessions: ResolvedSessions
  readonly given: Configuration
}

/** What was brought comes back to the door. From another site, too: after a sign-in that took place there. */
export const BROUGHT = '_imp_brought'

/** One for each client, so that two applications can be opened at the same time. */
export const armedCookie = (clientId: string): string =>
  `_imp_${hash('sha256', clientId, 'hex').slice(0, 16)}`

/** As the provider reads its own, at any host. The door is where browsers are: its scheme says whether they are secure. */
function cookiesIn(ctx: Context, { provider, sessions }: CookiePlace): Context['cookies'] {
  const { cookies } = provider.createContext(ctx.req, ctx.res)
  return Object.assign(cookies, { secure: sessions.door.protocol === 'https:' })
}

export const readCookie = (ctx: Context, place: CookiePlace, name: string): string | undefined =>
  cookiesIn(ctx, place).get(name, { signed: false })

/** `null` takes it away. */
export function writeCookie(
  ctx: Context,
  place: CookiePlace,
  { name, value, life }: { readonly name: string; readonly value: string | null; readonly life: Seconds },
): void {
  const { provider, sessions, given } = place
  const isBrought = name === BROUGHT
  cookiesIn(ctx, place).set(name, value, {
    signed: false,
    httpOnly: true,
    overwrite: true,
    secure: sessions.door.protocol === 'https:',
    path: isBrought ? sessions.door.pathname : provider.pathFor('authorization'),
    // The armed browser arrives like the session that it is bound to.
    sameSite: isBrought ? 'lax' : (given.cookies?.long?.sameSite ?? 'lax'),
    ...(value !== null && { maxAge: life * 1000 }),
  })
}
