/** People are account ids until a page is written. Only then is the deployment asked for their names, once. */
import { within } from '../clock.ts'
import { isPlainObject } from '../plain-json.ts'
import { type Html, html, type Look, type Person, type Value } from './html.ts'
import type { Visit } from './visit.ts'
import { cut } from './words.ts'

/** The name, cut. */
export const short =
  (id: string): Value =>
  (look) =>
    html`<bdi>${cut(look.personOf(id).name)}</bdi>`

/** The whole name with its link, and the id behind it where that is another text. */
export const whole =
  (id: string): Value =>
  (look) => {
    const { name, url } = look.personOf(id)
    return html`${linked(url, html`<bdi>${name}</bdi>`)}${name !== id && html` <code>${id}</code>`}`
  }

/** A link, if the deployment gave an address that is safe to follow. */
export const linked = (url: unknown, text: Value): Value =>
  typeof url === 'string' && /^https?:\/\//i.test(url) && URL.canParse(url)
    ? html`<a href="${url}">${text}</a>`
    : text

export const NO_NAMES: Look = { share: 1, personOf: (id) => ({ name: id }) }

/** Seconds that a page waits for names. */
const PATIENCE = 1

/** Those whom the page names. Without usable names, people are shown by id. */
export async function peopleIn(page: Html, { options, lookup }: Visit): Promise<Look['personOf']> {
  const { nameOf } = options
  if (!nameOf) return NO_NAMES.personOf
  const ids = new Set<string>()
  page.write({ share: 1, personOf: (id) => ids.add(id) && { name: id } })
  const asking = async (): Promise<ReadonlyMap<string, unknown>> => {
    const names: unknown = await nameOf([...ids])
    if (names instanceof Map) return names
    throw new TypeError('nameOf must return a Map')
  }
  const names = await within(PATIENCE, asking()).catch(lookup.report)
  return (id) => personIn(names?.get(id)) ?? { name: id }
}

function personIn(value: unknown): Person | undefined {
  const given = typeof value === 'string' ? { name: value } : value
  if (!isPlainObject(given) || typeof given.name !== 'string' || given.name.trim() === '') return undefined
  return { name: given.name, url: given.url }
}
