/** Measures one row of the table for a few seconds, and summarises many such samples. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { JobResult, PreparedRequest } from './load.ts'
import { clientCredentials, exchange, issue, onBehalfOf } from './requests.ts'
import type { Scene } from './scene.ts'

/** A row of the table: what one operation sends, one request after the other. */
interface Row {
  readonly requests: (scene: Scene) => readonly PreparedRequest[]
  /** Makes a new subject token for each operation, where the row needs that. */
  readonly fresh?: 'issueTokens' | 'receivedTokens'
}

const ROWS = {
  client_credentials: { requests: () => [clientCredentials] },
  issue: { requests: ({ managementToken }) => [issue(managementToken)] },
  exchange: { requests: ({ tokenLength: length }) => [exchange({ length })], fresh: 'issueTokens' },
  'exchange + actor': {
    requests: ({ server: { actorToken }, tokenLength: length }) => [exchange({ actorToken, length })],
    fresh: 'issueTokens',
  },
  'issue, exchange': {
    requests: ({ managementToken, tokenLength: length }) => [issue(managementToken), exchange({ length })],
  },
  'on behalf of, new token': {
    requests: ({ receivedToken }) => [onBehalfOf({ length: receivedToken.length })],
    fresh: 'receivedTokens',
  },
  'on behalf of, known token': { requests: ({ receivedToken }) => [onBehalfOf({ value: receivedToken })] },
} as const satisfies Readonly<Record<string, Row>>

type RequestName = keyof typeof ROWS
/** The signature is the lower bound, and tells how steady the machine is. */
export type RowName = RequestName | 'one signature'

export const REQUESTS = Object.keys(ROWS) as readonly RequestName[]

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
  const before = await server.ask('usage', undefined)
  const result = await load()
  const after = await server.ask('usage', undefined)
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
  }
}

type Load = () => Promise<Pick<JobResult, 'operations' | 'seconds'> & Partial<JobResult>>

async function prepare(
  scene: Scene,
  row: RowName,
  { seconds, concurrency, operations }: Window,
): Promise<Load> {
  const { server, generator } = scene
  if (row === 'one signature') return () => server.ask('sign', seconds)
  const { requests, fresh }: Row = ROWS[row]
  const subjectTokens = fresh && (await scene[fresh](operations ?? enough(row, seconds)))
  const job = { port: server.port, concurrency, seconds, requests: requests(scene) }
  return () =>
    generator.ask('run', {
      ...job,
      ...(operations !== undefined && { operations }),
      ...(subjectTokens && { subjectTokens }),
    })
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
