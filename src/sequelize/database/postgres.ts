import { createHash } from 'node:crypto'
import type { Driver, Result } from './driver.ts'
import { codeOf } from './fate.ts'
import { withAdvisoryLock } from './postgres-lock.ts'
import { PostgresStatement, type Prepared } from './postgres-statement.ts'
import { insertOrReplace, standard, updateFound } from './standard.ts'

interface Client {
  query(statement: PostgresStatement): void
}

export const postgres: Driver = {
  ...standard,
  insertOrReplace,

  batches: true,
  run: (connection, sql, bindings) =>
    new Promise((resolve, reject) => {
      const done = (error: Error | null, results: readonly Result[] = []) =>
        error ? reject(error) : resolve(results)
      ;(connection as Client).query(new PostgresStatement(preparedFor(sql), bindings, done))
    }),

  fateOf(error) {
    const code = codeOf(error) ?? ''
    if (['40001', '40P01'].includes(code)) return 'rolled back' // serialization failure, deadlock
    // A prepared statement that is gone (`DEALLOCATE ALL`, a pooler), or whose result columns have changed.
    if (['26000', '0A000'].includes(code)) return 'outdated'
    // The severity is translated into the server's language, so codes count as well: the classes of data,
    // constraints, rollbacks, syntax and rights, then a lock and a statement that timed out.
    const refused =
      Reflect.get(Object(error), 'severity') === 'ERROR' || /^(2[123]|40|42|55P03|57014)/.test(code)
    return refused ? 'refused' : 'unknown'
  },

  // An undefined table or column.
  isSchemaBehind: (error) => ['42P01', '42703'].includes(codeOf(error) ?? ''),

  updateInOrder: (rows) => updateFound(rows, ` ORDER BY t.${rows.order} COLLATE "C" FOR UPDATE OF t`),
  deleteOldest: ({ table, key, where, age, limit }) => `DELETE FROM ${table} WHERE (${key}) IN
    (SELECT ${key} FROM ${table} WHERE ${where} ORDER BY ${age} LIMIT ${limit} FOR UPDATE SKIP LOCKED)`,

  // The database's default collation may compare as a language does.
  types: {
    ascii: 'VARCHAR(64) COLLATE "C"',
    name: 'TEXT COLLATE "C"',
    shortName: 'TEXT COLLATE "C"',
    text: 'TEXT',
  },

  exclusively: withAdvisoryLock,
}

const prepared = new Map<string, Prepared>()

function preparedFor(text: string): Prepared {
  let known = prepared.get(text)
  if (!known) {
    // One name for each text, the same in every process.
    const name = `impersonation_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
    known = { name, text }
    prepared.set(text, known)
  }
  return known
}
