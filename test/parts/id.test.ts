/** The public ids of subject tokens sort by creation (protocol.md §2.2), whatever the clock does. */
import { expect } from 'chai'

type Ids = typeof import('../../src/tokens/id.ts')

/** A generator that has handed out nothing yet, and what reads its ids. */
const freshIds = (): Promise<Ids> =>
  import(`${import.meta.resolve('../../src/tokens/id.ts')}?${Math.random()}`)

const millisecondOf = (id: string): number => Number.parseInt(id.slice(0, 12), 16)
const sequenceOf = (id: string): number => Number.parseInt(id.slice(12, 16), 16)

const millisecondHex = (at: number): string => at.toString(16).padStart(12, '0')

const realNow = Date.now
const START = Date.UTC(2026, 10, 21)

describe('the id of a subject token', () => {
  let mintId: Ids['mintId']
  let isId: Ids['isId']
  let secondOf: Ids['secondOf']
  let earliestId: Ids['earliestId']
  let now = START
  beforeEach(async () => {
    now = START
    Date.now = () => now
    ;({ mintId, isId, secondOf, earliestId } = await freshIds())
  })
  afterEach(() => {
    Date.now = realNow
  })

  const mint = (count: number): string[] => Array.from({ length: count }, () => mintId())
  const expectInOrder = (ids: readonly string[]) => {
    expect(new Set(ids).size).to.equal(ids.length)
    // Compared as a whole: a difference of 65,537 elements is nothing to print.
    expect([...ids].sort().join() === ids.join(), 'sorted by creation').to.equal(true)
  }

  it('is 32 hexadecimal digits: the millisecond, a sequence from zero, and chance', () => {
    const [first = '', second = ''] = mint(2)
    for (const id of [first, second]) expect(id).to.match(/^[0-9a-f]{32}$/)
    expect([millisecondOf(first), sequenceOf(first)]).to.deep.equal([START, 0])
    expect([millisecondOf(second), sequenceOf(second)]).to.deep.equal([START, 1])
    expect(first.slice(16)).not.to.equal(second.slice(16))
  })

  it('is told from every other text by its form', () => {
    const id = mintId()
    expect(isId(id)).to.equal(true)
    const others = [
      '',
      'a',
      id.slice(1),
      `${id}0`,
      `0${id}`,
      `${id}\n`,
      id.replace(/^./, 'g'),
      'A'.repeat(32),
    ]
    expect(others.filter((text) => isId(text))).to.deep.equal([])
  })

  it('starts the sequence anew with each millisecond', () => {
    mint(3)
    now += 1
    const id = mintId()
    expect([millisecondOf(id), sequenceOf(id)]).to.deep.equal([START + 1, 0])
  })

  it('borrows the next millisecond when one has given out 65,536', () => {
    const ids = mint(0x10000)
    const last = ids.at(-1) ?? ''
    expect([millisecondOf(last), sequenceOf(last)]).to.deep.equal([START, 0xffff])
    const next = mintId()
    expect([millisecondOf(next), sequenceOf(next)]).to.deep.equal([START + 1, 0])
    // The clock reaches what was borrowed.
    now = START + 1
    const after = mintId()
    expect([millisecondOf(after), sequenceOf(after)]).to.deep.equal([START + 1, 1])
    expectInOrder([...ids, next, after])
  })

  it('stays in order while the clock steps back, and follows it once it is ahead again', () => {
    const ids = mint(2)
    now = START - 10_000
    const back = mint(2)
    expect(back.map(millisecondOf)).to.deep.equal([START, START])
    expect(back.map(sequenceOf)).to.deep.equal([2, 3])
    now = START + 5
    const ahead = mint(2)
    expect(ahead.map(millisecondOf)).to.deep.equal([START + 5, START + 5])
    expect(ahead.map(sequenceOf)).to.deep.equal([0, 1])
    expectInOrder([...ids, ...back, ...ahead])
  })

  it('follows a clock that stepped back by more than ten seconds, instead of staying in the future', () => {
    mint(2)
    now = START - 10_001
    const ids = mint(2)
    expect(ids.map(millisecondOf)).to.deep.equal([START - 10_001, START - 10_001])
    expect(ids.map(sequenceOf)).to.deep.equal([0, 1])
    expectInOrder(ids)
  })

  it('holds the second in which it was minted, from which on lists select', () => {
    for (const later of [0, 1, 999, 1000]) {
      now = START + later
      const second = secondOf(mintId())
      expect(second).to.equal(Math.floor((START + later) / 1000))
    }
    const at = START / 1000
    const [before, first] = [
      `${millisecondHex(START - 1)}${'f'.repeat(20)}`,
      `${millisecondHex(START)}${'0'.repeat(20)}`,
    ]
    expect([secondOf(before), secondOf(first)]).to.deep.equal([at - 1, at])
    expect(before < earliestId(at) && earliestId(at) <= first).to.equal(true)
  })

  it('sorts between the earliest ids of the first and the last time that can be named', () => {
    for (const id of [...mint(1), earliestId(0)]) {
      expect(earliestId(-1) <= id).to.equal(true)
      expect(id < earliestId(999_999_999_999)).to.equal(true)
    }
    expect(earliestId(999_999_999_999)).to.match(/^[0-9a-f]{32}$/)
  })
})
