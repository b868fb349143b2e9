/** Every rule of docs/protocol.md, at every door and in every form where it holds: one test for each cell. */
import { expect } from 'chai'
import { isComplete, type Rule } from './rule.ts'
import { play } from './scene.ts'
import { closeSettings } from './settings.ts'

const cellsOf = (rules: readonly Rule[]) =>
  rules.flatMap(({ title, cells }) =>
    Object.entries(cells).map(([form, cell]) => ({ title: `${title}: ${form}`, cell })),
  )

/** The cells of these rules. A file declares those of one part, so that two processes share them. */
export function declareCells(part: string, rules: readonly Rule[]): void {
  const cells = cellsOf(rules)
  const reasons = cells.filter(({ cell }) => typeof cell === 'string').length
  describe(`the rules ${part} of docs/protocol.md: ${cells.length - reasons} cells, and ${reasons} that cannot be`, () => {
    after(closeSettings)

    it('say in each cell what is answered and what the record says, or why there is none', () => {
      const incomplete = cells.filter(({ cell }) =>
        typeof cell === 'string' ? cell === '' : !isComplete(cell),
      )
      expect(incomplete.map(({ title }) => title)).to.deep.equal([])
    })

    for (const { title, cell } of cells) {
      if (typeof cell !== 'string') it(title, () => play(cell))
    }
  })
}
