/** The command line of the benchmark. */
import path from 'node:path'
import { parseArgs } from 'node:util'
import { type DatabaseKind, KINDS } from '../../fixtures/databases.ts'

const ALGORITHMS = ['ES256', 'ES384', 'RS256', 'EdDSA'] as const
const CONCURRENCIES = ['1', '8', '32'] as const

export interface Options {
  /** Facts, in place of the table. */
  readonly facts: boolean
  readonly database: DatabaseKind
  readonly algorithm: (typeof ALGORITHMS)[number]
  readonly concurrency: number
  readonly rounds: number
  readonly seconds: number
  /** Requests of each row before the first round of a start. */
  readonly warmUp: number
  /** The folder of another checkout, which is measured round by round beside this one. */
  readonly against?: string
  /** For `--facts`: the databases that are measured, and the number of rows in each. */
  readonly kinds: readonly DatabaseKind[]
  readonly factRows: number
  /** For `--facts`: what every limit that fails the run is multiplied by. */
  readonly limits: number
}

export const USAGE = `npm run bench -- [options]

What is measured
  (none)                 the table: client_credentials, issue, exchange, the whole flow, and on behalf of
  --facts                bytes, write-ahead log and pages against their limits, on every database;
                         one that is missed fails the run

How the table is measured
  --database <kind>      ${KINDS.join(', ')}          (default postgres; for --facts each)
  --algorithm <alg>      ${ALGORITHMS.join(', ')}  (default ES256)
  --concurrency <n>      1, 8, 32                         (default 32)
  --rounds <n>           rounds of each start, interleaved over all rows (default 20)
  --seconds <s>          length of each row in each round (default 0.35)
  --warm-up <n>          requests of each row before the first round of a start (default 15000)
  --against <folder>     another checkout, with its node_modules, measured round by round beside this one

How the facts are
  --rows <n>             the size of the databases (default 100000)
  --limits <factor>      multiplies every limit (default 1; 0.9 names what has little room left)

  --help                 this text
`

/** Returns `'help'` for `--help`. @throws {Error} naming the invalid option. */
export function parseOptions(args: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      database: { type: 'string' },
      algorithm: { type: 'string', default: 'ES256' },
      concurrency: { type: 'string', default: '32' },
      rounds: { type: 'string', default: '20' },
      seconds: { type: 'string', default: '0.35' },
      'warm-up': { type: 'string', default: '15000' },
      against: { type: 'string' },
      rows: { type: 'string', default: '100000' },
      facts: { type: 'boolean', default: false },
      limits: { type: 'string', default: '1' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return 'help'
  const { facts, database = 'postgres' } = values
  if (values.against !== undefined && facts) throw new Error('--against is for the table')
  return {
    facts,
    database: oneOf('database', KINDS, database),
    algorithm: oneOf('algorithm', ALGORITHMS, values.algorithm),
    concurrency: Number(oneOf('concurrency', CONCURRENCIES, values.concurrency)),
    rounds: number('rounds', values.rounds, { from: 1, to: 1000 }),
    seconds: number('seconds', values.seconds, { from: 0.1, to: 600, whole: false }),
    warmUp: number('warm-up', values['warm-up'], { from: 1, to: 1_000_000 }),
    ...(values.against !== undefined && { against: path.resolve(values.against) }),
    kinds: values.database === undefined ? KINDS : [oneOf('database', KINDS, values.database)],
    factRows: number('rows', values.rows, { from: 1000, to: 100_000_000 }),
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
