/** CPU of the server of a database, where it runs on this machine. */
import { readFileSync } from 'node:fs'
import type { Sequelize } from 'sequelize'
import type { DatabaseKind } from '../../fixtures/databases.ts'

/** Microseconds: the kernel counts in hundredths of a second. */
const TICK = 10_000

/** Microseconds that these processes have had so far, user and system. */
function cpuOf(pids: readonly number[]): number {
  let ticks = 0
  for (const pid of pids) {
    const [user, system] = statOf(pid)?.slice(11, 13) ?? []
    ticks += Number(user ?? 0) + Number(system ?? 0)
  }
  return ticks * TICK
}

/** What follows the name of the command, which may hold anything. */
function statOf(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}

/** The processes that serve a database: one for each connection of PostgreSQL, one for all databases of MariaDB. */
async function processesOf(kind: DatabaseKind, sequelize: Sequelize): Promise<readonly number[]> {
  if (kind === 'sqlite') return []
  const [rows] = await sequelize.query(
    kind === 'postgres'
      ? 'SELECT pid FROM pg_stat_activity WHERE datname = current_database()'
      : 'SELECT @@pid_file AS file',
  )
  return (rows as { pid?: number; file?: string }[]).map(({ pid, file }) => pid ?? pidIn(file ?? ''))
}

function pidIn(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8'))
  } catch {
    return Number.NaN
  }
}

const NAMES: Readonly<Record<DatabaseKind, RegExp>> = {
  sqlite: /^$/,
  postgres: /^postgres/,
  mysql: /^(mariadbd|mysqld)/,
}

/** Sums what every process has had that has served it, those that have ended included. */
export function cpuOfDatabase(kind: DatabaseKind, sequelize: Sequelize): () => Promise<number | undefined> {
  const known = new Map<number, number>()
  return async () => {
    for (const pid of await processesOf(kind, sequelize)) {
      // On another machine these process ids belong to other processes.
      if (NAMES[kind].test(nameOf(pid))) known.set(pid, cpuOf([pid]))
    }
    return known.size === 0 ? undefined : [...known.values()].reduce((sum, cpu) => sum + cpu)
  }
}

function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
  } catch {
    return ''
  }
}
