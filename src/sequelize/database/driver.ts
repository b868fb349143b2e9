/** What a database's driver does for us, and what it says when it fails. One file each: postgres, mysql, sqlite. */

export type Bound = string | number | Buffer | null
/** What the parameters of a statement stand for: `$1` is the first. */
export type Binding = readonly Bound[]
export type Row = Readonly<Record<string, unknown>>

/** Rows of a reading statement, and how many rows a writing one touched. */
export interface Result {
  readonly rows: readonly Row[]
  readonly affected: number
}

/**
 * What became of a statement that failed.
 * - `rolled back`: it had no effect, and may be tried again on this connection;
 * - `outdated`: it had no effect, and this connection will refuse it again: try another;
 * - `refused`: it had no effect, and would be refused again;
 * - `locked`: another process holds the database: trying again would wait as long again;
 * - `unknown`: it may have happened, and the connection may be broken.
 */
export type Fate = 'rolled back' | 'outdated' | 'refused' | 'locked' | 'unknown'

export interface Driver {
  /** Whether `run` takes several bindings without a round trip more. */
  readonly batches: boolean
  /** Runs a statement once for each binding, in one transaction, and returns the results in their order. */
  run(connection: object, sql: string, bindings: readonly Binding[]): Promise<readonly Result[]>
  fateOf(error: unknown): Fate
}

export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const original: unknown = Reflect.get(error, 'original') ?? error
  const code: unknown = original instanceof Error ? Reflect.get(original, 'code') : undefined
  return typeof code === 'string' ? code : undefined
}

/** Drivers that know no `$1`: the text with `?`, and which of the bound values stands at each. */
export function positional(): (sql: string, bind: Binding) => [text: string, bind: Bound[]] {
  const known = new Map<string, { text: string; order: number[] }>()
  return (sql, bind) => {
    let statement = known.get(sql)
    if (!statement) {
      const order: number[] = []
      const text = sql.replace(/\$(\d+)/g, (_, position: string) => {
        order.push(Number(position))
        return '?'
      })
      statement = { text, order }
      known.set(sql, statement)
    }
    const { text, order } = statement
    return [text, order.map((position) => bind[position - 1] ?? null)]
  }
}
