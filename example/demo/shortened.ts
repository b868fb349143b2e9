/** Tokens are credentials: the screen shows enough of one to recognise it, and no more. */

const LONG = /[\w-]{24,}(\.[\w-]+)*/g

/** Shortens everything in a text that may be a token. URNs and other text with colons or spaces stay readable. */
export const shortened = (text: string): string => text.replace(LONG, (token) => `${token.slice(0, 12)}…`)

/** The same for every string inside a JSON value. */
export function withoutTokens(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_name, member) =>
    typeof member === 'string' ? shortened(member) : member,
  )
}
