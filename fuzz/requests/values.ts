/** Texts that break parsers, and those of the protocol, which come more often than chance would have them. */
import fc from 'fast-check'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../src/constants.ts'

/** Stands for a token that is filled in when the request is sent. */
const PLACES = ['{subject}', '{actor}', '{received}', '{management}', '{id}', '{backend}', '{user}'] as const

/** Would be markup if it were written into a page as it is. */
const MARKUP = '<x-fuzz onload="a">'

const ODD = [
  '',
  ' ',
  '\0',
  'null',
  '__proto__',
  'constructor',
  '0',
  '-1',
  '1e99',
  'true',
  '%',
  '%00',
  '%zz',
  '../..',
  "' OR 1=1 --",
  '\ud800',
  '🎭'.repeat(300),
  'é',
  'x'.repeat(300),
  'y'.repeat(5000),
  MARKUP,
  '=cmd|A1',
  '{}',
  '[]',
  'a b  c',
]
const KNOWN = [
  ACCESS_TOKEN_TYPE,
  'urn:ietf:params:oauth:token-type:id_token',
  TOKEN_EXCHANGE,
  'client_credentials',
  'refresh_token',
  API,
  OPAQUE_API,
  `${API}#fragment`,
  'https://unknown.example.com',
  'orders:read',
  'openid',
  'openid offline_access',
  'active',
  'spa',
  'web',
  '100',
  '1767225600',
]

/** Of any code points, lone surrogates included. */
const anyText = fc
  .array(fc.oneof(fc.nat(0x7f), fc.nat(0x10ffff)), { maxLength: 40 })
  .map((points) => String.fromCodePoint(...points))

export const value: fc.Arbitrary<string> = fc.oneof(
  { arbitrary: fc.constantFrom(...PLACES), weight: 4 },
  { arbitrary: fc.constantFrom(...KNOWN), weight: 4 },
  { arbitrary: fc.constantFrom(...ODD), weight: 3 },
  { arbitrary: anyText, weight: 1 },
)

export const pairs = (names: readonly string[]): fc.Arbitrary<[string, string][]> => {
  const name = fc.oneof({ arbitrary: fc.constantFrom(...names), weight: 9 }, { arbitrary: value, weight: 1 })
  return fc.array(fc.tuple(name, value), { maxLength: 4 })
}

/** A value of a header: what Node itself refuses to read says nothing of ours. */
export const headerValue: fc.Arbitrary<string> = value.map((text) =>
  text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '?'),
)

export type Filled = Readonly<Record<(typeof PLACES)[number], string>>

/** Puts the tokens of a case where its places are. */
export const fill = (text: string, filled: Filled): string =>
  text.replaceAll(/\{\w+\}/g, (place) => Reflect.get(filled, place) ?? place)

/** As in a form or a query. A text that is not well-formed is sent as bytes that are not UTF-8. */
export const encode = (text: string): string =>
  text.isWellFormed() ? encodeURIComponent(text) : `%ed%a0%80${encodeURIComponent(text.toWellFormed())}`

export const encodePairs = (given: readonly (readonly [string, string])[], filled: Filled): string =>
  given.map(([name, text]) => `${encode(name)}=${encode(fill(text, filled))}`).join('&')
