import type { Binding, Bound, Result, Row } from './driver.ts'

/** As much of node-postgres's connection as a statement speaks to. */
interface Wire {
  readonly stream: { cork?(): void; uncork?(): void }
  readonly parsedStatements: Readonly<Record<string, string>>
  /** Named, and not answered yet. Since pg 8.23. */
  readonly submittedNamedStatements?: Record<string, string>
  parse(statement: { name: string; text: string }): void
  bind(portal: { statement: string; values: Binding; valueMapper: (value: Bound) => unknown }): void
  describe(what: { type: 'P'; name: string }): void
  execute(portal: object): void
  sync(): void
}

type Done = (error: Error | null, results?: readonly Result[]) => void

/** The server parses and plans a named text once for each connection; the client keeps the account. */
export interface Prepared {
  readonly name: string
  readonly text: string
  /** What it returns: a row without values, once that is known. Columns are spelled out in the text, so they stay. */
  shape?: Row
}

/**
 * A statement as node-postgres takes it from extensions such as `pg-cursor`: the client calls `submit`, then one
 * method for each message of the server. Its own query asks the server to describe the columns every time, and
 * reads that answer every time; that cost as much as the row itself.
 *
 * Executed once for each of the bindings, all before one `Sync`: that makes them one transaction, which is
 * committed when the server is ready for the next query, and undone when it answers an error.
 */
export class PostgresStatement {
  /** Of the prepared text; the client reads both. */
  readonly name: string
  readonly text: string
  /** The client replaces it where it limits the time of a query. */
  callback: Done
  readonly #prepared: Prepared
  readonly #bindings: readonly Binding[]
  readonly #results: Result[] = []
  #shape: Row | undefined
  #rows: Row[] = []

  constructor(prepared: Prepared, bindings: readonly Binding[], callback: Done) {
    this.name = prepared.name
    this.text = prepared.text
    this.callback = callback
    this.#prepared = prepared
    this.#bindings = bindings
    this.#shape = prepared.shape
  }

  submit(wire: Wire): null {
    // One packet.
    wire.stream.cork?.()
    try {
      this.#prepare(wire)
      for (const values of this.#bindings) {
        wire.bind({ statement: this.name, values, valueMapper: toWire })
        if (!this.#shape) wire.describe({ type: 'P', name: '' })
        wire.execute({})
      }
      wire.sync()
    } finally {
      wire.stream.uncork?.()
    }
    return null
  }

  #prepare(wire: Wire): void {
    const { name, text } = this
    const { parsedStatements, submittedNamedStatements = {} } = wire
    if (name in parsedStatements || name in submittedNamedStatements) return
    wire.parse({ name, text })
    submittedNamedStatements[name] = text
  }

  handleRowDescription({ fields }: { fields: readonly { name: string }[] }): void {
    this.#shape = Object.fromEntries(fields.map(({ name }) => [name, null]))
  }

  /** Values are text, whatever their type. */
  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    const row: Record<string, unknown> = { ...this.#shape }
    let column = 0
    for (const name in row) row[name] = fields[column++]
    this.#rows.push(row)
  }

  /** The tag ends with the number of rows: `UPDATE 1`. */
  handleCommandComplete({ text }: { text: string }): void {
    this.#results.push({ rows: this.#rows, affected: Number(text.slice(text.lastIndexOf(' ') + 1)) })
    this.#rows = []
  }

  handleReadyForQuery(): void {
    this.#prepared.shape = this.#shape ?? {}
    this.callback(null, this.#results)
  }

  handleError(error: Error): void {
    this.callback(error)
  }
}

const toWire = (value: Bound): string | Buffer | null => (typeof value === 'number' ? String(value) : value)
