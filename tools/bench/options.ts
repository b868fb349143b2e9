/** The command line of the benchmark. */
import path from 'node:path'
import { parseArgs } from 'node:util'
import { type DatabaseKind, KINDS } from '../../fixtures/databases.ts'

const ALGORITHMS = ['ES256', 'ES384', 'RS256', 'EdDSA'] as const

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

/** @throws {Error} naming the invalid option. */
export function parseOptions(args: readonly string[]): Options {
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
    },
  })
  const { facts, database = 'postgres' } = values
  if (values.against !== undefined && facts) throw new Error('--against is for the table')
  return {
    facts,
    database: oneOf('database', KINDS, database),
    algorithm: oneOf('algorithm', ALGORITHMS, values.algorithm),
    concurrency: number('concurrency', values.concurrency),
    rounds: number('rounds', values.rounds),
    seconds: number('seconds', values.seconds),
    warmUp: number('warm-up', values['warm-up']),
    ...(values.against !== undefined && { against: path.resolve(values.against) }),
    kinds: values.database === undefined ? KINDS : [oneOf('database', KINDS, values.database)],
    factRows: number('rows', values.rows),
    limits: number('limits', values.limits),
  }
}

function oneOf<Choice extends string>(name: string, choices: readonly Choice[], value: string): Choice {
  const choice = choices.find((one) => one === value)
  if (choice === undefined) throw new Error(`--${name} must be one of ${choices.join(', ')}, not "${value}"`)
  return choice
}

function number(name: string, text: string): number {
  const value = Number(text)
  if (!(value > 0)) throw new Error(`--${name} must be a number above 0, not "${text}"`)
  return value
}
