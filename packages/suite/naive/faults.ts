/** The mistakes that the naive server can make on purpose, and the checks that each of them must turn red: `faults.txt`. */
import { readFileSync } from 'node:fs'

/** The three ways the naive server is run. */
export const MODES = ['impersonation', 'access-tokens', 'on-behalf-of'] as const
export type Mode = (typeof MODES)[number]

interface Planted {
  /** What the author of such a server got wrong. */
  readonly mistake: string
  /** The ids of the checks that see it, in each mode; no other check may turn red. */
  readonly red: Readonly<Record<Mode, string[]>>
  /** The named deviations that the report must mention. */
  readonly deviations: string[]
}

const FAULTS = new Map<string, Planted>()
for (const line of readFileSync(new URL('faults.txt', import.meta.url), 'utf8').split('\n')) {
  const last = [...FAULTS.values()].at(-1)
  const [, name = '', mistake = ''] = /^([a-z\d-]+): (.+)$/.exec(line) ?? []
  const [, where = '', found = ''] = /^ {2}([a-z, -]+) > (.+)$/.exec(line) ?? []
  if (name) {
    const red = { impersonation: [], 'access-tokens': [], 'on-behalf-of': [] }
    FAULTS.set(name, { mistake, red, deviations: [] })
  } else if (where && last) {
    const modes = where === 'all' ? MODES : where.split(', ')
    const lists = where === 'deviations' ? [last.deviations] : modes.map((mode) => last.red[mode as Mode])
    for (const list of lists) list.push(...found.split(' '))
  } else if (line !== '' && !line.startsWith('#')) throw new Error(`faults.txt: ${line}`)
}

export const FAULT_NAMES = [...FAULTS.keys()]

export function planted(fault: string): Planted {
  const known = FAULTS.get(fault)
  if (!known) throw new Error(`the naive server makes no mistake ${fault}`)
  return known
}
