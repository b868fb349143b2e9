/**
 * The subject token itself: minted, read and hashed here, and nowhere else. The brands keep the plaintext out of
 * storage: a store takes a `TokenHash`, and only `hashToken` makes one.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

declare const plaintext: unique symbol
declare const hashed: unique symbol

/** A subject token in plain text: `sub_` or `ses_`, its id, its secret. Never stored, logged or put in an error. */
export type SubjectTokenText = string & { readonly [plaintext]: true }

/** The SHA-256 of a whole subject token, base64url. Enough, because the token holds 256 random bits. */
export type TokenHash = string & { readonly [hashed]: true }

/** Where a subject token is used: at the token endpoint, or in a sign-in to an application (docs/protocol.md: `use`). */
export type SubjectTokenPurpose = 'exchange' | 'session'

/** The beginning of a token says what it is for. */
const PREFIXES = { exchange: 'sub_', session: 'ses_' } as const satisfies Record<SubjectTokenPurpose, string>
/** Sixteen bytes as base64url. The last character holds two bits, and zeros. */
const ID = '[A-Za-z0-9_-]{21}[AQgw]'
/** Thirty-two bytes. The last character holds four bits, and zeros. */
const SECRET = '[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]'
const SHAPE = new RegExp(`^(?:${PREFIXES.exchange}|${PREFIXES.session})(${ID})${SECRET}$`)

/** The token of a record: it names the record, and proves nothing but by its secret. */
export function mintToken(id: string, purpose: SubjectTokenPurpose = 'exchange'): SubjectTokenText {
  const selector = Buffer.from(id, 'hex').toString('base64url')
  return `${PREFIXES[purpose]}${selector}${randomBytes(32).toString('base64url')}` as SubjectTokenText
}

/** The content of a subject token's text, before anything is looked up. */
export interface ReadToken {
  /** The id of the record that it names. */
  readonly id: string
  readonly hash: TokenHash
  /** The purpose that its form says. For any other it is malformed. */
  readonly purpose: SubjectTokenPurpose
}

/**
 * Reads a text in the form of a subject token; `undefined` for every other text, another spelling of the same bytes
 * included. Such texts are never looked up.
 */
export function readToken(value: string): ReadToken | undefined {
  const [token, selector] = SHAPE.exec(value) ?? []
  if (token === undefined || selector === undefined) return undefined
  return {
    id: Buffer.from(selector, 'base64url').toString('hex'),
    hash: hashToken(token as SubjectTokenText),
    purpose: token.startsWith(PREFIXES.session) ? 'session' : 'exchange',
  }
}

export function hashToken(token: SubjectTokenText): TokenHash {
  return hash('sha256', token, 'base64url') as TokenHash
}

/** Whether a text has the length and the beginning of a token of the management API: it is none of the provider's. */
export const hasTokenForm = (value: string): boolean => /^(sub|ses)_[A-Za-z0-9_-]{65}$/.test(value)

/** Whether two hashes are the same, in a time that does not tell how much of them is. */
export function sameHash(one: TokenHash, other: TokenHash): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)]
  return first.length === second.length && timingSafeEqual(first, second)
}
