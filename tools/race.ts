/**
 * The races and faults at length: `npm run race` runs the long form of each part once, for hours. Arguments are parts: names
 * of files in `test/nightly/race/` and `test/nightly/faults/`, such as `galera`. With `--minutes 10` or `--hours 2` it repeats
 * the short form of the parts, which is another one each time, until that time has passed or a test fails. `--pairs 500` says
 * how many pairs of calls meet on each database.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'

const SUFFIX = '.test.ts'

const parts = new Map(
  ['test/nightly/race', 'test/nightly/faults'].flatMap((folder) =>
    readdirSync(folder)
      .filter((file) => file.endsWith(SUFFIX))
      .map((file) => [file.slice(0, -SUFFIX.length), path.join(folder, file)]),
  ),
)

interface Wanted {
  readonly files: readonly string[]
  /** Milliseconds; none for the long form. */
  readonly time: number | undefined
  /** None for as many as the form has. */
  readonly pairs: string | undefined
}

function read(args: string[]): Wanted {
  const number = { type: 'string' } as const
  const {
    values: { pairs, ...values },
    positionals,
  } = parseArgs({
    args,
    allowPositionals: true,
    options: { minutes: number, hours: number, pairs: number },
  })
  const files = positionals.map((name) => {
    const file = parts.get(name)
    if (!file) throw new Error(`"${name}" is no part. Parts are ${[...parts.keys()].join(', ')}`)
    return file
  })
  const units = { minutes: 60_000, hours: 3_600_000 }
  const times = Object.entries(values).map(([name, text]) => {
    const amount = Number(text)
    if (!(amount > 0)) throw new Error(`--${name} must be a number above 0, not "${text}"`)
    return amount * units[name as keyof typeof units]
  })
  if (times.length > 1) throw new Error('use only one of --minutes and --hours')
  if (pairs !== undefined && !/^[1-9]\d*$/.test(pairs))
    throw new Error(`--pairs must be a whole number above 0, not "${pairs}"`)
  return { files: files.length > 0 ? files : [...parts.values()], time: times[0], pairs }
}

/** Resolves to whether all tests have passed. */
async function run({ files, pairs }: Wanted, form: 'long' | 'short'): Promise<boolean> {
  const env = { ...process.env, RACE: form, ...(pairs !== undefined && { RACE_PAIRS: pairs }) }
  const child = spawn(process.execPath, ['node_modules/mocha/bin/mocha.js', ...files], {
    env,
    stdio: 'inherit',
  })
  const stop = () => void child.kill('SIGTERM')
  process.once('SIGTERM', stop)
  const [code] = await once(child, 'exit')
  process.off('SIGTERM', stop)
  return code === 0
}

async function repeat(wanted: Wanted, time: number): Promise<boolean> {
  const end = performance.now() + time
  let passed = true
  for (let round = 1; passed && performance.now() < end; round += 1) {
    passed = await run(wanted, 'short')
    console.log(`round ${round} has ${passed ? 'passed' : 'failed'}`)
  }
  return passed
}

const wanted = read(process.argv.slice(2))
const passed = await (wanted.time === undefined ? run(wanted, 'long') : repeat(wanted, wanted.time))
process.exitCode = passed ? 0 : 1
