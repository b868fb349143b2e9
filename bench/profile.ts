/** Where CPU goes: time of each function alone, and what one row spends beyond another. */
import type { Profiler } from 'node:inspector'

export type Profile = Profiler.Profile

/** Microseconds for one operation, by function and place; what the engine does itself is in parentheses. */
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
  yardstick: ReadonlyMap<string, number>,
  placeOf: (name: string) => string = (name) => name,
): [string, number][] {
  const sums = new Map<string, number>()
  const add = (name: string, time: number) => sums.set(placeOf(name), (sums.get(placeOf(name)) ?? 0) + time)
  for (const [name, time] of times) add(name, time)
  for (const [name, time] of yardstick) add(name, -time)
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
