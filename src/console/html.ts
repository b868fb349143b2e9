/** HTML. A template is the only way to make it, and escapes every value that is not HTML itself. */

export interface Person {
  readonly name: string
  /** Where to read more about them. */
  readonly url?: unknown
}

/** What is known only when a page is written. */
export interface Look {
  /** How much of a text a row shows: 1 for as much as it ever does, 0.5 for half of that. */
  readonly share: number
  personOf(id: string): Person
}

export type Value = Html | string | number | false | undefined | readonly Value[] | ((look: Look) => Value)

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export class Html {
  readonly write: (look: Look) => string

  private constructor(write: (look: Look) => string) {
    this.write = write
  }

  /** Values stand between tags, or in attributes with quotes: in no other place are they safe. */
  static of(this: void, strings: TemplateStringsArray, ...values: readonly Value[]): Html {
    return new Html((look) => strings.map((text, index) => text + safe(values[index], look)).join(''))
  }

  /** An element whose content browsers do not decode. Only for constants of this package. */
  static constant(this: void, element: 'style' | 'script', text: string): Html {
    return new Html(() => `<${element}>${text}</${element}>`)
  }
}

export const html = Html.of

function safe(value: Value, look: Look): string {
  if (value === undefined || value === false) return ''
  if (value instanceof Html) return value.write(look)
  if (typeof value === 'function') return safe(value(look), look)
  if (Array.isArray(value)) return value.map((one) => safe(one, look)).join('')
  return String(value).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}
