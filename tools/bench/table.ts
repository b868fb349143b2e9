/** The table: every row against `client_credentials`, and the aims. */
import type { Seconds } from '../../src/base/clock.ts'
import { Ledger } from './ledger.ts'
import {
  compare,
  cpuBeyond,
  cpuRatio,
  interleave,
  REQUESTS,
  type RowName,
  ratio,
  type Sample,
  type Spread,
  spreadOf,
  takeSample,
  unsteadiness,
} from './measure.ts'
import type { Options } from './options.ts'
import * as report from './report.ts'
import { openScene, type Scene } from './scene.ts'

const BASELINE: RowName = 'client_credentials'
const SIGNATURE: RowName = 'one signature'

/** Starts that count, and starts that are tried for them. */
const STARTS = 3
const MOST_STARTS = 5

/** Above it the machine does other things, and nothing is to be learnt from the clock. */
const STEADY = 1.3

/** Longer than any warm-up takes. */
const ENOUGH: Seconds = 600

type Build = 'this' | 'other'
type Series = `${Build}: ${RowName}`

/** What was taken of each row, by the build. */
type Samples = Readonly<Record<RowName, readonly Sample[]>>

interface Start {
  readonly samples: Readonly<Record<Series, readonly Sample[]>>
  /** Of the time of a signature. */
  readonly unsteadiness: number
}

export async function measureTable(options: Options, tell: (text: string) => void): Promise<void> {
  const starts: Start[] = []
  const steady = () => starts.filter(({ unsteadiness }) => unsteadiness <= STEADY)
  while (steady().length < STARTS && starts.length < MOST_STARTS) {
    const nth = `start ${starts.length + 1}`
    starts.push(await measureStart(options, (text) => tell(`${nth}, ${text}`)))
  }
  tell('')
  const counted = steady().length === STARTS ? steady() : starts
  const shown = starts.map(({ unsteadiness }) => unsteadiness.toFixed(2)).join(', ')
  console.log(`Time of a signature, p95 to p5, of each start: ${shown} (steady: up to ${STEADY})`)
  if (steady().length < STARTS)
    console.log(
      `Of ${starts.length} starts ${steady().length} were steady: these times decide nothing. See --facts.`,
    )
  const own = samplesOf(counted, 'this')
  const aims = aimsOf(own)
  console.log(`\n${formatRows(own)}`)
  if (options.against !== undefined) {
    console.log(`\nThis build, as a multiple of ${options.against}, within rounds:`)
    console.log(formatComparison(own, samplesOf(counted, 'other')))
  }
  console.log(`\nPeak memory of the server: ${report.megabytes(peakOf(own))}\n`)
  console.log(aims.table())
  if (!isStated(options)) console.log('(the aims apply to postgres, ES256 and concurrency 32)')
}

/** Every build anew: what V8 makes of a start differs from one to the next. */
async function measureStart(options: Options, tell: (text: string) => void): Promise<Start> {
  const scenes = new Map<Build, Scene>()
  try {
    scenes.set('this', await openScene(options))
    if (options.against !== undefined)
      scenes.set('other', await openScene(options, { folder: options.against }))
    for (const [build, scene] of scenes)
      await warmUp(scene, rowsOf(build), options, (text) => tell(`${build}: ${text}`))
    // Plans that were made for a few rows would stay until autovacuum looks, which is at another time in each run.
    if (options.database === 'postgres')
      for (const { sequelize } of scenes.values()) await sequelize.query('ANALYZE')
    const series = [...scenes.keys()].flatMap((build) =>
      rowsOf(build).map((name): Series => `${build}: ${name}`),
    )
    const take = (one: Series) => {
      const [build, name] = one.split(': ') as [Build, RowName]
      const scene = scenes.get(build)
      if (!scene) throw new Error(`no build ${build}`)
      return takeSample(scene, name, options)
    }
    const samples = await interleave(series, options.rounds, take, tell)
    const signatures = samples['this: one signature'].map(({ perSecond }) => 1 / perSecond)
    return { samples, unsteadiness: unsteadiness(signatures) }
  } finally {
    for (const scene of scenes.values()) await scene.close()
  }
}

