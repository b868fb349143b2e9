import { parseArgs } from 'node:util'
import type { Seconds } from '../base/clock.ts'
import { UsageError } from './process.ts'

export const HELP = `Usage: oidc-impersonation <command> [<module>] [options]

Commands
  migrate      bring the tables up to date while people work
  status       say which database it is, and whether this version works with it
  sql          print the statements of migrate for someone else to run
  purge        delete what ended longer ago than the retention, or has expired
  end-unspent  revoke every subject token that can still be exchanged: after a
               restore, or a failover that may have lost commits

Module
  The file of a deployment, for its database. It exports \`provider\` and
  \`impersonation\`, or a function as default that returns both. Without it:
  DATABASE_URL. sql takes none, and does not connect.

Options
  --retention <seconds>  with purge: how long records of ended impersonations
                         are kept (default 7776000: 90 days)
  --issuer <url>         with end-unspent: only this issuer's (default: all)
  --json                 with status: print JSON
  --dry-run              with migrate: only print the statements, the rows and
                         bytes of their tables, and how long each may take
  --role <name>          with sql: print the grants of this role too, which
                         serves and purges
  --dialect <name>       with sql: sqlite, postgres or mysql (default: that of
                         DATABASE_URL)
  --help                 show this
  --version              show the version

Environment
  DATABASE_URL  sqlite:<file>, postgres://…, mysql://… or mariadb://…
                TLS for PostgreSQL: ?sslmode=verify-full&sslrootcert=<file>

Exit code: 0 done, 1 the database failed, or status found a fault,
2 invalid usage.
`

const DIALECTS = ['sqlite', 'postgres', 'mysql'] as const
type DialectName = (typeof DIALECTS)[number]

/** A command that works on a database. */
export interface DatabaseCommand {
  readonly name: CommandName
  /** The file of the deployment whose database it is; that of `DATABASE_URL` without it. */
  readonly module?: string
  readonly retention?: Seconds
  readonly issuer?: string
  readonly dialect?: DialectName
  readonly role?: string
  readonly dryRun: boolean
  readonly json: boolean
}

/** The options that each command takes. */
const COMMANDS = {
  migrate: ['dry-run'],
  status: ['json'],
  sql: ['dialect', 'role'],
  purge: ['retention'],
  'end-unspent': ['issuer'],
} as const satisfies Readonly<Record<string, readonly string[]>>
type CommandName = keyof typeof COMMANDS

const isCommand = (name: string): name is CommandName => Object.hasOwn(COMMANDS, name)

/** @throws {UsageError} saying what is wrong. */
export function parseCommandLine(args: string[]): DatabaseCommand | 'help' | 'version' {
  if (args.find((arg) => !arg.startsWith('-')) === 'check')
    throw new UsageError(
      'check is the command oidc-impersonation-check, of the package oidc-provider-impersonation-check',
    )
  const { positionals, values } = parse(args)
  const { help, version, ...options } = values
  if (help) return 'help'
  if (version) return 'version'
  const [name, ...others] = positionals
  if (name === undefined) throw new UsageError('missing command')
  if (!isCommand(name)) throw new UsageError(`unknown command: ${name}`)
  assertTaken(name, Object.keys(options))
  const { json = false } = options
  const module = name === 'sql' ? undefined : others.shift()
  if (others.length > 0) throw new UsageError(`unexpected argument: ${others.join(' ')}`)
  return {
    name,
    ...(module !== undefined && { module }),
    json,
    dryRun: options['dry-run'] === true,
    ...(options.role !== undefined && { role: parseRole(options.role) }),
    ...(options.retention !== undefined && { retention: parseRetention(options.retention) }),
    ...(options.issuer !== undefined && { issuer: parseIssuer(options.issuer) }),
    ...(options.dialect !== undefined && { dialect: parseDialect(options.dialect) }),
  }
}

function assertTaken(name: CommandName, options: readonly string[]): void {
  const takes = (taken: readonly string[], option: string) => taken.includes(option)
  const option = options.find((given) => !takes(COMMANDS[name], given))
  if (option === undefined) return
  const owners = Object.entries(COMMANDS).filter(([, taken]) => takes(taken, option))
  throw new UsageError(`--${option} is only valid with ${owners.map(([owner]) => owner).join(' and ')}`)
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
        json: { type: 'boolean' },
        'dry-run': { type: 'boolean' },
        role: { type: 'string' },
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

/** The name of a role as the database spells it: `app`, `"my-app"`, `'app'@'%'`. */
function parseRole(value: string): string {
  if (!/^[\w"'`@%.-]+$/.test(value)) throw new UsageError('--role must be the name of a role')
  return value
}

function parseDialect(value: string): DialectName {
  const dialect = DIALECTS.find((name) => name === value)
  if (!dialect) throw new UsageError(`--dialect must be ${DIALECTS.join(', ')}`)
  return dialect
}
