/** What PostgreSQL and SQLite write alike, and MySQL in part. */
import type { Dialect, Insert, Update, Upsert } from './driver.ts'

export function into({ table, columns }: Insert): string {
  const parameters = columns.map((_, index) => `$${index + 1}`)
  return `INTO ${table} (${columns.join(', ')}) VALUES (${parameters.join(', ')})`
}

/** What an upsert sets; `given` is how a database calls the value that was to be inserted. */
export function replacing({ table, columns, key, kept }: Upsert, given: (column: string) => string): string {
  const replaced = columns.filter((column) => !key.includes(column) && !kept.includes(column))
  return [
    ...replaced.map((column) => `${column} = ${given(column)}`),
    ...kept.map((column) => `${column} = COALESCE(${table}.${column}, ${given(column)})`),
  ].join(', ')
}

/** `found` may order and lock the rows it selects. */
export function updateFound({ table, key, set, from, where }: Update, found = ''): string {
  const assignments = Object.entries(set).map(([column, value]) => `${column} = ${value}`)
  return `UPDATE ${table} SET ${assignments.join(', ')}
    WHERE ${key} IN (SELECT t.${key} FROM ${from} WHERE ${where}${found})`
}

type Standard = Pick<
  Dialect,
  'bindName' | 'insertNew' | 'upsert' | 'tableOptions' | 'indexed' | 'createIndex'
>

export const standard: Standard = {
  bindName: (name) => name ?? null,
  insertNew: (row) => `INSERT ${into(row)} ON CONFLICT DO NOTHING`,
  upsert: (row) => `INSERT ${into(row)} ON CONFLICT (${row.key.join(', ')}) DO UPDATE
    SET ${replacing(row, (column) => `excluded.${column}`)}`,
  tableOptions: '',
  indexed: (column) => column,
  async createIndex(sequelize, { name, table, columns }) {
    await sequelize.query(`CREATE INDEX IF NOT EXISTS ${name} ON ${table} (${columns})`)
  },
}
