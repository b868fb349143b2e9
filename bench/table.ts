/** The table: every row against `client_credentials`, the lower bounds, and the targets. */
import { barChart } from './chart.ts'
import {
  compare,
  cpuBeyond,
  interleave,
  type RowName,
  ratio,
  type Sample,
  spreadOf,
  takeSample,
} from './measure.ts'
import type { Options } from './options.ts'
import * as report from './report.ts'
import { openScene } from './scene.ts'
import { countStatements, type StatementCounts } from './statements.ts'

const BASELINE: RowName = 'client_credentials'
const REQUESTS: readonly RowName[] = [
  BASELINE,
  'issue',
  'exchange',
  'exchange + actor',
  'issue, exchange',
  'on behalf of, new token',
  'on behalf of, known token',
]
const FLOOR: readonly RowName[] = ['bare Koa', 'one signature', 'one statement']

export async function measureTable(options: Options, tell: (text: string) => void): Promise<void> {
  const names = [...REQUESTS, ...FLOOR].filter((name) => options.actor || name !== 'exchange + actor')
  const scene = await openScene(options)
  try {
    tell('counting statements')
    const statements = await countStatements(scene)
    const take = (name: RowName) => takeSample(scene, name, options)
    const samples = await interleave(names, options.rounds, take, tell)
    tell('')
    const targets = targetsOf(options, samples, statements)
    console.log(formatRows(names, samples))
    console.log(`\nStatements: ${JSON.stringify(statements).replace(/[{}"]/g, '').replace(/[:,]/g, '$& ')}`)
    console.log(`Peak memory of the server: ${report.megabytes(peakOf(samples))}\n`)
    console.log(report.targetTable(targets))
    if (!isStated(options))
      console.log('(the targets apply to postgres, ES256, concurrency 32 and static clients)')
    save(options, { names, samples, statements, targets })
  } finally {
    await scene.close()
  }
}

type Samples = Readonly<Record<RowName, readonly Sample[]>>

function formatRows(names: readonly RowName[], samples: Samples): string {
  const head = [
    '',
    '/s',
    'min–max',
    'p50 ms',
    'p99 ms',
    'CPU µs',
    'excess µs',
    '× baseline',
    'server',
    'generator',
  ]
  const lines = names.map((name) => {
    const own = samples[name]
    const speed = spreadOf(own.map(({ perSecond }) => perSecond))
    const median = (member: 'cpu' | 'serverBusy' | 'generatorBusy') =>
      spreadOf(own.map((sample) => sample[member])).median
    const latency = (member: 'p50' | 'p99') =>
      own[0]?.[member] === undefined ? undefined : spreadOf(own.map((sample) => sample[member] ?? 0)).median
    const compared = REQUESTS.includes(name)
    return [
      name,
      report.whole(speed.median),
      report.between(speed),
      report.milliseconds(latency('p50')),
      report.milliseconds(latency('p99')),
      report.whole(median('cpu')),
      compared ? report.whole(compare(own, samples[BASELINE], cpuBeyond).median) : '',
      compared ? compare(own, samples[BASELINE], ratio).median.toFixed(2) : '',
      report.percent(median('serverBusy')),
      report.percent(median('generatorBusy')),
    ]
  })
  return report.table(head, lines)
}

const isStated = ({ database, algorithm, concurrency, clients }: Options): boolean =>
  database !== 'mysql' && algorithm === 'ES256' && concurrency === 32 && clients === 'static'

function targetsOf(options: Options, samples: Samples, statements: StatementCounts): report.Target[] {
  const against = (name: RowName, by: typeof ratio) => compare(samples[name], samples[BASELINE], by).median
  return [
    report.atLeast('exchange, × requests/s of client_credentials', against('exchange', ratio), 0.65),
    report.atLeast('  the same, stretch', against('exchange', ratio), 0.75),
    report.atLeast('issue, × requests/s of client_credentials', against('issue', ratio), 1),
    report.atMost(
      'exchange, CPU in excess of client_credentials',
      against('exchange', cpuBeyond),
      160,
      ' µs',
    ),
    report.atLeast('on behalf of, a new token', against('on behalf of, new token', ratio), 0.5),
    report.atLeast('on behalf of, a known token', against('on behalf of, known token', ratio), 0.75),
    ...(options.clients === 'static' ? statementTargets(statements) : []),
  ]
}

const statementTargets = (counts: StatementCounts): report.Target[] => [
  report.atMost('statements: issue', counts.issue, 1),
  report.atMost('statements: exchange', counts.exchange, 2),
  report.atMost('statements: with an opaque actor token', counts['with actor'], 3),
  report.atMost('statements: with one that has a Grant', counts['with actor and Grant'], 4),
  report.atMost('statements: with an opaque access token', counts['opaque token'], 4),
  report.atMost('statements: on behalf of, with a JWT', counts['on behalf of'], 1),
]

const peakOf = (samples: Samples): number =>
  Math.max(...Object.values(samples).flatMap((own) => own.map(({ peakMemory }) => peakMemory)))

interface Outcome {
  readonly names: readonly RowName[]
  readonly samples: Samples
  readonly statements: StatementCounts
  readonly targets: readonly report.Target[]
}

function save(options: Options, { names, samples, statements, targets }: Outcome): void {
  const { database, algorithm, concurrency, clients } = options
  const machine = report.MACHINE
  const bars = names
    .filter((name) => REQUESTS.includes(name))
    .map((name) => {
      const own = samples[name]
      const { median, min, max } = spreadOf(own.map(({ perSecond }) => perSecond))
      const cpu = spreadOf(own.map((sample) => sample.cpu)).median
      return {
        label: name,
        value: median,
        min,
        max,
        text: `${report.whole(median)}/s · ${report.whole(cpu)} µs`,
      }
    })
  const title = `Requests per second of one server process (${database}, ${algorithm})`
  const note = `${machine.processor}, Node ${machine.node}, concurrency ${concurrency}, ${clients} clients; line: slowest to fastest round; µs: server CPU per operation`
  const base = `${database}-${algorithm}-${concurrency}-${clients}`
  const taken = { takenAt: new Date().toISOString(), machine, options, statements, targets, samples }
  const files = [
    report.writeResult(`${base}.json`, taken),
    report.writeResult(`${base}.svg`, barChart(title, note, bars)),
  ]
  console.log(`\n${files.join('\n')}`)
}
