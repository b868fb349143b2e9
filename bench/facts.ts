/**
 * Facts, and not clocks: bytes, write-ahead log, pages, plans and statements, which are the same on every machine and
 * under every load. One that is missed fails the run. Aims are times: they are printed, and fail nothing.
 */

import { Ledger } from './facts-ledger.ts'
import { measureMysql } from './facts-mysql.ts'
import { measurePostgres } from './facts-postgres.ts'
import { measureSqlite } from './facts-sqlite.ts'
import { measureStatusList } from './facts-status.ts'
import type { Options } from './options.ts'
import * as report from './report.ts'

const MEASURES = { postgres: measurePostgres, mysql: measureMysql, sqlite: measureSqlite }

export async function measureFacts(options: Options, tell: (text: string) => void): Promise<void> {
  const { kinds, limits } = options
  const ledger = new Ledger(limits)
  for (const kind of kinds) await MEASURES[kind](options, ledger.of(kind), tell)
  await measureStatusList(ledger.of('status list'))
  tell('')
  console.log(ledger.table())
  const { lines, missed } = ledger
  console.log(
    `\n${report.writeResult('facts.json', { takenAt: new Date().toISOString(), machine: report.MACHINE, options, lines })}`,
  )
  console.log(missed === 0 ? '\nEvery fact holds.' : `\n${missed} MISSED.`)
  process.exitCode = missed === 0 ? 0 : 1
}
