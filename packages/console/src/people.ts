/** The names of people, whom records know by account ids. The deployment is asked once for each page. */
import type { ActClaim, Seconds, SubjectTokenRecord } from 'oidc-provider-impersonation'
import {
  type Html,
  html,
  isPlainObject,
  linked,
  type Value,
  within,
} from 'oidc-provider-impersonation/inside'
import type { ConsoleOptions } from './options.ts'
import { shorten } from './words.ts'

/** Seconds that a page waits for names. */
const PATIENCE: Seconds = 1

type Report = (error: unknown) => void

export interface People {
  /** The name, or the id of someone who has none. */
  nameOf(id: string): string
  /** Whether the deployment has a name for it, as far as it could be asked. */
  isKnown(id: string): boolean
  /** The name, cut: where it is all there is in its place. */
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
  const ask = nameOf && (async () => nameOf([...new Set(ids)]))
  const names = ask && (await answerOf(ask, isMap, 'nameOf must return a Map', report))
  const personOf = (id: string) => personIn(names?.get(id))
  const people: People = {
    nameOf: (id) => personOf(id)?.name ?? id,
    isKnown: (id) => !names || personOf(id) !== undefined,
    text: (id) => shorten(people.nameOf(id), 32),
    short: (id) => html`<bdi>${people.text(id)}</bdi>`,
    whole(id) {
      const name = people.nameOf(id)
      const text: Value = linked(personOf(id)?.url, html`<bdi>${name}</bdi>`)
      return html`${text}${name !== id && html` <code>${id}</code>`}`
    },
  }
  return people
}

/** Those whom a page about these records names. */
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
  const ask = find && (async () => find(text))
  const found = ask && (await answerOf(ask, isListOfTexts, 'find must return a list of account ids', report))
  return (found ?? []).slice(0, MOST_FOUND)
}

/** What a function of the deployment returns; `undefined` where it failed. */
async function answerOf<Answer>(
  ask: () => Promise<unknown>,
  isAnswer: (value: unknown) => value is Answer,
  rule: string,
  report: Report,
): Promise<Answer | undefined> {
  const asking = async () => {
    const answer = await ask()
    if (isAnswer(answer)) return answer
    throw new TypeError(rule)
  }
  return within(PATIENCE, asking()).catch((error: unknown) => {
    report(error)
    return undefined
  })
}

const isMap = (value: unknown): value is ReadonlyMap<string, unknown> => value instanceof Map
const isListOfTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')

function personIn(value: unknown): { readonly name: string; readonly url?: unknown } | undefined {
  const given = typeof value === 'string' ? { name: value } : value
  if (!isPlainObject(given) || typeof given.name !== 'string' || given.name.trim() === '') return undefined
  return { name: given.name, url: given.url }
}
