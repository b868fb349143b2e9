import type { Mutant } from './stryker.ts'
import { isSame, type Place, placeOf, readSurvivors } from './survivors.ts'

const isAlive = ({ status }: Mutant): boolean => status === 'Survived' || status === 'NoCoverage'

/** What a run has shown. */
export interface Outcome {
  readonly row: Record<string, string | number>
  readonly unnamed: readonly (Place & { readonly status: string })[]
  /** Named as survivors, and killed, or no mutants of this code. */
  readonly stale: readonly Place[]
}

export function outcomeOf(mutants: readonly Mutant[]): Outcome {
  const count = (status: Mutant['status']): number =>
    mutants.filter((mutant) => mutant.status === status).length
  const named = readSurvivors()
  const found = mutants.map((mutant) => ({
    status: mutant.status,
    alive: isAlive(mutant),
    ...placeOf(mutant),
  }))
  const alive = found.filter((mutant) => mutant.alive)
  const unnamed = alive.filter((mutant) => !named.some((survivor) => isSame(survivor, mutant)))
  const detected = count('Killed') + count('Timeout')
  return {
    row: {
      mutants: detected + alive.length,
      killed: count('Killed'),
      timeout: count('Timeout'),
      survived: count('Survived'),
      'no coverage': count('NoCoverage'),
      static: count('Ignored'),
      named: alive.length - unnamed.length,
      score: `${((100 * detected) / (detected + unnamed.length)).toFixed(1)} %`,
    },
    unnamed: unnamed.map(({ alive: _, ...mutant }) => mutant),
    // A survivor may also run into the time limit, on a busy machine.
    stale: named.filter(
      (survivor) =>
        found.some(({ file }) => file === survivor.file) &&
        !found.some((mutant) => (mutant.alive || mutant.status === 'Timeout') && isSame(survivor, mutant)),
    ),
  }
}
