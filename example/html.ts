/** HTML from templates: every value is escaped, except what is HTML already. */

export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

interface Document {
  readonly title: string
  /** Where its icon and its styles are served. */
  readonly folder: string
  /** The name of its own style, after the one that all pages share. */
  readonly style: string
  readonly body: Html
}

export const documentOf = ({ title, folder, style, body }: Document): Html => html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${folder}/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${folder}/base.css">
<link rel="stylesheet" href="${folder}/${style}">
${body}
</html>
`

type Value = string | Html | readonly Html[] | undefined

export function html(literals: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(literals.map((literal, i) => literal + written(values[i])).join(''))
}

function written(value: Value): string {
  if (value === undefined) return ''
  if (typeof value === 'string') return value.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
  return value instanceof Html ? value.text : value.map(({ text }) => text).join('')
}
