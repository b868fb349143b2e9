/** Tokens are credentials: a screen and its scrollback get enough of one to recognise it, and no more. */

const LONG = /[\w-]{24,}(\.[\w-]+)*/g

/** Shortens what may be a token within a text. Words with colons and spaces, such as URNs, stay readable. */
export const shortened = (text: string): string => text.replace(LONG, (token) => `${token.slice(0, 12)}…`)

/** The same for every string inside a JSON value. */
export function withoutTokens(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_name, member) =>
    typeof member === 'string' ? shortened(member) : member,
  )
}
