/** Where CPU time is spent: the self time of each function, and what one row spends in excess of another. */
import type { Profiler } from 'node:inspector'

export type Profile = Profiler.Profile

/** Microseconds per operation, by function and location. Work of the engine itself is in parentheses. */
export function timesOf(
  { nodes, samples = [], timeDeltas = [] }: Profile,
  operations: number,
): Map<string, number> {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]))
  const times = new Map<string, number>()
  for (const [index, id] of samples.entries()) {
    const name = names.get(id) ?? '(unknown)'
    if (name !== '(idle)') times.set(name, (times.get(name) ?? 0) + (timeDeltas[index] ?? 0) / operations)
  }
  return times
}

/** The largest differences, largest first. */
export function beyond(
  times: ReadonlyMap<string, number>,
  baseline: ReadonlyMap<string, number>,
  placeOf: (name: string) => string = (name) => name,
): [string, number][] {
  const sums = new Map<string, number>()
  const add = (name: string, time: number) => sums.set(placeOf(name), (sums.get(placeOf(name)) ?? 0) + time)
  for (const [name, time] of times) add(name, time)
  for (const [name, time] of baseline) add(name, -time)
  return [...sums].sort(([, a], [, b]) => b - a)
}

/** The package or the room a function belongs to. */
export function packageOf(name: string): string {
  const place = name.split(' ').at(-1) ?? ''
  const [, dependency] = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(place) ?? []
  const [, room] = /\/src\/([^/]+)/.exec(place) ?? []
  if (dependency) return dependency
  if (room) return `src/${room}`
  return place.startsWith('node:') ? 'node' : 'engine'
}

function nameOf({ functionName, url, lineNumber }: Profiler.ProfileNode['callFrame']): string {
  const place = url.replace(/^file:\/\//, '').replace(process.cwd(), '')
  return place ? `${functionName || '(anonymous)'} ${place}:${lineNumber + 1}` : functionName
}
