/**
 * Plants each fault of `test/planted.txt` in a copy of the repository, and runs the one test file that must turn red:
 * `npm run planted`. Arguments are parts of names or of files; without one, all are planted. `-- --check` runs no test: it
 * names the faults that no longer have their place, and those that do not compile.
 */
import { execFile, spawn } from 'node:child_process'
import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { copyRepository, ROOT } from './copy.ts'

const run = promisify(execFile)

const TABLE = 'test/planted.txt'
const JOBS = 2
/** A test that a fault keeps waiting fails by itself; milliseconds, as are all here. */
const TEST_LIMIT = 10_000
const FILE_LIMIT = 60_000

interface Edit {
  readonly file: string
  readonly find: string
  readonly replace: string
}

interface Fault {
  readonly name: string
  /** The file that must turn red. */
  readonly red: string
  readonly edits: readonly Edit[]
}

/** Why a fault is not found; `undefined` if it is. */
type Missed = string | undefined

function readFaults(parts: readonly string[]): Fault[] {
  const faults = readFileSync(path.join(ROOT, TABLE), 'utf8')
    .split(/\n{2,}/)
    .filter((text) => !text.startsWith('#'))
    .map(readFault)
  const again = faults.find(({ name }, index) => faults.findIndex((one) => one.name === name) < index)
  if (again) throw new Error(`${again.name}: there are two of this name`)
  return faults.filter(
    ({ name, red, edits }) =>
      parts.length === 0 ||
      parts.some((part) => [name, red, ...edits.map(({ file }) => file)].some((text) => text.includes(part))),
  )
}

function readFault(text: string): Fault {
  const [head = '', ...lines] = text.trimEnd().split('\n')
  const [, name] = /^([\w-]+): \S/.exec(head) ?? []
  const [, red = ''] = / > (\S+)$/.exec(lines[0] ?? '') ?? []
  if (!name || !red) throw new Error(`${head}: begins with "name: rule" and "file > test file"`)
  if (!existsSync(path.join(ROOT, red))) throw new Error(`${name}: there is no ${red}`)
  return { name, red, edits: readEdits(lines) }
}

function readEdits(lines: readonly string[]): Edit[] {
  const edits: { file: string; find: string[]; replace: string[] }[] = []
  for (const line of lines) {
    if (line.startsWith('-')) edits.at(-1)?.find.push(line.slice(2))
    else if (line.startsWith('+')) edits.at(-1)?.replace.push(line.slice(2))
    else edits.push({ file: line.split(' ', 1)[0] ?? '', find: [], replace: [] })
  }
  return edits.map(({ file, find, replace }) => ({
    file,
    find: find.join('\n'),
    replace: replace.join('\n'),
  }))
}

/** The files with these faults in them; `undefined` where one has no place of its own. */
function textsWith(faults: readonly Fault[]): Map<string, string> | undefined {
  const texts = new Map<string, string>()
  const edits = Map.groupBy(
    faults.flatMap((fault) => fault.edits),
    ({ file }) => file,
  )
  for (const [file, ofFile] of edits) {
    const text = existsSync(path.join(ROOT, file)) ? readFileSync(path.join(ROOT, file), 'utf8') : ''
    const places = ofFile
      .map((edit) => ({ ...edit, at: text.indexOf(edit.find), lastAt: text.lastIndexOf(edit.find) }))
      .sort((one, next) => one.at - next.at)
    let planted = ''
    let end = 0
    for (const { find, replace, at, lastAt } of places) {
      if (find === '' || at < end || at !== lastAt) return undefined
      planted += text.slice(end, at) + replace
      end = at + find.length
    }
    texts.set(file, planted + text.slice(end))
  }
  return texts
}

/** Runs `work` while these faults are in the folder. */
async function withFaults<Result>(
  folder: string,
  faults: readonly Fault[],
  work: (files: string[]) => Promise<Result>,
): Promise<Result> {
  const texts = textsWith(faults) ?? new Map<string, string>()
  for (const [file, text] of texts) writeFileSync(path.join(folder, file), text)
  try {
    return await work([...texts.keys()])
  } finally {
    for (const file of texts.keys()) copyFileSync(path.join(ROOT, file), path.join(folder, file))
  }
}

