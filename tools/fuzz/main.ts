/** `npm run fuzz`: see docs/contributing/fuzz.md. */
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { KINDS } from '../../fixtures/databases.ts'
import { endRun } from '../../fixtures/end-of-run.ts'
import { type RunOptions, run } from './run.ts'

function whole(name: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new Error(`--${name} must be a whole number, not "${text}"`)
  return Number(text)
}

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '20000' },
    kind: { type: 'string', default: 'sqlite' },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    path: { type: 'string' },
  },
})
const { path } = values
const kind = KINDS.find((one) => one === values.kind)
if (!kind) throw new Error(`--kind must be one of ${KINDS.join(', ')}, not "${values.kind}"`)
const options: RunOptions = {
  kind,
  seed: whole('seed', values.seed),
  count: whole('count', values.count),
  ...(path !== undefined && { path }),
}
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
