import { createHash } from 'node:crypto'
import { type Binding, codeOf, type Driver, type Fate } from './driver.ts'
import { PostgresStatement } from './postgres-statement.ts'

interface Client {
  query(statement: PostgresStatement): void
}

export const postgres: Driver = {
  batches: true,
  run: (connection, sql, bindings) =>
    new Promise((resolve, reject) => {
      const done = (error: Error | null, results: Parameters<typeof resolve>[0] = []) =>
        error ? reject(error) : resolve(results)
      ;(connection as Client).query(new PostgresStatement(nameFor(sql), sql, bindings as Binding[], done))
    }),
  fateOf(error): Fate {
    const code = codeOf(error) ?? ''
    if (['40001', '40P01'].includes(code)) return 'rolled back' // serialization failure, deadlock
    // A prepared statement that is gone (`DEALLOCATE ALL`, a pooler), or whose columns have changed.
    if (['26000', '0A000'].includes(code)) return 'outdated'
    // The severity is a word in the server's language. The classes: data, constraints, rollbacks, syntax and rights;
    // then a lock and a statement that took too long.
    const refused =
      Reflect.get(Object(error), 'severity') === 'ERROR' || /^(2[123]|40|42|55P03|57014)/.test(code)
    return refused ? 'refused' : 'unknown'
  },
}

const names = new Map<string, string>()

/** A name of its own for each text, the same in every process. */
function nameFor(sql: string): string {
  const name =
    names.get(sql) ?? `impersonation_${createHash('sha256').update(sql).digest('hex').slice(0, 32)}`
  names.set(sql, name)
  return name
}
