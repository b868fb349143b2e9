/** docs/events.md names every event, and its examples have the members of its table. */
import { expect } from 'chai'
import { blocksOf, readPage } from '../../fixtures/markdown.ts'
import { codeOf, rowsOf, sectionOf } from '../../fixtures/page.ts'
import { EVENTS } from '../../src/index.ts'

const PAGE = readPage('docs/events.md')

/** The rows of each event; the first one names it. */
function toldOf(event: string): string[][] {
  let current = ''
  return rowsOf(sectionOf(PAGE, 'All events')).filter(([name = '']) => {
    current = codeOf(name)[0] ?? current
    return current === event
  })
}

describe('docs: events', () => {
  it('are all in the table, and in the protocol', () => {
    const named = rowsOf(sectionOf(PAGE, 'All events')).flatMap(([name = '']) => codeOf(name))
    expect(named).to.deep.equal([...EVENTS])
    const section = sectionOf(readPage('docs/protocol.md'), '6. Events')
    expect(codeOf(section)).to.include.members([...EVENTS])
  })

  for (const event of EVENTS) {
    it(`have an example of ${event} with no other members, and with all that are always present`, () => {
      const [{ code } = { code: '' }] = blocksOf(PAGE).filter(({ heading }) => heading === `\`${event}\``)
      const example = Object.keys(JSON.parse(code))
      const told = toldOf(event).map(([, member = '', , present]) => ({ name: codeOf(member)[0], present }))
      expect(told.map(({ name }) => name)).to.include.members(example)
      const always = told.filter(({ name, present }) => present === 'always' && !name?.includes('.'))
      expect(example).to.include.members(always.map(({ name }) => name))
    })
  }
})
