/** The statements that make what `tables.ts` says, and what each makes. */
import type { Dialect } from '../database/dialect.ts'
import type { Index, Kind, RECORDS_VIEW, Table } from '../tables.ts'

export interface Statement {
  readonly sql: string
  readonly makes: Made
}

/** A table or a view; or a column, or an index, of a table. */
export interface Made {
  readonly table: string
  readonly column?: string
  readonly index?: string
  /** For people only: nothing is wrong without it. */
  readonly view?: true
}

export const kindOf = ({ columns }: Table, column: string) =>
  (columns[column] ?? 'text').replace('?', '') as Kind

export const mayLack = (table: Table, column: string): boolean =>
  table.columns[column]?.endsWith('?') === true

export const nameOf = (table: Table, index: Index): string => `${table.name}_${index.name}`

const typed = (dialect: Dialect, table: Table, column: string): string => {
  const kind = kindOf(table, column)
  const optional = mayLack(table, column) || kind === 'sequence'
  return `${column} ${dialect.types[kind]}${optional ? '' : ' NOT NULL'}`
}

/** A table without its indexes. */
export function createTable(dialect: Dialect, table: Table): Statement {
  const { name, columns, key, unique, byKey } = table
  const hasSequence = Object.values(columns).includes('sequence')
  const parts = [
    ...Object.keys(columns).map((column) => typed(dialect, table, column)),
    `${hasSequence ? dialect.types.keyBesideSequence : 'PRIMARY KEY'} (${key.join(', ')})`,
    ...(unique === undefined ? [] : [`UNIQUE (${unique})`]),
  ]
  const sql = `CREATE TABLE IF NOT EXISTS ${name} (
    ${parts.join(',\n    ')}
  )${dialect.tableOptions}${byKey ? dialect.byKey : ''}`
  return { sql, makes: { table: name } }
}

export const addColumn = (dialect: Dialect, table: Table, column: string): Statement => ({
  sql: dialect.schema.addColumn(table.name, typed(dialect, table, column)),
  makes: { table: table.name, column },
})

export function createIndex(dialect: Dialect, table: Table, index: Index): Statement {
  const indexed = (column: string) => (kindOf(table, column) === 'name' ? dialect.indexed(column) : column)
  const sql = dialect.schema.createIndex({
    name: nameOf(table, index),
    table: table.name,
    columns: index.columns.map(indexed).join(', '),
    ...(index.unless !== undefined && { unless: index.unless }),
  })
  return { sql, makes: { table: table.name, index: nameOf(table, index) } }
}

export function createView(dialect: Dialect, { name, columns, from }: typeof RECORDS_VIEW): Statement {
  const selected = columns.map(([kind, column, its]) => `${dialect.legible(column, kind)} AS ${its}`)
  const statements = dialect.createView(name, `SELECT ${selected.join(', ')} FROM ${from}`)
  return { sql: statements.join(';\n'), makes: { table: name, view: true } }
}
