/** `npm run fuzz`: see docs/contributing/fuzz.md. */
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { KINDS } from '../../fixtures/databases.ts'
import { endRun } from '../../fixtures/end-of-run.ts'
import { type RunOptions, run } from './run.ts'

const USAGE = `npm run fuzz -- [options]

  --count <n>      requests  (default 20000)
  --kind <kind>    the database: ${KINDS.join(', ')}  (default sqlite)
  --seed <n>       what is generated; printed at the start  (default: another one each time)
  --path <path>    with --seed: one case, as a failure prints it
  --help           this text
`

/** @throws {Error} naming the option that is wrong. */
function parseOptions(): RunOptions | 'help' {
  const { values } = parseArgs({
    options: {
      count: { type: 'string', default: '20000' },
      kind: { type: 'string', default: 'sqlite' },
      seed: { type: 'string', default: String(randomInt(2 ** 31)) },
      path: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return 'help'
  const kind = KINDS.find((one) => one === values.kind)
  if (!kind) throw new Error(`--kind must be one of ${KINDS.join(', ')}, not "${values.kind}"`)
  const { path } = values
  return {
    kind,
    seed: whole('seed', values.seed),
    count: whole('count', values.count),
    ...(path !== undefined && { path }),
  }
}

function whole(name: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new Error(`--${name} must be a whole number, not "${text}"`)
  return Number(text)
}

function optionsOrExit(): RunOptions {
  try {
    const options = parseOptions()
    if (options !== 'help') return options
    console.log(USAGE)
    process.exit(0)
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${USAGE}`)
    process.exit(2)
  }
}

const options = optionsOrExit()
const { kind } = options
let interrupted = false
// The run ends after the cases that are under way, and tells what it saw.
process.once('SIGINT', () => {
  interrupted = true
})
console.log(`seed ${options.seed}, ${options.count} requests on ${kind}`)
const tell = (requests: number) => {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${requests}`)
}
try {
  const { answers, growth, failure } = await run({ ...options, tell, isOver: () => interrupted })
  console.log(
    Object.entries(answers)
      .map(([status, count]) => `${status}: ${count}`)
      .join(' '),
  )
  console.log(`the heap grew by ${Math.round(growth / 1024)} KiB`)
  if (failure) {
    const { seed, path, message, example } = failure
    console.error(`\n${message}\n\n${example}`)
    if (path !== '')
      console.error(`\nTo see it again: npm run fuzz -- --kind ${kind} --seed ${seed} --path ${path}`)
    process.exitCode = 1
  }
} finally {
  await endRun()
}