/** Faults of one batch are in the repository at the same time, each in a place of its own. */
function batchesOf(faults: readonly Fault[]): Fault[][] {
  const batches: Fault[][] = []
  const meet = (one: Fault, other: Fault) =>
    one.edits.some(({ file }) => other.edits.some((edit) => edit.file === file)) && !textsWith([one, other])
  for (const fault of faults) {
    const batch = batches.find((others) => !others.some((other) => meet(fault, other)))
    if (batch) batch.push(fault)
    else batches.push([fault])
  }
  return batches
}

const CONFIGURATIONS: readonly [files: RegExp, configuration: string][] = [
  [/^packages\/console\/src\/assets\/.*\.js$/, './packages/console/tsconfig.json'],
  [/^packages\/banner\/src\/.*\.js$/, './packages/banner/tsconfig.json'],
  [/\.ts$/, './tsconfig.json'],
]

/** What the compiler says of these files; nothing of what a fault leaves unused. */
async function compile(folder: string, files: readonly string[]): Promise<string> {
  const compilerOptions = { noUnusedLocals: false, noUnusedParameters: false, allowUnreachableCode: false }
  let output = ''
  for (const [pattern, base] of CONFIGURATIONS) {
    const ofBase = files.filter((file) => pattern.test(file))
    if (ofBase.length === 0) continue
    const configuration = path.join(folder, 'tsconfig.planted.json')
    writeFileSync(
      configuration,
      JSON.stringify({ extends: base, compilerOptions, files: ofBase, include: [] }),
    )
    const tsc = path.join(ROOT, 'node_modules/.bin/tsc')
    output += await run(tsc, ['-p', configuration], { cwd: folder }).then(
      () => '',
      ({ stdout }) => stdout,
    )
  }
  return output
}

/** Those that do not compile, which any test would find. All are planted at once, then halves of those in question. */
async function findBroken(folder: string, faults: readonly Fault[]): Promise<string[]> {
  const output = await withFaults(folder, faults, (files) => compile(folder, files))
  if (output === '') return []
  const named = faults.filter(({ edits }) => edits.some(({ file }) => output.includes(`${file}(`)))
  const suspects = named.length > 0 ? named : faults
  if (suspects.length === 1) return [`${suspects[0]?.name}: does not compile:\n${output}`]
  const half = Math.ceil(suspects.length / 2)
  return [
    ...(await findBroken(folder, suspects.slice(0, half))),
    ...(await findBroken(folder, suspects.slice(half))),
  ]
}

/** Whether all faults have their place, and compile. */
async function check(faults: readonly Fault[]): Promise<boolean> {
  const stale = faults.filter((fault) => !textsWith([fault]))
  const applying = faults.filter((fault) => !stale.includes(fault))
  const folder = copyRepository('planted')
  const problems = stale.map(({ name }) => `${name}: no longer applies: what it finds must stand once`)
  try {
    for (const batch of batchesOf(applying)) problems.push(...(await findBroken(folder, batch)))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  for (const problem of problems) console.log(problem)
  console.log(
    `${faults.length} planted faults, ${problems.length} of which no longer apply or do not compile`,
  )
  return problems.length === 0
}

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
      // What a fault keeps from coming is waited for in vain.
      env: { ...process.env, TEST_PATIENCE: '5000' },
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
  const files = [...new Set(faults.map(({ red }) => red))]
  const { code, output } = await mocha(folder, ['--parallel', '--jobs', `${JOBS}`], files)
  if (code !== 0) throw new Error(`without a fault:\n${output.slice(output.search(/^ +\d+ passing/m))}`)
}

/** A file that cannot be loaded has failed without a test, which finds nothing. */
function judge({ code, output }: Run): Missed {
  if (code === null) return 'took too long'
  if (code === 0) return 'no test failed'
  if (!/^ +\d+ failing/m.test(output)) return `no test ran:\n${output}`
  return undefined
}

const plant = (folder: string, fault: Fault): Promise<Run> =>
  withFaults(folder, [fault], () => mocha(folder, ['--bail', '--timeout', `${TEST_LIMIT}`], [fault.red]))

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
