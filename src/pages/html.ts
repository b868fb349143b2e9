/** HTML. A template is the only way to make it, and escapes every value that is not HTML itself. */

export type Value = Html | string | number | false | undefined | readonly Value[]

const ENTITIES: Record<string, string> = {
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

  /** Values stand between tags, or in attributes with quotes: in no other place are they safe. */
  static of(this: void, strings: TemplateStringsArray, ...values: readonly Value[]): Html {
    return new Html(strings.map((text, index) => text + safe(values[index])).join(''))
  }

  /** An element whose content browsers do not decode. Only for constants of this package. */
  static constant(this: void, element: 'style' | 'script', text: string): Html {
    // The script is a module, which shares no name with others.
    const type = element === 'script' ? ' type="module"' : ''
    return new Html(`<${element}${type}>${text}</${element}>`)
  }

  toString(): string {
    return this.#text
  }
}

export const html = Html.of

function safe(value: Value): string {
  if (value === undefined || value === false) return ''
  if (value instanceof Html) return value.toString()
  if (Array.isArray(value)) return value.map(safe).join('')
  return String(value).replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}

/** A link, if the address is one that is safe to follow, no matter who gave it. */
export const linked = (url: unknown, text: Value): Value =>
  typeof url === 'string' && /^https?:\/\//i.test(url) && URL.canParse(url)
    ? html`<a href="${url}">${text}</a>`
    : text
