/** The query of a request, as values: a parameter that is not spelled as one stays text, which no rule accepts. */
import { invalidRequest } from '../base/errors.ts'
import { unknownName } from '../records/fields.ts'
import type { Given } from '../records/list.ts'

type Text<Name extends string> = Partial<Record<Name, string>>

export function valuesIn<Name extends string>(query: string, names: readonly Name[]): Given<Name> {
  const given = Object.entries<string | undefined>(single(query, names))
  return Object.fromEntries(given.map(([name, text = '']) => [name, valueIn(name, text)])) as Given<Name>
}

const FLAGS = ['live', 'replayed', 'withoutActor', 'readOnly', 'unacknowledged']
const NUMBERS = ['createdAfter', 'createdBefore', 'limit', 'days']

function valueIn(name: string, text: string): unknown {
  if (FLAGS.includes(name) && /^(true|false)$/.test(text)) return text === 'true'
  return NUMBERS.includes(name) && /^(0|[1-9]\d{0,11})$/.test(text) ? Number(text) : text
}

/** Refuses every parameter: one that is ignored would promise something. */
export function assertNoQuery(query: string): void {
  single(query, [])
}

/** Each of the known parameters once, and no other. */
export function single<Name extends string>(query: string, names: readonly Name[]): Text<Name> {
  const given: Text<Name> = {}
  for (const [parameter, value] of decode(query)) {
    const name = names.find((known) => known === parameter)
    if (!name) throw unknownName('parameter', parameter)
    if (given[name] !== undefined)
      throw invalidRequest({ field: name, public: `${name} must not be repeated` })
    given[name] = value
  }
  return given
}

/** `URLSearchParams` accepts anything; what is not UTF-8 is refused instead of guessed. */
function decode(query: string): URLSearchParams {
  try {
    decodeURIComponent(query)
  } catch {
    throw invalidRequest({ public: 'the query is malformed' })
  }
  return new URLSearchParams(query)
}
