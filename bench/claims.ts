/** The other claims: two processes, many exchanges, many rows, and where the CPU goes. */
import { countRows } from './fill.ts'
import {
  compare,
  cpuRatio,
  interleave,
  type RowName,
  ratio,
  type Sample,
  spreadOf,
  takeSample,
} from './measure.ts'
import type { Options } from './options.ts'
import { beyond, packageOf, timesOf } from './profile.ts'
import * as report from './report.ts'
import { openScene, type Scene } from './scene.ts'
import { SEARCHES } from './searches.ts'

type Tell = (text: string) => void

/** Server CPU of an exchange with two server processes on one database, against one. */
export async function measureScale(options: Options, tell: Tell): Promise<void> {
  const scene = await openScene(options, { servers: 2 })
  const servers = { 'one process': scene.servers.slice(0, 1), 'two processes': scene.servers }
  try {
    const take = (name: keyof typeof servers) =>
      takeSample({ ...scene, servers: servers[name] }, 'exchange', options)
    const samples = await interleave(['one process', 'two processes'], options, take, tell)
    tell('')
    console.log(seriesTable(samples))
    const times = compare(samples['two processes'], samples['one process'], cpuRatio).median
    finish('scale', options, samples, [
      report.atMost('CPU of an exchange, two processes against one', times, 1.15),
    ])
  } finally {
    await scene.close()
  }
}

/** Peak memory of a server over many exchanges, against its first tenth; and of a fresh server with all those rows stored. */
export async function measureMemory(options: Options, tell: Tell): Promise<void> {
  const scene = await openScene(options)
  try {
    const tenth = Math.ceil(options.exchanges / 10)
    const exchangeTenth = async (servers: Scene['servers']) =>
      takeSample({ ...scene, servers }, 'exchange', { ...options, seconds: 3600, operations: tenth })
    const life: Sample[] = []
    for (let done = 0; done < 10; done += 1) {
      tell(`${report.whole(done * tenth)} of ${report.whole(options.exchanges)} exchanges`)
      life.push(await exchangeTenth(scene.servers))
    }
    tell('a fresh server with all rows stored')
    const stored = await countRows(scene.sequelize)
    const fresh = await exchangeTenth([await scene.addServer()])
    tell('')
    const peak = (sample: Sample | undefined) => sample?.peakMemory ?? Number.NaN
    console.log(
      report.table(
        ['after', 'peak memory'],
        [
          ...life.map((sample, index) => [
            `${report.whole((index + 1) * tenth)} exchanges`,
            report.megabytes(peak(sample)),
          ]),
          [
            `${report.whole(tenth)} on a fresh server, ${report.whole(stored)} rows stored`,
            report.megabytes(peak(fresh)),
          ],
        ],
      ),
    )
    finish('memory', options, { life, fresh: [fresh] }, [
      report.atMost(
        'peak memory, all exchanges against the first tenth',
        peak(life.at(-1)) / peak(life[0]),
        1.2,
      ),
      report.atMost('peak memory, many stored rows against none', peak(fresh) / peak(life[0]), 1.2),
    ])
  } finally {
    await scene.close()
  }
}

