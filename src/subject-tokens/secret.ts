/**
 * The subject token itself: minted and hashed here, and nowhere else. The brands keep the plaintext out of
 * storage: a store takes a `TokenHash`, and only `hashSecret` makes one.
 */
import { hash, randomBytes } from 'node:crypto'

declare const plaintext: unique symbol
declare const hashed: unique symbol

/** A subject token in plain text. Never stored, logged or put in an error. */
export type SubjectTokenSecret = string & { readonly [plaintext]: true }

/** The SHA-256 of a subject token, base64url. Enough, because the token holds 256 random bits. */
export type TokenHash = string & { readonly [hashed]: true }

const SHAPE = /^sub_[A-Za-z0-9_-]{43}$/

export function mintSecret(): SubjectTokenSecret {
  return `sub_${randomBytes(32).toString('base64url')}` as SubjectTokenSecret
}

/** Whether a text has the form of a subject token. Other texts are never looked up. */
export function isSecret(value: string): value is SubjectTokenSecret {
  return SHAPE.test(value)
}

export function hashSecret(secret: SubjectTokenSecret): TokenHash {
  return hash('sha256', secret, 'base64url') as TokenHash
}
