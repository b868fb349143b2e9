/** The command line. */
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { type DatabaseKind, KINDS } from '../fixtures/databases.ts'
import type { Group } from './group.ts'
import { GROUPS } from './groups.ts'
import type { RunOptions } from './run.ts'

export interface CommandLine extends RunOptions {
  /** Runs one after the other, each with a seed and a database of its own. */
  readonly pieces: number
}

const NAMES = GROUPS.map(({ name }) => name)

export const USAGE = `npm run fuzz -- [options]

  --count <n>      requests, shared among the groups and pieces  (default 20000)
  --pieces <n>     so many runs, one after the other, each with a seed and a database of its own  (default 1)
  --kind <kind>    the database: ${KINDS.join(', ')}  (default sqlite)
  --group <names>  some of the groups: ${NAMES.join(',')}  (default all)
  --seed <n>       what is generated; printed at the start  (default: another one each time)
  --path <path>    with --seed and --group: one case, as a failure prints it
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
      group: { type: 'string' },
      seed: { type: 'string' },
      path: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return 'help'
  if (values.path !== undefined && (values.seed === undefined || values.group === undefined))
    throw new Error('--path needs the --seed and the --group that were printed with it')
  return {
    kind: kindOf(values.kind),
    groups: values.group === undefined ? GROUPS : values.group.split(',').map(groupOf),
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

function groupOf(text: string): Group {
  const group = GROUPS.find(({ name }) => name === text)
  if (!group) throw new Error(`--group must be one of ${NAMES.join(', ')}, not "${text}"`)
  return group
}

function whole(name: string, text: string): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value))
    throw new Error(`--${name} must be a whole number, not "${text}"`)
  return value
}