/** A signature is no matter of a build. */
const rowsOf = (build: Build): readonly RowName[] => (build === 'this' ? [...REQUESTS, SIGNATURE] : REQUESTS)

/** By a number of requests: within the first 20,000 of a process, what an exchange costs changes against the baseline. */
async function warmUp(
  scene: Scene,
  names: readonly RowName[],
  { warmUp: operations, concurrency, seconds }: Options,
  tell: (text: string) => void,
): Promise<void> {
  for (const name of names) {
    tell(`warm-up, ${name}`)
    const window = name === SIGNATURE ? { seconds } : { seconds: ENOUGH, operations }
    await takeSample(scene, name, { concurrency, ...window })
  }
}

const samplesOf = (starts: readonly Start[], build: Build): Samples =>
  Object.fromEntries(
    rowsOf(build).map((name) => [name, starts.flatMap(({ samples }) => samples[`${build}: ${name}`])]),
  ) as unknown as Samples

const withInterval = ({ median, low, high }: Spread): string =>
  `${median.toFixed(2)} (${low.toFixed(2)}–${high.toFixed(2)})`

function formatRows(samples: Samples): string {
  const head = [
    '',
    '/s',
    'min–max',
    'p50 ms',
    'p99 ms',
    'CPU µs',
    'signatures',
    'excess µs',
    '× baseline',
    'server',
    'generator',
  ]
  const lines = rowsOf('this').map((name) => {
    const own = samples[name]
    const speed = spreadOf(own.map(({ perSecond }) => perSecond))
    const median = (member: 'cpu' | 'serverBusy' | 'generatorBusy') =>
      spreadOf(own.map((sample) => sample[member])).median
    const optional = (member: 'p50' | 'p99') =>
      own[0]?.[member] === undefined ? undefined : spreadOf(own.map((sample) => sample[member] ?? 0)).median
    const compared = name !== SIGNATURE
    return [
      name,
      report.whole(speed.median),
      report.between(speed),
      report.milliseconds(optional('p50')),
      report.milliseconds(optional('p99')),
      report.whole(median('cpu')),
      withInterval(compare(own, samples['one signature'], cpuRatio)),
      compared ? report.whole(compare(own, samples[BASELINE], cpuBeyond).median) : '',
      compared ? withInterval(compare(own, samples[BASELINE], ratio)) : '',
      report.percent(median('serverBusy')),
      report.percent(median('generatorBusy')),
    ]
  })
  return report.table(head, lines)
}

function formatComparison(own: Samples, other: Samples): string {
  const lines = rowsOf('other').map((name) => [
    name,
    withInterval(compare(own[name], other[name], ratio)),
    withInterval(compare(own[name], other[name], cpuRatio)),
  ])
  return report.table(['', '× requests/s', '× CPU'], lines)
}

const isStated = ({ database, algorithm, concurrency }: Options): boolean =>
  database !== 'mysql' && algorithm === 'ES256' && concurrency === 32

function aimsOf(samples: Samples): Ledger {
  const ledger = new Ledger(1)
  const facts = ledger.of('× client_credentials')
  const against = (name: RowName, by: typeof ratio) => compare(samples[name], samples[BASELINE], by).median
  facts.aimAbove('exchange', against('exchange', ratio), 0.65)
  facts.aimAbove('exchange, stretch', against('exchange', ratio), 0.75)
  facts.aimAbove('issue', against('issue', ratio), 1)
  facts.aimAbove('on behalf of, a new token', against('on behalf of, new token', ratio), 0.5)
  facts.aimAbove('on behalf of, a known token', against('on behalf of, known token', ratio), 0.75)
  ledger.of('CPU beyond client_credentials').aim('exchange', against('exchange', cpuBeyond), 160, ' µs')
  return ledger
}

const peakOf = (samples: Samples): number =>
  Math.max(...Object.values(samples).flatMap((own) => own.map(({ peakMemory }) => peakMemory)))
