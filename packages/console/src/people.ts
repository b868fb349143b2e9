/** The names of people, whom records know by account ids. The deployment is asked once for each page. */
import type { ActClaim, SubjectTokenRecord } from 'oidc-provider-impersonation'
import { answerOf, findNames, type Html, html, linked, type Value } from 'oidc-provider-impersonation/inside'
import type { ConsoleOptions } from './options.ts'
import { shorten } from './words.ts'

type Report = (error: unknown) => void

export interface People {
  /** Whether the deployment has a name for it, as far as it could be asked. */
  isKnown(id: string): boolean
  /** The name, or the id of someone who has none, cut: where it is all there is in its place. */
  text(id: string): string
  /** The name, cut, among other words. */
  short(id: string): Html
  /** The whole name with its link, and the id behind it where that is another text. */
  whole(id: string): Html
}

/** Without usable names, people are shown by id. */
export async function peopleFor(
  ids: readonly string[],
  { nameOf }: Pick<ConsoleOptions, 'nameOf'>,
  report: Report,
): Promise<People> {
  const named = await findNames(nameOf, ids, report)
  const nameIn = (id: string) => named?.get(id)?.name ?? id
  const people: People = {
    isKnown: (id) => named?.has(id) ?? true,
    text: (id) => shorten(nameIn(id), 32),
    short: (id) => html`<bdi>${people.text(id)}</bdi>`,
    whole(id) {
      const name = nameIn(id)
      const text: Value = linked(named?.get(id)?.url, html`<bdi>${name}</bdi>`)
      return html`${text}${name !== id && html` <code>${id}</code>`}`
    },
  }
  return people
}

/** The value of a member of records: the name of a person, and anything else as it is, cut. */
export const shortOf = (people: People, member: string, value: string): Html =>
  member === 'userId' || member === 'actorId' ? people.short(value) : html`<bdi>${shorten(value, 32)}</bdi>`

/** The people whom a page about these records names. */
export const namedIn = (records: readonly SubjectTokenRecord[]): string[] =>
  records.flatMap(({ userId, actorId, actor, revocation, replay, acknowledged = [] }) =>
    [
      ...[userId, actorId, ...chainOf(actor), revocation?.by, replay?.by],
      ...acknowledged.map(({ by }) => by),
    ].filter((id) => id !== undefined),
  )

const chainOf = (link: ActClaim | undefined): string[] => (link ? [link.sub, ...chainOf(link.act)] : [])

const MOST_FOUND = 20

/** The account ids that the deployment finds for a text. */
export async function idsFor(
  text: string,
  { find }: Pick<ConsoleOptions, 'find'>,
  report: Report,
): Promise<readonly string[]> {
  if (!find) return []
  const found = await answerOf(async () => {
    const ids: unknown = await find(text)
    if (isListOfTexts(ids)) return ids
    throw new TypeError('find must return a list of account ids')
  }, report)
  return (found ?? []).slice(0, MOST_FOUND)
}

const isListOfTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')
