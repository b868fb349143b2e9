/** Texts that are cut, so that rows and pages stay short. The record shows all of them. */

/** The most characters of a name, and of another text. */
export interface Lengths {
  readonly name: number
  readonly text: number
}

export const USUAL: Lengths = { name: 32, text: 120 }

/** For texts of many bytes: most characters of other scripts take three, and quotes become six. */
const LENGTHS: readonly Lengths[] = [
  USUAL,
  { name: 28, text: 100 },
  { name: 20, text: 70 },
  { name: 14, text: 40 },
  { name: 8, text: 20 },
  { name: 4, text: 6 },
]

/** Bytes of a page with rows. */
const MOST = 30_000

/** Renders a page, with shorter texts if it is too large. */
export function fitting(render: (lengths: Lengths) => string): string {
  let page = ''
  for (const lengths of LENGTHS) {
    page = render(lengths)
    if (Buffer.byteLength(page) <= MOST) break
  }
  return page
}

/** At most `longest` characters of a text. */
export function cut(longest: number, text: string): string {
  // No longer than this: nothing to count.
  if (text.length <= longest) return text
  const characters = [...text.slice(0, 2 * longest + 2)]
  return characters.length <= longest ? text : `${characters.slice(0, longest).join('')}…`
}
