/** The suite tests itself: on a naive server every planted mistake must turn exactly its checks red. */
import { CATALOGUE } from '../src/catalogue.ts'
import type { Deviation } from '../src/deviations.ts'
import { run } from '../src/run.ts'
import { naiveConfiguration } from './configurations.ts'
import { FAULT_NAMES, MODES, type Mode, planted } from './faults.ts'

/** What a run saw that it should not have seen, and the other way round. Empty if the suite is right. */
export interface Verdict {
  readonly unexpected: readonly string[]
  readonly missing: readonly string[]
  readonly deviations: ReadonlySet<Deviation>
}

/** Runs every check against the naive server, with one mistake or none. */
export async function probe(mode: Mode, fault?: string): Promise<Verdict> {
  const { results } = await run(naiveConfiguration(mode, fault ? [fault] : []))
  const red = results
    .filter(({ outcome }) => outcome !== 'passed' && outcome !== 'skipped')
    .map(({ check, outcome, detail }) => ({ id: check.id, text: `${check.id}: ${outcome}, ${detail}` }))
  const expected = fault ? planted(fault).red[mode] : []
  return {
    unexpected: red.filter(({ id }) => !expected.includes(id)).map(({ text }) => text),
    missing: expected.filter((id) => !red.some((one) => one.id === id)),
    deviations: new Set(results.flatMap(({ deviations }) => deviations)),
  }
}

/** The modes in which a fault shows; the first one where it shows nowhere. */
export function modesOf(fault: string): Mode[] {
  const modes = MODES.filter((mode) => planted(fault).red[mode].length > 0)
  return modes.length > 0 ? modes : MODES.slice(0, 1)
}

/** It passes, and says with a named deviation what is not as the RFC has it. */
const NEVER_RED = ['response.pragma']

/** How many checks an area has, and how many mistakes its checks see. */
export function areas(): Readonly<Record<string, readonly [checks: number, mistakes: number]>> {
  const areaOf = (id: string) => id.split('.')[0] ?? ''
  const names = [...new Set(CATALOGUE.map(({ id }) => areaOf(id)))]
  const sees = (area: string, fault: string) =>
    Object.values(planted(fault).red).some((ids) => ids.some((id) => areaOf(id) === area))
  return Object.fromEntries(
    names.map((area) => [
      area,
      [
        CATALOGUE.filter(({ id }) => areaOf(id) === area).length,
        FAULT_NAMES.filter((fault) => sees(area, fault)).length,
      ],
    ]),
  )
}

/** Checks that no mistake turns red: nothing shows that they can fail. */
export function untested(): string[] {
  const seen = new Set(FAULT_NAMES.flatMap((fault) => Object.values(planted(fault).red).flat()))
  return CATALOGUE.map(({ id }) => id).filter((id) => !seen.has(id) && !NEVER_RED.includes(id))
}

/** All mistakes in all modes. Returns the status to exit with. */
export async function selfTest(print: (text: string) => void = console.log): Promise<0 | 1> {
  let wrong = 0
  const show = (name: string, text: string, verdicts: readonly Verdict[]) => {
    const faults = verdicts.flatMap(({ unexpected, missing }) => [
      ...unexpected.map((one) => `      unexpected: ${one}`),
      ...missing.map((id) => `      not seen by: ${id}`),
    ])
    if (faults.length > 0) wrong += 1
    print([`  ${faults.length > 0 ? '✗' : '✓'} ${name}: ${text}`, ...faults].join('\n'))
  }
  print('\nThe naive server, in three modes\n')
  show('no mistake', 'every check passes', await inAllModes())
  for (const fault of FAULT_NAMES) {
    const { mistake, red } = planted(fault)
    const checks = new Set(Object.values(red).flat()).size
    show(fault, `${mistake} ${checks} ${checks === 1 ? 'check' : 'checks'}`, await inAllModes(fault))
  }
  const blind = untested()
  print(`\n  ${FAULT_NAMES.length} mistakes, ${wrong} of them not seen as they should be`)
  print(`  ${CATALOGUE.length} checks; ${NEVER_RED.join(', ')} can only deviate`)
  if (blind.length > 0) print(`  no mistake turns these red: ${blind.join(', ')}`)
  return wrong === 0 && blind.length === 0 ? 0 : 1
}

async function inAllModes(fault?: string): Promise<Verdict[]> {
  const verdicts: Verdict[] = []
  for (const mode of MODES) verdicts.push(await probe(mode, fault))
  return verdicts
}
