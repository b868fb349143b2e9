import { within } from '../callbacks/call.ts'
import { isPlainObject } from '../plain-json.ts'
import { cut, USUAL } from './cut.ts'
import { type Html, html } from './html.ts'
import type { ConsoleOptions } from './options.ts'

/** Seconds that a page waits for names. */
const PATIENCE = 1

interface Person {
  readonly name: string
  readonly url?: string
}

/** Names of people, by account id. */
export interface Names {
  /** For a row: cut. */
  short(id: string, longest?: number): Html
  /** The whole name, with its link, and the id behind it where that is another text. */
  whole(id: string): Html
}

/** Asks the deployment once for a page. Without usable names people are shown by id. */
export async function namesOf(
  nameOf: ConsoleOptions['nameOf'],
  ids: readonly (string | undefined)[],
  report: (error: unknown) => void,
): Promise<Names> {
  const wanted = [...new Set(ids)].filter((id) => id !== undefined)
  const people = await ask(nameOf, wanted).catch((error: unknown) => {
    report(error)
    return new Map<string, unknown>()
  })
  const personOf = (id: string): Person => person(people.get(id)) ?? { name: id }
  return {
    short: (id, longest = USUAL.name) => html`<bdi>${cut(longest, personOf(id).name)}</bdi>`,
    whole(id) {
      const { name, url } = personOf(id)
      const shown = html`<bdi>${name}</bdi>`
      return html`${linked(url, shown)}${name !== id && html` <code>${id}</code>`}`
    },
  }
}

async function ask(nameOf: ConsoleOptions['nameOf'], ids: string[]): Promise<ReadonlyMap<string, unknown>> {
  if (!nameOf || ids.length === 0) return new Map()
  const names: unknown = await within(PATIENCE, Promise.resolve(nameOf(ids)))
  if (!(names instanceof Map)) throw new TypeError('nameOf must return a Map')
  return names
}

function person(value: unknown): Person | undefined {
  const given = typeof value === 'string' ? { name: value } : value
  if (!isPlainObject(given) || typeof given.name !== 'string' || given.name.trim() === '') return undefined
  return { name: given.name, ...(isWebAddress(given.url) && { url: given.url }) }
}

/** A link, if the deployment gave an address that is safe to follow. */
export const linked = (url: unknown, text: Html): Html =>
  isWebAddress(url) ? html`<a href="${url}">${text}</a>` : text

const isWebAddress = (url: unknown): url is string =>
  typeof url === 'string' && /^https?:\/\//i.test(url) && URL.canParse(url)
