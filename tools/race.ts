/**
 * The races and faults at length: `npm run race` runs the long form of each part once, for hours. Arguments are parts: names
 * of files in `test/nightly/race/` and `test/nightly/faults/`, such as `galera`. With `--minutes 10` it repeats
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

const number = { type: 'string' } as const
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { minutes: number, pairs: number },
})
for (const [name, text] of Object.entries(values))
  if (!/^[1-9]\d*$/.test(text)) throw new Error(`--${name} must be a whole number above 0, not "${text}"`)
const files = positionals.map((name) => {
  const file = parts.get(name)
  if (!file) throw new Error(`"${name}" is no part. Parts are ${[...parts.keys()].join(', ')}`)
  return file
})

/** Resolves to whether all tests have passed. */
async function run(form: 'long' | 'short'): Promise<boolean> {
  const { pairs } = values
  const env = { ...process.env, RACE: form, ...(pairs !== undefined && { RACE_PAIRS: pairs }) }
  const child = spawn(
    process.execPath,
    ['node_modules/mocha/bin/mocha.js', ...(files.length > 0 ? files : parts.values())],
    {
      env,
      stdio: 'inherit',
    },
  )
  const stop = () => void child.kill('SIGTERM')
  process.once('SIGTERM', stop)
  const [code] = await once(child, 'exit')
  process.off('SIGTERM', stop)
  return code === 0
}

async function repeat(minutes: number): Promise<boolean> {
  const end = performance.now() + minutes * 60_000
  let passed = true
  for (let round = 1; passed && performance.now() < end; round += 1) {
    passed = await run('short')
    console.log(`round ${round} has ${passed ? 'passed' : 'failed'}`)
  }
  return passed
}

const { minutes } = values
process.exitCode = (await (minutes === undefined ? run('long') : repeat(Number(minutes)))) ? 0 : 1
