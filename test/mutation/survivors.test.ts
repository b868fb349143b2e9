/** `npm run mutation` takes minutes, so it is not part of the tests: what it relies on is. */
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { ROOMS } from '../../tools/mutation/rooms.ts'
import { occurrences, placeOf, ROOT, readSurvivors } from '../../tools/mutation/survivors.ts'

const found = (pattern: string): string[] => globSync(pattern, { cwd: ROOT })

describe('mutation', () => {
  const survivors = readSurvivors()

  it('names survivors by lines that are still in the code, each once', () => {
    expect(survivors.filter((survivor) => occurrences(survivor) !== 1)).to.deep.equal([])
  })

  it('names each survivor once, by what changes on its line, with a reason', () => {
    const shown = survivors.map(({ reason: _, ...place }) => JSON.stringify(place))
    expect(shown).to.deep.equal([...new Set(shown)])
    expect(survivors.filter(({ line, mutated }) => line === mutated)).to.deep.equal([])
    expect(survivors.filter(({ reason }) => !/^[A-Z].{20,}\.$/.test(reason))).to.deep.equal([])
  })

  it('mutates every file of the source in one room', () => {
    const mutated = Object.values(ROOMS).flatMap(({ mutate }) => mutate.flatMap(found))
    expect(mutated.sort()).to.deep.equal(
      found('{,packages/*/}src/**/*.{ts,js}')
        .filter((file) => !file.endsWith('.d.ts'))
        .sort(),
    )
  })

  it('runs tests that exist', () => {
    const patterns = Object.values(ROOMS).flatMap(({ tests }) => tests)
    expect(patterns.filter((pattern) => found(pattern).length === 0)).to.deep.equal([])
  })

  it('finds a mutant by its line, and by the line above where that is ambiguous', () => {
    const file = 'fixtures/end-of-run.ts'
    const lines = readFileSync(path.join(ROOT, file), 'utf8').split('\n')
    const placeAt = (line: number, from: string, replacement: string) => {
      const column = (lines[line - 1]?.indexOf(from) ?? -1) + 1
      const location = { start: { line, column }, end: { line, column: column + from.length } }
      return placeOf({ fileName: path.join(ROOT, file), replacement, location })
    }
    const at = lines.indexOf('export async function endRun(): Promise<void> {') + 1
    expect(placeAt(at, '{', '')).to.deep.equal({
      file,
      line: 'export async function endRun(): Promise<void> {',
      mutated: 'export async function endRun(): Promise<void>',
    })
    expect(lines.filter((line) => line === '')).to.have.length.greaterThan(1)
    const ambiguous = { file, above: lines[lines.indexOf('') - 1], line: '', mutated: 'x' }
    expect(placeAt(lines.indexOf('') + 1, '', 'x')).to.deep.equal(ambiguous)
    expect(occurrences(ambiguous)).to.equal(1)
    expect(occurrences({ file, line: '', mutated: 'x' })).to.equal(lines.filter((line) => line === '').length)
  })
})
