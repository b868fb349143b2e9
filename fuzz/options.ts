/** The command line. */
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { type DatabaseKind, KINDS } from '../fixtures/databases.ts'
import type { RunOptions } from './run.ts'

export interface CommandLine extends RunOptions {
  /** Runs one after the other, each with a seed and a database of its own. */
  readonly pieces: number
}

export const USAGE = `npm run fuzz -- [options]

  --count <n>      requests, shared among the pieces  (default 20000)
  --pieces <n>     so many runs, one after the other, each with a seed and a database of its own  (default 1)
  --kind <kind>    the database: ${KINDS.join(', ')}  (default sqlite)
  --seed <n>       what is generated; printed at the start  (default: another one each time)
  --path <path>    with --seed: one case, as a failure prints it
  --help           this text
`

/** Returns `'help'` for `--help`. @throws {Error} naming the option that is wrong. */
export function parseOptions(args: readonly string[]): CommandLine | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      count: { type: 'string', default: '20000' },
      pieces: { type: 'string', default: '1' },
      kind: { type: 'string', default: 'sqlite' },
      seed: { type: 'string' },
      path: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return 'help'
  if (values.path !== undefined && values.seed === undefined)
    throw new Error('--path needs the --seed that was printed with it')
  return {
    kind: kindOf(values.kind),
    seed: values.seed === undefined ? randomInt(2 ** 31) : whole('seed', values.seed),
    count: whole('count', values.count),
    pieces: Math.max(1, whole('pieces', values.pieces)),
    ...(values.path !== undefined && { path: values.path }),
  }
}

function kindOf(text: string): DatabaseKind {
  const kind = KINDS.find((one) => one === text)
  if (!kind) throw new Error(`--kind must be one of ${KINDS.join(', ')}, not "${text}"`)
  return kind
}

function whole(name: string, text: string): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value))
    throw new Error(`--${name} must be a whole number, not "${text}"`)
  return value
}
