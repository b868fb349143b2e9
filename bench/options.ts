/** The command line of the benchmark. */
import { parseArgs } from 'node:util'
import { type DatabaseKind, KINDS } from '../fixtures/databases.ts'

const ALGORITHMS = ['ES256', 'ES384', 'RS256', 'EdDSA'] as const
const CONCURRENCIES = ['1', '8', '32'] as const
const CLIENTS = ['static', 'stored'] as const

export interface Options {
  readonly mode: 'table' | 'scale' | 'memory' | 'rows' | 'profile'
  readonly database: DatabaseKind
  readonly algorithm: (typeof ALGORITHMS)[number]
  readonly concurrency: number
  readonly clients: (typeof CLIENTS)[number]
  readonly actor: boolean
  readonly rounds: number
  readonly seconds: number
  /** For `--rows`: the number of rows in each of the compared databases. */
  readonly storedRows: readonly number[]
  /** For `--memory`: the number of exchanges. */
  readonly exchanges: number
}

export const USAGE = `npm run bench -- [options]

What is measured
  (none)                 the table: client_credentials, issue, exchange, the whole flow, on behalf of, and the lower bounds
  --scale                server CPU of an exchange with two server processes on one database, against one
  --memory               peak memory over many exchanges, against the first tenth
  --rows <n,n,…>         issue, exchange, lists and kill switches against the number of stored rows,
                         e.g. --rows 1000,1000000
  --profile              where the server spends CPU in excess of client_credentials; writes .cpuprofile files

How
  --database <kind>      ${KINDS.join(', ')}          (default postgres)
  --algorithm <alg>      ${ALGORITHMS.join(', ')}  (default ES256)
  --concurrency <n>      1, 8, 32                         (default 32)
  --clients <where>      static: in the configuration, stored: in the database (default static)
  --[no-]actor           with or without the exchange with an actor token (default with)
  --rounds <n>           rounds, interleaved over all rows (default 5)
  --seconds <s>          length of each row in each round  (default 5; fewer for a quick look)
  --exchanges <n>        for --memory (default 200000)
  --help                 this text
`

/** Returns `'help'` for `--help`. @throws {Error} naming the invalid option. */
export function parseOptions(args: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    args: [...args],
    allowNegative: true,
    options: {
      database: { type: 'string', default: 'postgres' },
      algorithm: { type: 'string', default: 'ES256' },
      concurrency: { type: 'string', default: '32' },
      clients: { type: 'string', default: 'static' },
      actor: { type: 'boolean', default: true },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '5' },
      exchanges: { type: 'string', default: '200000' },
      scale: { type: 'boolean', default: false },
      memory: { type: 'boolean', default: false },
      rows: { type: 'string' },
      profile: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return 'help'
  const modes = (['scale', 'memory', 'rows', 'profile'] as const).filter((mode) => values[mode])
  if (modes.length > 1) throw new Error(`use only one of ${modes.map((mode) => `--${mode}`).join(', ')}`)
  return {
    mode: modes[0] ?? 'table',
    database: oneOf('database', KINDS, values.database),
    algorithm: oneOf('algorithm', ALGORITHMS, values.algorithm),
    concurrency: Number(oneOf('concurrency', CONCURRENCIES, values.concurrency)),
    clients: oneOf('clients', CLIENTS, values.clients),
    actor: values.actor,
    rounds: number('rounds', values.rounds, { from: 1, to: 1000 }),
    seconds: number('seconds', values.seconds, { from: 0.5, to: 600, whole: false }),
    storedRows: values.rows === undefined ? [] : sizes(values.rows),
    exchanges: number('exchanges', values.exchanges, { from: 1000, to: 10_000_000 }),
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
