/**
 * Uses what node-postgres keeps private: `parsedStatements`, `parse`, `bind`, `describe`, `execute` and `sync`,
 * `stream.cork`. The way out is `client.query({ name, text, values })` in the `run` of the driver, with `most: () => 1`: a find
 * and a spend then cost 109 µs of CPU instead of 27 to 29.
 */
import type { Binding, Bound, Result, Row } from '../text.ts'

/** The part of node-postgres's private `Connection` that is used here. */
interface Wire {
  readonly stream: { cork?(): void; uncork?(): void }
  readonly parsedStatements: Readonly<Record<string, string>>
  parse(statement: { name: string; text: string }): void
  bind(portal: { statement: string; values: Binding; valueMapper: (value: Bound) => unknown }): void
  describe(what: { type: 'P'; name: string }): void
  execute(portal: object): void
  sync(): void
}

type Done = (error: Error | null, results?: readonly Result[]) => void

/** A text, which the server parses and plans once for each connection if it may keep it by its name. */
export interface Parsed {
  readonly name: string
  readonly text: string
  /** A row without values, once the columns are known. They never change, because the text lists them. */
  shape?: Row
}

/**
 * A statement in the form that node-postgres takes from extensions such as `pg-cursor`: the client calls `submit`,
 * then one method for each message from the server. The client's own query asks for a description of the columns
 * every time, and reading that costs as much as reading the row.
 *
 * Executed once for each binding, all before one `Sync`. That makes them one transaction, which is committed when
 * the server is ready for the next query, and rolled back when it reports an error.
 */
export class PostgresStatement {
  /** The client reads both. With an empty name the text is parsed each time. */
  readonly name: string
  readonly text: string
  /** The client replaces it when a query has a time limit. */
  callback: Done
  readonly #parsed: Parsed
  readonly #bindings: readonly Binding[]
  readonly #results: Result[] = []
  #rows: Row[] = []

  constructor(parsed: Parsed, name: string, bindings: readonly Binding[], done: Done) {
    this.name = name
    this.text = parsed.text
    this.callback = done
    this.#parsed = parsed
    this.#bindings = bindings
  }

  submit(wire: Wire): null {
    // In one packet.
    wire.stream.cork?.()
    try {
      const { name, text } = this
      // The client notes the name before it sends its next query: in its pipeline mode it takes no statements like this.
      if (!(name in wire.parsedStatements)) wire.parse({ name, text })
      for (const values of this.#bindings) {
        wire.bind({ statement: name, values, valueMapper: toWire })
        if (!this.#parsed.shape) wire.describe({ type: 'P', name: '' })
        wire.execute({})
      }
      wire.sync()
    } finally {
      wire.stream.uncork?.()
    }
    return null
  }

  handleRowDescription({ fields }: { fields: readonly { name: string }[] }): void {
    this.#parsed.shape = Object.fromEntries(fields.map(({ name }) => [name, null]))
  }

  /** Values come as text, whatever their type. */
  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    const row: Record<string, unknown> = { ...this.#parsed.shape }
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
    this.#parsed.shape ??= {}
    this.callback(null, this.#results)
  }

  handleError(error: Error): void {
    this.callback(error)
  }
}

const toWire = (value: Bound): string | Buffer | null => (typeof value === 'number' ? String(value) : value)
