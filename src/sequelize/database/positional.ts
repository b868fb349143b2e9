import type { Binding, Bound } from './text.ts'

interface Positional {
  readonly text: string
  /** The parameter at each `?`. */
  readonly order: readonly number[]
}

const known = new Map<string, Positional>()

/** For drivers without `$1`: the text with `?` instead, and the values in the order in which they appear in it. */
export function toPositional(sql: string, bind: Binding): [text: string, bind: Bound[]] {
  let statement = known.get(sql)
  if (!statement) {
    statement = translate(sql)
    known.set(sql, statement)
  }
  return [statement.text, statement.order.map((position) => bind[position - 1] ?? null)]
}

function translate(sql: string): Positional {
  const order: number[] = []
  const text = sql.replace(/\$(\d+)/g, (_, position: string) => {
    order.push(Number(position))
    return '?'
  })
  return { text, order }
}
