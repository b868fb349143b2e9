/** `npm run fuzz`: see docs/fuzz.md. */
import type { DatabaseKind } from '../fixtures/databases.ts'
import { endRun } from '../fixtures/end-of-run.ts'
import { type CommandLine, parseOptions, USAGE } from './options.ts'
import { type Failure, type Report, run, seedOfPiece } from './run.ts'

function optionsOrExit(): CommandLine {
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

interface Cost {
  /** Milliseconds. */
  readonly time: number
  /** Microseconds of this process: the fuzzer, and the service that it tests. */
  readonly cpu: number
}

async function measure<Value>(work: () => Promise<Value>): Promise<Cost & { readonly value: Value }> {
  const [start, before] = [performance.now(), process.cpuUsage()]
  const value = await work()
  const { user, system } = process.cpuUsage(before)
  return { value, time: performance.now() - start, cpu: user + system }
}

function print(kind: DatabaseKind, seed: string, { answers, requests }: Report, { time, cpu }: Cost): void {
  const statuses = Object.entries(answers).map(([status, count]) => `${status}: ${count}`)
  console.log([kind.padEnd(9), seed.padEnd(11), ...statuses].join(' '))
  const each = (cpu / 1000 / Math.max(1, requests)).toFixed(2)
  console.log(`${requests} requests in ${Math.round(time / 1000)} s, each ${each} ms of CPU`)
}

function printFailure({ seed, path, message, example }: Failure, kind: DatabaseKind): void {
  console.error(`\n${message}\n\n${example}`)
  if (path !== '') {
    const options = `--kind ${kind} --seed ${seed} --path ${path}`
    console.error(`\nTo see it again: npm run fuzz -- ${options}`)
  }
  process.exitCode = 1
}

const { pieces, count, seed: first, ...options } = optionsOrExit()
const { kind } = options
let interrupted = false
// The run ends after the cases that are under way, and tells what it saw.
process.once('SIGINT', () => {
  interrupted = true
})
console.log(`seed ${first}, ${count} requests on ${kind}`)
const tell = (requests: number) => {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${requests}`)
}

function sumOf(reports: readonly Report[]): Report['answers'] {
  const sum: Record<string, number> = {}
  for (const [status, count] of reports.flatMap(({ answers }) => Object.entries(answers)))
    sum[status] = (sum[status] ?? 0) + count
  return sum
}

/** A failure ends its piece, and not the others. */
async function runPieces(): Promise<Report[]> {
  const reports: Report[] = []
  for (let piece = 0; piece < pieces && !interrupted; piece += 1) {
    const seed = seedOfPiece(first, piece)
    const given = { ...options, seed, count: count / pieces, tell, isOver: () => interrupted }
    const { value, ...cost } = await measure(() => run(given))
    reports.push(value)
    print(kind, `seed ${seed}`, value, cost)
    console.log(`the heap grew by ${Math.round(value.growth / 1024)} KiB`)
    if (value.failure) printFailure(value.failure, kind)
  }
  return reports
}

try {
  const { value: reports, ...cost } = await measure(runPieces)
  if (pieces > 1) {
    const requests = reports.reduce((sum, report) => sum + report.requests, 0)
    print(kind, 'all', { requests, answers: sumOf(reports), growth: 0 }, cost)
  }
} finally {
  await endRun()
}
