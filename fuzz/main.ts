/** `npm run fuzz`: see docs/fuzz.md. */
import { endRun } from '../fixtures/end-of-run.ts'
import { parseOptions, USAGE } from './options.ts'
import { type Failure, type Report, type RunOptions, run } from './run.ts'

function optionsOrExit(): RunOptions {
  try {
    const options = parseOptions(process.argv.slice(2))
    if (options !== 'help') return options
    console.log(USAGE)
    process.exit(0)
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${USAGE}`)
    process.exit(2)
  }
}

function print({ requests, answers, growth, failure }: Report, kind: string, seconds: number): void {
  for (const [group, counts] of Object.entries(answers)) {
    const statuses = Object.entries(counts).map(([status, count]) => `${status}: ${count}`)
    console.log(`${group.padEnd(12)}${statuses.join('  ')}`)
  }
  console.log(
    `${requests} requests in ${Math.round(seconds)} s; the heap grew by ${Math.round(growth / 1024)} KiB`,
  )
  if (failure) printFailure(failure, kind)
}

function printFailure({ group, seed, path, message, example }: Failure, kind: string): void {
  console.error(`\n${group}: ${message}\n\n${example}`)
  if (path !== '') {
    const options = `--kind ${kind} --group ${group} --seed ${seed} --path ${path}`
    console.error(`\nTo see it again: npm run fuzz -- ${options}`)
  }
  process.exitCode = 1
}

const options = optionsOrExit()
let interrupted = false
// The run ends after the cases that are under way, and tells what it saw.
process.once('SIGINT', () => {
  interrupted = true
})
console.log(`seed ${options.seed}, ${options.count} requests on ${options.kind}`)
const start = performance.now()
const tell = (requests: number) => {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${requests}`)
}
try {
  print(
    await run({ ...options, tell, isOver: () => interrupted }),
    options.kind,
    (performance.now() - start) / 1000,
  )
} finally {
  await endRun()
}
