/** What is wrong with the tables of a database, each in one sentence with what to do. What is more than ours is welcome. */
import type { Dialect } from '../database/dialect.ts'
import type { Index, Table } from '../tables.ts'
import { type Catalogue, type FoundIndex, isTable } from './catalogue.ts'
import { kindOf, mayLack, nameOf } from './create.ts'

export const MIGRATE = 'run `oidc-impersonation migrate`'
export const RECREATE = 'dump and re-create'

export function faultsOfShape(dialect: Dialect, catalogue: Catalogue, tables: readonly Table[]): string[] {
  return tables.flatMap((table) => {
    if (!isTable(catalogue, table.name)) return [`the table ${table.name} is missing: ${MIGRATE}`]
    return [
      ...Object.keys(table.columns).flatMap((column) => faultOfColumn(dialect, catalogue, table, column)),
      ...faultsOfKeys(catalogue, table),
      ...table.indexes.flatMap((index) => faultOfIndex(dialect, catalogue, table, index)),
    ]
  })
}

function faultOfColumn(dialect: Dialect, { columns }: Catalogue, table: Table, column: string): string[] {
  const found = columns.find(({ place, name }) => place === table.name && name === column)
  const kind = kindOf(table, column)
  const spelled = (type: string, nullable: boolean) => `${type}${nullable ? '' : ' NOT NULL'}`
  const wanted = spelled(
    dialect.types[kind].replaceAll(/ (NOT NULL|UNIQUE|PRIMARY KEY)/g, ''),
    mayLack(table, column),
  )
  const name = `the column ${table.name}.${column}`
  if (!found) return [`${name} is missing: add it as ${wanted}, or ${RECREATE}`]
  const is = spelled(found.type, found.nullable)
  return is === wanted ? [] : [`${name} is ${is}, not ${wanted}: change it, or ${RECREATE}`]
}

/** By whatever name. */
function faultsOfKeys({ indexes }: Catalogue, table: Table): string[] {
  const keys = [table.key.join(', '), ...(table.unique === undefined ? [] : [table.unique])]
  const isKey = (key: string) => (index: FoundIndex) =>
    index.place === table.name && index.keyed === key && index.one && index.valid && index.predicate === ''
  return keys
    .filter((key) => !indexes.some(isKey(key)))
    .map((key) => `the key (${key}) of ${table.name} is missing: add it, or ${RECREATE}`)
}

function faultOfIndex(dialect: Dialect, { indexes }: Catalogue, table: Table, index: Index): string[] {
  const name = nameOf(table, index)
  const found = indexes.find((other) => other.name === name && other.place === table.name)
  const spelled = (keyed: string, predicate: string) => `(${keyed})${predicate && ` WHERE ${predicate}`}`
  if (!found) return [`the index ${name} is missing: ${MIGRATE}`]
  if (!found.valid) return [`the index ${name} is invalid, because it was not finished: ${MIGRATE}`]
  const partial = index.unless !== undefined && dialect.schema.hasPartialIndexes
  const wanted = spelled(index.columns.join(', '), partial ? `${index.unless} IS NOT NULL` : '')
  const is = spelled(found.keyed, found.predicate)
  return is === wanted ? [] : [`the index ${name} is on ${is}, not on ${wanted}: drop it, and ${MIGRATE}`]
}
