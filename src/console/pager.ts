import { type Html, html } from './html.ts'
import type { Visit } from './visit.ts'

interface Place {
  readonly cursor: string | undefined
  readonly nextCursor?: string | undefined
}

/** Links to the first page and to the next. `query` is the filter as it was typed. */
export function pager(
  { base }: Visit,
  path: string,
  query: Readonly<Record<string, string>>,
  { cursor, nextCursor }: Place,
): Html | false {
  if (cursor === undefined && nextCursor === undefined) return false
  const address = (more: Readonly<Record<string, string>>) =>
    addressOf(base + path || '/', { ...query, ...more })
  return html`<nav class="pager" aria-label="Pages">${cursor !== undefined && html`<a href="${address({})}">Newest</a>`}${
    nextCursor !== undefined && html`<a href="${address({ cursor: nextCursor })}" rel="next">Older</a>`
  }</nav>`
}

/** Browsers encode what is not ASCII themselves. Encoded, it would take three times the bytes. */
const NOT_ASCII = /(%[89A-F][0-9A-F])+/g

export function addressOf(path: string, query: Readonly<Record<string, string>>): string {
  const search = String(new URLSearchParams(query)).replace(NOT_ASCII, decodeURIComponent)
  return search === '' ? path : `${path}?${search}`
}
