/** Forged JWTs, each with what refuses it. */
import type { Level } from '../check.ts'
import {
  algNone,
  embeddedKey,
  type Forgery,
  foreignKey,
  hmacWithPublicKey,
  payloadChanged,
  unsigned,
  zeroSignature,
} from '../forge.ts'

export interface ForgeryRow {
  readonly id: string
  readonly says: string
  readonly source: string
  readonly level: Level
  readonly forgery: Forgery
}

export const FORGERIES: readonly ForgeryRow[] = [
  {
    id: 'payload-changed',
    says: 'A JWT whose claims were changed after signing is refused.',
    source: 'RFC 7515 §5.2',
    level: 'MUST',
    forgery: payloadChanged,
  },
  {
    id: 'unsigned',
    says: 'A JWT without its signature is refused.',
    source: 'RFC 7515 §5.2',
    level: 'MUST',
    forgery: unsigned,
  },
  {
    id: 'alg-none',
    says: 'The algorithm none, in any spelling, is refused.',
    source: 'RFC 9068 §2.1, RFC 8725 §3.2; CVE-2015-9235',
    level: 'MUST',
    forgery: algNone,
  },
  {
    id: 'hmac-with-public-key',
    says: 'The public key is not taken for a shared secret.',
    source: 'RFC 8725 §2.1, §3.1; CVE-2015-9235',
    level: 'advisory',
    forgery: hmacWithPublicKey,
  },
  {
    id: 'foreign-key',
    says: "A JWT signed by someone else's key is refused, whatever its key id says.",
    source: 'RFC 9068 §4',
    level: 'MUST',
    forgery: foreignKey,
  },
  {
    id: 'embedded-key',
    says: 'A key that the JWT brings along is not trusted.',
    source: 'RFC 8725 §3.10; CVE-2018-0114',
    level: 'advisory',
    forgery: embeddedKey,
  },
  {
    id: 'zero-signature',
    says: 'A signature of zeros is not a signature.',
    source: 'CVE-2022-21449',
    level: 'advisory',
    forgery: zeroSignature,
  },
]
