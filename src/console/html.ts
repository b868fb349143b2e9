/** HTML. A template is the only way to make it, and escapes every value that is not HTML itself. */

type Value = Html | string | number | false | undefined | readonly Value[]

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export class Html {
  readonly #text: string

  private constructor(text: string) {
    this.#text = text
  }

  toString(): string {
    return this.#text
  }

  /** Values stand between tags, or in attributes with quotes: in no other place are they safe. */
  static of(this: void, strings: TemplateStringsArray, ...values: readonly Value[]): Html {
    return new Html(strings.map((text, index) => text + safe(values[index])).join(''))
  }

  /** An element whose content browsers do not decode. Only for constants of this package. */
  static constant(this: void, element: 'style' | 'script', text: string): Html {
    return new Html(`<${element}>${text}</${element}>`)
  }
}

export const html = Html.of

function safe(value: Value): string {
  if (value === undefined || value === false) return ''
  if (value instanceof Html) return value.toString()
  if (Array.isArray(value)) return value.map(safe).join('')
  return String(value).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}
