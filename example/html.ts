/** HTML from templates: every value is escaped, except what is HTML already. */

export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Value = string | Html | readonly Html[] | undefined

export function html(literals: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(literals.map((literal, i) => literal + written(values[i])).join(''))
}

function written(value: Value): string {
  if (value === undefined) return ''
  if (typeof value === 'string') return value.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
  return value instanceof Html ? value.text : value.map(({ text }) => text).join('')
}
