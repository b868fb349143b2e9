/** What a browser carries from one request to the next: encrypted and authenticated by the keys of the provider's cookies. */
import { hash, hkdfSync } from 'node:crypto'
import { EncryptJWT, errors, jwtDecrypt } from 'jose'
import type { Context } from 'koa'
import type { Configuration } from 'oidc-provider'
import { epochTime, type Seconds } from '../base/clock.ts'
import { sessionRefused } from '../base/errors.ts'
import { isPlainObject } from '../base/json.ts'
import type { ResolvedOptions, ResolvedSessions } from '../options.ts'
import type { Service } from '../provider/settings.ts'
import { isId } from '../tokens/id.ts'
import type { TokenHash } from '../tokens/secret.ts'
import type { SessionWatch } from './watch.ts'

/** How long the application may take to begin its sign-in. */
export const TO_ARRIVE: Seconds = 60

/**
 * What each is for: a token that was brought to the door; the page that asks; a browser that may arrive at the application;
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

/** What a browser arrives with, and when that is over. */
export interface Armed extends Sealed {
  readonly until: Seconds
}

/** The keys that sign the cookies: the first one seals, all of them open, so that they can be changed. */
export const keysOf = ({ cookies }: Configuration): readonly (string | Buffer)[] => {
  const keys: unknown = cookies?.keys
  return Array.isArray(keys) ? keys : []
}

const ALGORITHMS = { keyManagementAlgorithms: ['dir'], contentEncryptionAlgorithms: ['A256GCM'] }

type Seal = ReturnType<typeof sealOf>

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
    /** What was sealed too long ago opens, too: such a browser is refused rather than taken for one that was never armed. */
    openArmed: (value: string | undefined) => decrypt('armed', value),
  }
}

/** The key sealed nothing else. Looked at all the same, because everything rests on it. */
const isSealed = (value: unknown): value is Sealed =>
  isPlainObject(value) && isId(value.id) && typeof value.hash === 'string'

export const isOver = ({ until }: Armed): boolean => until <= epochTime()

/** A service with the option `sessions`: what the door, an arrival and its tokens work with. */
export interface SessionService extends Service {
  readonly options: ResolvedOptions & { readonly sessions: ResolvedSessions }
  readonly seal: Seal
  readonly watch: SessionWatch
}

/** What was brought comes back to the door. From another site, too: after a sign-in that took place there. */
export const BROUGHT = '_imp_brought'

/** The beginning of the name of every cookie by which a browser arrives at this client. */
const armedFor = (clientId: string): string => `_imp_${hash('sha256', clientId, 'hex').slice(0, 16)}`

/** One for each client and record: two tabs are seen to be two, and neither becomes the other's. */
export const armedCookie = (clientId: string, recordId: string): string => `${armedFor(clientId)}_${recordId}`

/** The cookie by which the door sees that the browser is armed for a client. */
export const keptCookie = (clientId: string): string => `${armedFor(clientId)}_door`

/** A browser that has more of them for one client was given them by someone else: a button adds one a minute. */
const MOST_ARMED = 8

/**
 * What the browser is armed with for this client. A cookie that no key opens, or under the name of another, is none.
 * @throws {AccessDenied} if there are too many to try: the armed one may be the last of them.
 */
export async function findArmed(ctx: Context, service: SessionService, clientId: string): Promise<Armed[]> {
  const names = [...ctx.get('cookie').matchAll(/(?:^|;)\s*([^=;\s]+)=/g)].map(([, name = '']) => name)
  const beginning = armedCookie(clientId, '')
  const own = [...new Set(names)].filter(
    (name) => name.startsWith(beginning) && isId(name.slice(beginning.length)),
  )
  if (own.length > MOST_ARMED) throw sessionRefused({ private: 'more cookies than are tried' })
  const opened = await Promise.all(
    own.map(async (name) => {
      const armed = await service.seal.openArmed(readCookie(ctx, service, name))
      return armed && name === armedCookie(armed.client ?? '', armed.id) ? [armed] : []
    }),
  )
  return opened.flat()
}

/** Cookies as the provider reads its own, at any host. The door is where browsers are: its scheme says whether they are secure. */
function cookiesIn(ctx: Context, { provider, options }: SessionService): Context['cookies'] {
  const { cookies } = provider.createContext(ctx.req, ctx.res)
  return Object.assign(cookies, { secure: options.sessions.door.protocol === 'https:' })
}

export const readCookie = (ctx: Context, service: SessionService, name: string): string | undefined =>
  cookiesIn(ctx, service).get(name, { signed: false })

interface NewCookie {
  readonly name: string
  /** `null` takes it away. */
  readonly value: string | null
  readonly life: Seconds
}

/** Sends a cookie to the door alone. */
export const writeDoorCookie = (ctx: Context, service: SessionService, cookie: NewCookie): void =>
  writeCookie(ctx, service, cookie, { path: service.options.sessions.door.pathname, sameSite: 'lax' })

/** Sends a cookie to the authorization endpoint. The armed browser arrives like the session that it is bound to. */
export const writeArmedCookie = (ctx: Context, service: SessionService, cookie: NewCookie): void =>
  writeCookie(ctx, service, cookie, {
    path: service.provider.pathFor('authorization'),
    sameSite: service.configuration.cookies?.long?.sameSite ?? 'lax',
  })

function writeCookie(
  ctx: Context,
  service: SessionService,
  { name, value, life }: NewCookie,
  where: NonNullable<Parameters<Context['cookies']['set']>[2]>,
): void {
  cookiesIn(ctx, service).set(name, value, {
    ...where,
    signed: false,
    httpOnly: true,
    overwrite: true,
    secure: service.options.sessions.door.protocol === 'https:',
    ...(value !== null && { maxAge: life * 1000 }),
  })
}
