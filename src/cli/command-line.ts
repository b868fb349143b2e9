import { parseArgs } from 'node:util'
import type { Seconds } from '../clock.ts'

export const HELP = `Usage: oidc-impersonation <command> [options]

Commands
  migrate       bring the tables up to date; safe from many processes at once
  status        show which steps were applied, and how many rows each table has
  sql           print the statements of migrate for someone else to run; needs no database
  purge         delete ended subject tokens after the retention, and expired models of the provider
  end-unspent   revoke every subject token that can still be exchanged: after a restore, or a failover
                that may have lost commits

Options
  --retention <seconds>  with purge: how long records of ended impersonations are kept (default 7776000: 90 days)
  --issuer <url>         with end-unspent: only this issuer's (default: all issuers in the database)
  --dialect <name>       with sql: sqlite, postgres or mysql (default: that of DATABASE_URL)
  --help                 show this
  --version              show the version

Environment
  DATABASE_URL  sqlite:<file>, postgres://…, mysql://… or mariadb://…
                TLS: ?sslmode=verify-full&sslrootcert=<file> (or require, verify-ca; sslcert, sslkey)

Exit code: 0 done, 1 the database failed, 2 invalid usage.
`

export class UsageError extends Error {}

const DIALECTS = ['sqlite', 'postgres', 'mysql'] as const
export type DialectName = (typeof DIALECTS)[number]

export interface Command {
  readonly name: CommandName
  readonly retention?: Seconds
  readonly issuer?: string
  readonly dialect?: DialectName
}

/** The option that each command takes, if any. */
const COMMANDS = {
  migrate: undefined,
  status: undefined,
  sql: 'dialect',
  purge: 'retention',
  'end-unspent': 'issuer',
} as const
type CommandName = keyof typeof COMMANDS

const isCommand = (name: string): name is CommandName => Object.hasOwn(COMMANDS, name)

/** @throws {UsageError} saying what is wrong. */
export function parseCommandLine(args: string[]): Command | 'help' | 'version' {
  const { positionals, values } = parse(args)
  const { help, version, ...options } = values
  if (help) return 'help'
  if (version) return 'version'
  const [name, ...others] = positionals
  if (name === undefined) throw new UsageError('missing command')
  if (!isCommand(name)) throw new UsageError(`unknown command: ${name}`)
  if (others.length > 0) throw new UsageError(`unexpected argument: ${others.join(' ')}`)
  for (const option of Object.keys(options)) {
    if (option === COMMANDS[name]) continue
    const [owner] = Object.entries(COMMANDS).find(([, taken]) => taken === option) ?? []
    throw new UsageError(`--${option} is only valid with ${owner}`)
  }
  return {
    name,
    ...(options.retention !== undefined && { retention: parseRetention(options.retention) }),
    ...(options.issuer !== undefined && { issuer: parseIssuer(options.issuer) }),
    ...(options.dialect !== undefined && { dialect: parseDialect(options.dialect) }),
  }
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean' },
        retention: { type: 'string' },
        issuer: { type: 'string' },
        dialect: { type: 'string' },
      },
    })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

function parseRetention(value: string): Seconds {
  if (!/^\d{1,12}$/.test(value)) throw new UsageError('--retention must be whole seconds')
  return Number(value)
}

function parseIssuer(value: string): string {
  if (!URL.canParse(value)) throw new UsageError('--issuer must be the URL of an issuer')
  return value
}

function parseDialect(value: string): DialectName {
  const dialect = DIALECTS.find((name) => name === value)
  if (!dialect) throw new UsageError(`--dialect must be ${DIALECTS.join(', ')}`)
  return dialect
}
