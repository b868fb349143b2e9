/**
 * Plants each fault of `test/planted/` in a copy of the repository, and runs the one test file that must turn red:
 * `npm run planted`. Arguments are parts of names; without one, all are planted. `-- --check` runs no test: it names the
 * patches that no longer apply.
 */
import { execFile, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { copyRepository, ROOT } from './copy.ts'

const run = promisify(execFile)

const FOLDER = 'test/planted'
const JOBS = 2
/** A test that a fault keeps waiting fails by itself; milliseconds, as are all here. */
const TEST_LIMIT = 10_000
const FILE_LIMIT = 60_000

interface Fault {
  readonly name: string
  readonly patch: string
  /** The file that must turn red. */
  readonly test: string
}

/** Why a fault is not found; `undefined` if it is. */
type Missed = string | undefined

function readFaults(parts: readonly string[]): Fault[] {
  return readdirSync(path.join(ROOT, FOLDER))
    .filter((file) => file.endsWith('.patch'))
    .map((file) => path.basename(file, '.patch'))
    .filter((name) => parts.length === 0 || parts.some((part) => name.includes(part)))
    .map(readFault)
}

function readFault(name: string): Fault {
  const patch = path.join(ROOT, FOLDER, `${name}.patch`)
  const head = readFileSync(patch, 'utf8').split('\ndiff ', 1)[0] ?? ''
  const test = /^Test: (\S+)$/m.exec(head)?.[1]
  if (!test || !/^Rule: \S/m.test(head)) throw new Error(`${name}: begins with "Rule: …" and "Test: …"`)
  if (!existsSync(path.join(ROOT, test))) throw new Error(`${name}: there is no ${test}`)
  return { name, patch, test }
}

const apply = (cwd: string, ...options: string[]) => run('git', ['apply', ...options], { cwd })

async function eachOf<Item>(
  items: Iterable<Item>,
  workers: number,
  work: (item: Item, worker: number) => Promise<void>,
) {
  const queue = items[Symbol.iterator]()
  const drain = async (worker: number) => {
    for (let next = queue.next(); !next.done; next = queue.next()) await work(next.value, worker)
  }
  await Promise.all(Array.from({ length: workers }, (_, worker) => drain(worker)))
}

/** Whether all patches apply. */
async function check(faults: readonly Fault[]): Promise<boolean> {
  let stale = 0
  await eachOf(faults, 8, async ({ name, patch }) => {
    await apply(ROOT, '--check', patch).catch(() => {
      stale++
      console.log(`${name}: no longer applies`)
    })
  })
  console.log(`${faults.length} planted faults, ${stale} of which no longer apply`)
  return stale === 0
}

interface Run {
  readonly code: number | null
  readonly output: string
  readonly ms: number
}

function mocha(cwd: string, options: readonly string[], files: readonly string[]): Promise<Run> {
  const began = performance.now()
  const child = spawn(
    process.execPath,
    [path.join(ROOT, 'node_modules/mocha/bin/mocha.js'), ...options, ...files],
    {
      cwd,
      // A group of its own, which ends with what the tests started.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  const limit = setTimeout(() => process.kill(-(child.pid ?? 0), 'SIGKILL'), FILE_LIMIT * files.length)
  return new Promise((resolve) =>
    child.on('close', (code) => {
      clearTimeout(limit)
      resolve({ code, output, ms: performance.now() - began })
    }),
  )
}

async function assertGreen(folder: string, faults: readonly Fault[]): Promise<void> {
  const files = [...new Set(faults.map(({ test }) => test))]
  const { code, output } = await mocha(folder, ['--parallel', '--jobs', `${JOBS}`], files)
  if (code !== 0) throw new Error(`without a fault:\n${output.slice(output.search(/^ +\d+ passing/m))}`)
}

/** A file that cannot be loaded has failed without a test, which finds nothing. */
function judge({ code, output, ms }: Run): Missed {
  if (code === null) return 'took too long'
  if (code === 0) return 'no test failed'
  if (!/^ +\d+ failing/m.test(output)) return `no test ran:\n${output}`
  if (ms > TEST_LIMIT * 2) return `found, but after ${Math.round(ms / 1000)} s`
  return undefined
}

async function plant(folder: string, { patch, test }: Fault): Promise<Run> {
  await apply(folder, patch)
  try {
    return await mocha(folder, ['--bail', '--timeout', `${TEST_LIMIT}`], [test])
  } finally {
    await apply(folder, '--reverse', patch)
  }
}

function report(results: ReadonlyMap<string, Missed>): void {
  const rooms = Map.groupBy(results.keys(), (name) => name.split('-', 1)[0] ?? name)
  const foundIn = (names: readonly string[]) => names.filter((name) => results.get(name) === undefined).length
  for (const [room, names] of rooms) console.log(`${room}: ${foundIn(names)} of ${names.length}`)
  const found = foundIn([...results.keys()])
  console.log(`${found} found, ${results.size - found} missed`)
}

/** Whether every fault is found. */
async function plantAll(faults: readonly Fault[]): Promise<boolean> {
  const folders = Array.from({ length: JOBS }, () => copyRepository('planted'))
  const results = new Map<string, Missed>()
  try {
    await assertGreen(folders[0] ?? '', faults)
    await eachOf(faults, JOBS, async (fault, worker) => {
      const result = await plant(folders[worker] ?? '', fault)
      const missed = judge(result)
      results.set(fault.name, missed)
      console.log(`${fault.name}: ${missed ?? 'found'} (${(result.ms / 1000).toFixed(1)} s)`)
    })
  } finally {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  }
  report(results)
  return ![...results.values()].some((missed) => missed !== undefined)
}

const args = process.argv.slice(2)
const faults = readFaults(args.filter((argument) => argument !== '--check'))
const passed = (await check(faults)) && (args.includes('--check') || (await plantAll(faults)))
process.exitCode = passed ? 0 : 1
