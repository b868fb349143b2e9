/** docs/events.md, compared with the payloads that `src/events.ts` declares. */
import { expect } from 'chai'
import { blocksOf, readPage } from '../../fixtures/markdown.ts'
import { codeOf, rowsOf, sectionOf } from '../../fixtures/page.ts'
import { membersOf, readSource } from '../../fixtures/source.ts'
import { EVENTS } from '../../src/index.ts'

const PAGE = readPage('docs/events.md')
const SOURCE = readSource('events.ts')
/** Each event with the members of its payload. The members of `actor` are described in words. */
const PAYLOADS = new Map(
  [...SOURCE.matchAll(/'((?:subject|access)_token\.\w+)': (\w+)/g)].map(([, event = '', payload = '']) => [
    event,
    [...membersOf(SOURCE, payload)].filter(([member]) => !member.startsWith('actor.')),
  ]),
)

/** The rows of each event; the first one names it. */
function toldOf(event: string): string[][] {
  let current = ''
  return rowsOf(sectionOf(PAGE, 'All events')).filter(([name = '']) => {
    current = codeOf(name)[0] ?? current
    return current === event
  })
}

describe('docs: events', () => {
  it('are those of the exported list', () => {
    expect([...EVENTS]).to.deep.equal([...PAYLOADS.keys()])
  })

  it('are all in the table, and in the protocol', () => {
    const named = rowsOf(sectionOf(PAGE, 'All events')).flatMap(([name = '']) => codeOf(name))
    expect(PAYLOADS.size).to.be.greaterThan(4)
    expect(named).to.deep.equal([...PAYLOADS.keys()])
    const section = sectionOf(readPage('docs/protocol.md'), '6. Events')
    expect(codeOf(section)).to.include.members([...PAYLOADS.keys()])
  })

  for (const [event, members] of PAYLOADS) {
    it(`have every member of ${event}, and say when it may be absent`, () => {
      const told = toldOf(event).map(([, member = '', , present]) => [
        codeOf(member)[0],
        present !== 'always',
      ])
      expect(told).to.have.deep.members(members)
    })

    it(`have an example of ${event} with no other members, and with all that are always present`, () => {
      const [{ code } = { code: '' }] = blocksOf(PAGE).filter(({ heading }) => heading === `\`${event}\``)
      const example = Object.keys(JSON.parse(code))
      const names = members.map(([member]) => member)
      expect(names).to.include.members(example)
      const always = members.filter(([member, optional]) => !optional && !member.includes('.'))
      expect(example).to.include.members(always.map(([member]) => member))
    })
  }

  it('name every check that the source throws, and no other', () => {
    const [, union = ''] = /export type Check =(.*?)\n\n/s.exec(readSource('refusals.ts')) ?? []
    const checks = [...union.matchAll(/'(\w+)'/g)].map(([, check = '']) => check)
    const told = rowsOf(sectionOf(PAGE, 'Checks')).map(([check = '']) => codeOf(check)[0])
    // A `findAccount` that fails is reported where it only extends a filter, which emits nothing.
    expect(told).to.have.members(checks.filter((check) => check !== 'findAccount'))
  })
})