/** Issuing, exchanging and searching against the number of stored rows: databases side by side, their rounds interleaved. */
export async function measureRows(options: Options, tell: Tell): Promise<void> {
  const scenes = new Map<number, Scene>()
  try {
    for (const size of options.storedRows) {
      tell(`storing ${report.whole(size)} rows`)
      scenes.set(size, await openScene(options, { history: size }))
    }
    const series = (['issue', 'exchange', ...SEARCHES] as const).flatMap((row) =>
      options.storedRows.map((size) => ({ name: nameOf(row, size), row, size })),
    )
    const take = (name: string) => {
      const { row, size } = series.find((one) => one.name === name) ?? {}
      const scene = size === undefined ? undefined : scenes.get(size)
      if (!scene || !row) throw new Error(`no series ${name}`)
      return takeSample(scene, row, options)
    }
    const names = series.map(({ name }) => name)
    const samples = await interleave(names, options, take, tell)
    tell('')
    console.log(seriesTable(samples))
    for (const [size, scene] of scenes) {
      console.log(
        `the table with ${report.whole(size)} rows had ${report.whole(await countRows(scene.sequelize))} at the end`,
      )
    }
    const [fewest = 0] = options.storedRows
    const lines = series
      .filter(({ size }) => size !== fewest)
      .map(({ name, row }) => {
        const [own = [], least = []] = [samples[name], samples[nameOf(row, fewest)]]
        const latency = (one: Sample, other: Sample) => (one.p50 ?? Number.NaN) / (other.p50 ?? Number.NaN)
        const times = [ratio, latency, cpuRatio].map((by) => compare(own, least, by).median.toFixed(2))
        return [`${name}, against ${report.whole(fewest)}`, ...times]
      })
    console.log(`\n${report.table(['', '× per second', '× p50', '× CPU'], lines)}`)
    finish('rows', options, samples, [])
  } finally {
    for (const scene of scenes.values()) await scene.close()
  }
}

const nameOf = (row: RowName, size: number): string => `${row}, ${report.whole(size)} rows stored`

/** Main-thread time of each row in excess of `client_credentials`, by package and by function. */
export async function measureProfile(options: Options, tell: Tell): Promise<void> {
  const rows: readonly RowName[] = ['client_credentials', 'issue', 'exchange', 'exchange + actor']
  const scene = await openScene(options)
  try {
    const [server] = scene.servers
    await interleave(rows, { rounds: 1 }, (name) => takeSample(scene, name, options), tell)
    let baseline: Map<string, number> | undefined
    for (const row of rows) {
      tell(`profiling ${row}`)
      await server?.ask('startProfile', undefined)
      const { operations } = await takeSample(scene, row, options)
      const profile = await server?.ask('stopProfile', undefined)
      if (!profile) continue
      const times = timesOf(profile, operations)
      baseline ??= times
      const other = baseline === times ? new Map() : baseline
      tell('')
      console.log(
        `${row}${baseline === times ? '' : ', in excess of client_credentials'}, µs of the main thread`,
      )
      const lines = (list: [string, number][]) => list.map(([name, time]) => [name, time.toFixed(1)])
      console.log(report.table(['package', 'µs'], lines(beyond(times, other, packageOf).slice(0, 14))))
      console.log(`${report.table(['function', 'µs'], lines(beyond(times, other).slice(0, 30)))}\n`)
      report.writeResult(`${row.replaceAll(/\W+/g, '-')}.cpuprofile`, JSON.stringify(profile))
    }
  } finally {
    await scene.close()
  }
}

function seriesTable(series: Readonly<Record<string, readonly Sample[]>>): string {
  const lines = Object.entries(series).map(([name, samples]) => {
    const spread = (by: (sample: Sample) => number) => spreadOf(samples.map(by))
    const speed = spread(({ perSecond }) => perSecond)
    return [
      name,
      report.whole(speed.median),
      report.between(speed),
      report.milliseconds(spread(({ p50 }) => p50 ?? Number.NaN).median),
      report.milliseconds(spread(({ p99 }) => p99 ?? Number.NaN).median),
      report.whole(spread(({ cpu }) => cpu).median),
      report.percent(spread(({ serverBusy }) => serverBusy).median),
      report.percent(spread(({ generatorBusy }) => generatorBusy).median),
    ]
  })
  return report.table(['', '/s', 'min–max', 'p50 ms', 'p99 ms', 'CPU µs', 'servers', 'generator'], lines)
}

function finish(
  name: string,
  options: Options,
  samples: Readonly<Record<string, readonly Sample[]>>,
  targets: readonly report.Target[],
): void {
  if (targets.length > 0) console.log(`\n${report.targetTable(targets)}`)
  const taken = { takenAt: new Date().toISOString(), machine: report.MACHINE, options, targets, samples }
  console.log(`\n${report.writeResult(`${name}-${options.database}.json`, taken)}`)
}
