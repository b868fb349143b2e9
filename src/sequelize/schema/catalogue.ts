/** What a database has of our tables, beside what `tables.ts` says: what is missing, and what is not as it should be. */
import type { Database } from '../database/database.ts'
import type { Dialect } from '../database/dialect.ts'
import { BEING_MADE, UNFINISHED } from '../database/standard.ts'
import { optionalText, text } from '../database/values.ts'
import type { Table } from '../tables.ts'
import { partsOf } from './steps.ts'

/** What each thing is, in SQL, by names such as `table subject_tokens` and `column subject_tokens.open`. */
export type Catalogue = ReadonlyMap<string, string>

export async function readCatalogue(
  database: Database,
  tables: readonly string[],
): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (const row of await database.find(database.dialect.schema.catalogue(tables), [])) {
    found.set(text(row.name), text(row.shape))
    const also = optionalText(row.also)
    if (also !== undefined) found.set(also, '')
  }
  return found
}

const isUnfinished = (shape: string | undefined): boolean => shape === UNFINISHED || shape === BEING_MADE

/** Whether it is there, whatever it is. An index that was not finished is none. */
export const isMade = (catalogue: Catalogue, name: string): boolean =>
  catalogue.has(name) && !isUnfinished(catalogue.get(name))

export const MIGRATE = 'run `oidc-impersonation migrate`'
export const RECREATE = 'dump and re-create'

/** What is wrong, each in one sentence with what to do. What is more than ours is welcome. */
export function faultsOfShape(dialect: Dialect, found: Catalogue, tables: readonly Table[]): string[] {
  return tables.flatMap((table) => {
    const [itself, ...parts] = partsOf(dialect, table)
    const looked = found.has(`table ${table.name}`) ? parts : [itself]
    return looked.flatMap((part) => (part ? faultOf(part, found.get(part.name)) : []))
  })
}

function faultOf({ name, shape }: { name: string; shape: string }, is: string | undefined): string[] {
  if (is === shape) return []
  const byMigrate = /^(table|index)/.test(name)
  if (is === undefined) {
    const add = `add it${shape && ` as ${shape}`}, or ${RECREATE}`
    return [`the ${name} is missing: ${byMigrate ? MIGRATE : add}`]
  }
  if (isUnfinished(is)) return [`the ${name} is ${is}: ${MIGRATE}`]
  const change = byMigrate ? `drop it, and ${MIGRATE}` : `change it, or ${RECREATE}`
  return [`the ${name} is ${is}, not ${shape}: ${change}`]
}
