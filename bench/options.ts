/** The command line of the benchmark. */
import path from 'node:path'
import { parseArgs } from 'node:util'
import { type DatabaseKind, KINDS } from '../fixtures/databases.ts'

const ALGORITHMS = ['ES256', 'ES384', 'RS256', 'EdDSA'] as const
const CONCURRENCIES = ['1', '8', '32'] as const
const CLIENTS = ['static', 'stored'] as const

export interface Options {
  readonly mode: 'table' | 'scale' | 'memory' | 'rows' | 'profile' | 'facts' | 'metrics'
  readonly database: DatabaseKind
  readonly algorithm: (typeof ALGORITHMS)[number]
  readonly concurrency: number
  readonly clients: (typeof CLIENTS)[number]
  readonly actor: boolean
  readonly rounds: number
  readonly seconds: number
  /** For the table: requests of each row before the first round of a start. */
  readonly warmUp: number
  /** For the table: the folder of another checkout, which is measured round by round beside this one. */
  readonly against?: string
  /** For `--rows`: the number of rows in each of the compared databases. */
  readonly storedRows: readonly number[]
  /** For `--memory`: the number of exchanges. */
  readonly exchanges: number
  /** For `--facts`: the databases that are measured, and the number of rows in each. */
  readonly kinds: readonly DatabaseKind[]
  readonly factRows: number
  /** For `--facts`: what every limit that fails the run is multiplied by. */
  readonly limits: number
}

export const USAGE = `npm run bench -- [options]

What is measured
  (none)                 the table: client_credentials, issue, exchange, the whole flow, on behalf of, and the lower bounds
  --scale                server CPU of an exchange with two server processes on one database, against one
  --memory               peak memory over many exchanges, against the first tenth
  --rows <n,n,…>         issue, exchange, lists and kill switches against the number of stored rows,
                         e.g. --rows 1000,1000000
  --facts                bytes, write-ahead log, pages and statements against their limits, on every database;
                         one that is missed fails the run. --rows <n> sets the size (default 100000)
  --metrics              what the recordings of an exchange cost, with an SDK of OpenTelemetry and without
  --profile              where the server spends CPU in excess of client_credentials; writes .cpuprofile files

How
  --database <kind>      ${KINDS.join(', ')}          (default postgres)
  --algorithm <alg>      ${ALGORITHMS.join(', ')}  (default ES256)
  --concurrency <n>      1, 8, 32                         (default 32)
  --clients <where>      static: in the configuration, stored: in the database (default static)
  --[no-]actor           with or without the exchange with an actor token (default with)
  --rounds <n>           rounds, interleaved over all rows (default 5; for the table 20 of each start)
  --seconds <s>          length of each row in each round  (default 5; for the table 0.35)
  --warm-up <n>          for the table: requests of each row before the first round of a start (default 15000)
  --against <folder>     for the table: another checkout, with its node_modules, measured round by round beside this one
  --exchanges <n>        for --memory (default 200000)
  --limits <factor>      for --facts: multiplies every limit (default 1; 0.9 names what has little room left)
  --help                 this text
`

/** Returns `'help'` for `--help`. @throws {Error} naming the invalid option. */
export function parseOptions(args: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    args: [...args],
    allowNegative: true,
    options: {
      database: { type: 'string' },
      algorithm: { type: 'string', default: 'ES256' },
      concurrency: { type: 'string', default: '32' },
      clients: { type: 'string', default: 'static' },
      actor: { type: 'boolean', default: true },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      'warm-up': { type: 'string', default: '15000' },
      against: { type: 'string' },
      exchanges: { type: 'string', default: '200000' },
      scale: { type: 'boolean', default: false },
      memory: { type: 'boolean', default: false },
      rows: { type: 'string' },
      facts: { type: 'boolean', default: false },
      limits: { type: 'string', default: '1' },
      metrics: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return 'help'
  const { facts, database = 'postgres' } = values
  // What --rows means for --facts is another mode otherwise.
  const modes = (['scale', 'memory', 'rows', 'profile', 'facts', 'metrics'] as const).filter(
    (mode) => values[mode] && !(facts && mode === 'rows'),
  )
  if (modes.length > 1) throw new Error(`use only one of ${modes.map((mode) => `--${mode}`).join(', ')}`)
  const [mode = 'table'] = modes
  const isTable = mode === 'table'
  if (values.against !== undefined && !isTable) throw new Error('--against is for the table')
  return {
    mode,
    database: oneOf('database', KINDS, database),
    algorithm: oneOf('algorithm', ALGORITHMS, values.algorithm),
    concurrency: Number(oneOf('concurrency', CONCURRENCIES, values.concurrency)),
    clients: oneOf('clients', CLIENTS, values.clients),
    actor: values.actor,
    rounds: number('rounds', values.rounds ?? (isTable ? '20' : '5'), { from: 1, to: 1000 }),
    seconds: number('seconds', values.seconds ?? (isTable ? '0.35' : '5'), {
      from: 0.1,
      to: 600,
      whole: false,
    }),
    warmUp: number('warm-up', values['warm-up'], { from: 1, to: 1_000_000 }),
    ...(values.against !== undefined && { against: path.resolve(values.against) }),
    storedRows: values.rows === undefined || facts ? [] : sizes(values.rows),
    exchanges: number('exchanges', values.exchanges, { from: 1000, to: 10_000_000 }),
    kinds: values.database === undefined ? KINDS : [oneOf('database', KINDS, values.database)],
    factRows: facts ? number('rows', values.rows ?? '100000', { from: 1000, to: 100_000_000 }) : 0,
    limits: number('limits', values.limits, { from: 0.01, to: 100, whole: false }),
  }
}

function oneOf<Choice extends string>(name: string, choices: readonly Choice[], value: string): Choice {
  const choice = choices.find((one) => one === value)
  if (choice === undefined) throw new Error(`--${name} must be one of ${choices.join(', ')}, not "${value}"`)
  return choice
}

interface Range {
  readonly from: number
  readonly to: number
  readonly whole?: boolean
}

function number(name: string, text: string, { from, to, whole = true }: Range): number {
  const value = Number(text)
  const fits = text.trim() !== '' && value >= from && value <= to && (!whole || Number.isInteger(value))
  if (!fits) {
    throw new Error(`--${name} must be a ${whole ? 'whole ' : ''}number from ${from} to ${to}, not "${text}"`)
  }
  return value
}

function sizes(text: string): number[] {
  const list = text.split(',').map((size) => number('rows', size, { from: 0, to: 100_000_000 }))
  if (list.length < 2) throw new Error('--rows must name two sizes or more, e.g. --rows 1000,2000000')
  return list
}
