/** What the catalogue of a database says of our tables. */
import type { Database } from '../database/database.ts'
import { optionalText, text } from '../database/values.ts'
import type { Made } from './create.ts'

interface FoundColumn {
  readonly place: string
  readonly name: string
  readonly type: string
  readonly nullable: boolean
}

export interface FoundIndex {
  readonly place: string
  readonly name: string
  readonly keyed: string
  readonly predicate: string
  /** No two rows share an entry. */
  readonly one: boolean
  readonly valid: boolean
  readonly building: boolean
}

export interface Catalogue {
  readonly columns: readonly FoundColumn[]
  readonly indexes: readonly FoundIndex[]
}

export async function readCatalogue(database: Database, tables: readonly string[]): Promise<Catalogue> {
  const { schema } = database.dialect
  const columns = await database.find(schema.columns(tables), [])
  const indexes = await database.find(schema.indexes(tables), [])
  return {
    columns: columns.map(({ place, name, type, nullable }) => ({
      place: text(place),
      name: text(name),
      type: text(type),
      nullable: isTrue(nullable),
    })),
    indexes: indexes.map(({ place, name, keyed, predicate, one, valid, building }) => ({
      place: text(place),
      name: text(name),
      keyed: text(keyed).replaceAll(',', ', '),
      predicate: (optionalText(predicate ?? null) ?? '').replace(/^\((.*)\)$/s, '$1'),
      one: isTrue(one),
      valid: isTrue(valid),
      building: isTrue(building),
    })),
  }
}

const isTrue = (value: unknown): boolean => value === true || value === 't' || Number(value) === 1

export const isTable = ({ columns }: Catalogue, table: string): boolean =>
  columns.some(({ place }) => place === table)

/** Whether a statement has done what it does. An index that was not finished is none. */
export function isMade(catalogue: Catalogue, { table, column, index }: Made): boolean {
  if (index !== undefined) return catalogue.indexes.some(({ name, valid }) => name === index && valid)
  if (column === undefined) return isTable(catalogue, table)
  return catalogue.columns.some(({ place, name }) => place === table && name === column)
}
