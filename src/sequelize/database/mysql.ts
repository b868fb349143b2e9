import type { Driver } from './driver.ts'
import { codeOf } from './fate.ts'
import { inSync } from './galera.ts'
import { toPositional } from './positional.ts'

interface Client {
  execute(sql: string, values: unknown, done: (error: Error | null, result: unknown) => void): void
}

/** MariaDB and MySQL, one statement at a time. */
export const mysql: Driver = {
  batches: false,
  run: (connection, sql, [bind = []]) =>
    new Promise((resolve, reject) => {
      ;(connection as Client).execute(...toPositional(sql, bind), (error, result) => {
        if (error) reject(error)
        else if (Array.isArray(result)) resolve([{ rows: result, affected: 0 }])
        else resolve([{ rows: [], affected: Number(Reflect.get(Object(result), 'affectedRows')) }])
      })
    }),
  fateOf(error) {
    // Galera says the first of a write set that lost; MariaDB the second where the row changed since the read.
    if (['ER_LOCK_DEADLOCK', 'ER_CHECKREAD'].includes(codeOf(error) ?? '')) return 'rolled back'
    const { sqlState, fatal } = Object(error)
    return typeof sqlState === 'string' && fatal !== true ? 'refused' : 'unknown'
  },
  inSync,
}
