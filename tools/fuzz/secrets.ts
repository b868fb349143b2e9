/** Tokens that were seen in a run. None may appear in a body, an event or a log. */
import { createHash } from 'node:crypto'

/** The oldest are forgotten: a run of any length takes the same memory. */
const MOST = 40_000

/** Looked for from the beginning of a word only: most words are shorter. */
const WORDS = /(?<![\w-])[\w-]{40,}/g

export interface Secrets {
  /** A subject token, an opaque access token or a JWT. */
  keep(token: string): void
  /** What a text must not hold: a token, or the hash of one. */
  foundIn(text: string): string | undefined
}

export function collectSecrets(): Secrets {
  const words = new Set<string>()
  const foundIn = (text: string) => {
    for (const [word] of text.matchAll(WORDS)) {
      const place = word.indexOf('sub_')
      const secret = place < 0 ? word : word.slice(place, place + 69)
      if (words.has(word) || words.has(secret)) return `${secret.slice(0, 12)}…`
    }
    return undefined
  }
  return {
    keep(token) {
      // Of a JWT each part is searched for: its dots separate words.
      for (const part of token.split('.').slice(-2)) remember(words, part)
      const digest = createHash('sha256').update(token).digest()
      remember(words, digest.toString('base64url'))
      remember(words, digest.toString('hex'))
    },
    foundIn,
  }
}

function remember(words: Set<string>, word: string): void {
  if (word.length < 40) return
  words.add(word)
  const [oldest = ''] = words
  if (words.size > MOST) words.delete(oldest)
}
