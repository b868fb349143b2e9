/** Measures one row of the table for a few seconds, and summarises many such samples. */
import { setTimeout as sleep } from 'node:timers/promises'
import { readToken } from '../src/subject-tokens/secret.ts'
import type { JobResult, PreparedRequest } from './load.ts'
import { bare, clientCredentials, exchange, issue, onBehalfOf } from './requests.ts'
import type { Scene } from './scene.ts'

export type RowName =
  | 'client_credentials'
  | 'issue'
  | 'exchange'
  | 'exchange + actor'
  | 'issue, exchange'
  | 'on behalf of, new token'
  | 'on behalf of, known token'
  | 'bare Koa'
  | 'one signature'
  | 'one statement'

export interface Sample {
  readonly operations: number
  readonly perSecond: number
  /** Microseconds of the server's CPU for one operation, of every thread, user and system. */
  readonly cpu: number
  /** Milliseconds. Absent if there is no request. */
  readonly p50?: number
  readonly p99?: number
  /** Shares of a core. A server far below 1 was waiting. A generator near 1 was the bottleneck. */
  readonly serverBusy: number
  readonly generatorBusy: number
  /** Bytes: the highest resident memory of the server so far. */
  readonly peakMemory: number
  /** The same of the database. Absent if it is not a process of this machine. */
  readonly databaseCpu?: number
}

export interface Window {
  readonly seconds: number
  readonly concurrency: number
  /** Ends the window after about this many operations that are requests. */
  readonly operations?: number
}

/** Measures a row for the length of the window. Subject tokens are issued before, unmeasured. */
export async function takeSample(scene: Scene, row: RowName, window: Window): Promise<Sample> {
  const { server } = scene
  const load = await prepare(scene, row, window)
  const pinning = sleep(200).then(() => scene.pinDatabase())
  const databaseBefore = await scene.databaseCpu()
  const before = await server.ask('usage', undefined)
  const result = await load()
  const after = await server.ask('usage', undefined)
  const databaseAfter = await scene.databaseCpu()
  await pinning
  const { operations, seconds, busy, p50, p99 } = result
  speeds.set(row, Math.max(operations / seconds, speeds.get(row) ?? 0))
  return {
    operations,
    perSecond: operations / seconds,
    cpu: (after.cpu - before.cpu) / operations,
    p50,
    p99,
    serverBusy: (after.cpu - before.cpu) / 1e6 / seconds,
    generatorBusy: busy ?? 0,
    peakMemory: after.peakMemory,
    ...(databaseBefore !== undefined &&
      databaseAfter !== undefined && { databaseCpu: (databaseAfter - databaseBefore) / operations }),
  }
}

type Load = () => Promise<Pick<JobResult, 'operations' | 'seconds'> & Partial<JobResult>>

async function prepare(
  scene: Scene,
  row: RowName,
  { seconds, concurrency, operations }: Window,
): Promise<Load> {
  const { server } = scene
  if (row === 'one signature') return () => server.ask('sign', seconds)
  if (row === 'one statement') {
    const [token = ''] = await scene.issueTokens(1)
    const { id = '' } = readToken(token) ?? {}
    return () => server.ask('query', { seconds, concurrency, id })
  }
  const port = row === 'bare Koa' ? server.barePort : server.port
  const requests = requestsOf(row, scene)
  const fresh = freshTokens(scene, row)
  const subjectTokens = await fresh?.(operations ?? enough(row, seconds))
  const job = { port, concurrency, seconds, requests, ...(operations !== undefined && { operations }) }
  return () => scene.generator.ask('run', { ...job, ...(subjectTokens && { subjectTokens }) })
}

/** Makes a new subject token for each operation, where the row needs that. */
function freshTokens(
  scene: Scene,
  row: RowName,
): ((count: number) => Promise<readonly string[]>) | undefined {
  if (row === 'on behalf of, new token') return scene.receivedTokens
  return row.startsWith('exchange') ? scene.issueTokens : undefined
}

function requestsOf(
  row: Exclude<RowName, 'one signature' | 'one statement'>,
  { managementToken, receivedToken, tokenLength: length, server: { actorToken } }: Scene,
): PreparedRequest[] {
  switch (row) {
    case 'client_credentials':
      return [clientCredentials]
    case 'issue':
      return [issue(managementToken)]
    case 'exchange':
      return [exchange({ length })]
    case 'exchange + actor':
      return [exchange({ actorToken, length })]
    case 'issue, exchange':
      return [issue(managementToken), exchange({ length })]
    case 'on behalf of, new token':
      return [onBehalfOf({ length: receivedToken.length })]
    case 'on behalf of, known token':
      return [onBehalfOf({ value: receivedToken })]
    case 'bare Koa':
      return [bare]
  }
}

/** The highest number of operations per second so far. */
const speeds = new Map<RowName, number>()
const FIRST_GUESS = 2500

/** Enough subject tokens for the window. If they run out, the window ends early, and the sample is still valid. */
function enough(row: RowName, seconds: number): number {
  return Math.ceil((speeds.get(row) ?? FIRST_GUESS) * seconds * 1.3) + 100
}

/** The median of the rounds, their range, and where the median of many more rounds lies, 19 times in 20. */
export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
  readonly low: number
  readonly high: number
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length / 2
  const [low = Number.NaN, high = low] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]]
  const [min = Number.NaN, max = Number.NaN] = [sorted[0], sorted.at(-1)]
  // By rank: nothing is assumed of how the values are spread.
  const reach = 0.98 * Math.sqrt(sorted.length)
  return {
    median: (low + high) / 2,
    min,
    max,
    low: sorted[Math.floor(middle - reach)] ?? min,
    high: sorted[Math.ceil(middle + reach) - 1] ?? max,
  }
}

/** How much slower the slowest rounds are than the fastest: 1 is a machine that does nothing else. */
export function unsteadiness(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const last = sorted.length - 1
  const [slow = Number.NaN, fast = Number.NaN] = [
    sorted[Math.ceil(0.95 * last)],
    sorted[Math.floor(0.05 * last)],
  ]
  return slow / fast
}

/** Compares round by round, because drift between rounds affects both. */
export function compare(
  row: readonly Sample[],
  baseline: readonly Sample[],
  by: (one: Sample, other: Sample) => number,
): Spread {
  return spreadOf(row.flatMap((sample, round) => (baseline[round] ? [by(sample, baseline[round])] : [])))
}

export const ratio = (one: Sample, other: Sample): number => one.perSecond / other.perSecond
export const cpuRatio = (one: Sample, other: Sample): number => one.cpu / other.cpu
export const cpuBeyond = (one: Sample, other: Sample): number => one.cpu - other.cpu

/** Runs every series once per round. Each round starts with another series. */
export async function interleave<Name extends string>(
  series: readonly Name[],
  rounds: number,
  take: (name: Name) => Promise<Sample>,
  tell: (text: string) => void,
): Promise<Record<Name, Sample[]>> {
  const samples = Object.fromEntries(series.map((name) => [name, []])) as unknown as Record<Name, Sample[]>
  for (let round = 1; round <= rounds; round += 1) {
    for (const step of series.keys()) {
      const name = series[(round + step) % series.length]
      if (name === undefined) continue
      tell(`round ${round} of ${rounds}: ${name}`)
      samples[name].push(await take(name))
    }
  }
  return samples
}
