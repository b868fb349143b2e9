/** Times and texts as the pages show them. */
import { expect } from 'chai'
import { countOf, dateOf, lengthOf, sentenceOf, shorten, timeOf } from '../../src/console/words.ts'

const NOW = Date.UTC(2026, 10, 21, 20, 10, 48) / 1000

describe('console: words', () => {
  for (const [seconds, text] of [
    [-1, '0:00'],
    [0, '0:00'],
    [59, '0:59'],
    [184, '3:04'],
    [600, '10:00'],
    [3_599, '59:59'],
    [3_784, '1:03:04'],
    [86_400, '24:00:00'],
  ] as const) {
    it(`a length of ${seconds} s is ${text}`, () => {
      expect(lengthOf(seconds)).to.equal(text)
    })
  }

  it('a time has its date where that is not of today, and says in full what it is', () => {
    expect(String(timeOf(NOW - 60, NOW))).to.equal('<time datetime="2026-11-21T20:09:48Z">20:09:48</time>')
    expect(String(timeOf(NOW - 86_400, NOW))).to.equal(
      '<time datetime="2026-11-20T20:10:48Z">2026-11-20 20:10:48</time>',
    )
    expect(dateOf(NOW)).to.equal('2026-11-21')
  })

  it('one is one', () => {
    expect([0, 1, 2].map((count) => countOf(count, 'record'))).to.deep.equal([
      '0 records',
      '1 record',
      '2 records',
    ])
  })

  it('fields have the names of the pages', () => {
    const told = (message: string, field?: string) =>
      sentenceOf({ message, ...(field !== undefined && { field }) })
    expect(told('userId must not be repeated', 'userId')).to.equal('User must not be repeated.')
    expect(told('actorId must not come with userId', 'actorId')).to.equal('Engineer must not come with user.')
    expect(told('requestId must not be repeated', 'requestId')).to.equal('RequestId must not be repeated.')
    expect(told('unknown parameter: userId', 'userId')).to.equal('Unknown parameter: userId.')
    expect(told('unknown parameter')).to.equal('Unknown parameter.')
    expect(told('constructor must be', 'constructor')).to.equal('Constructor must be.')
  })

  it('a text is cut between characters', () => {
    expect(shorten('🎫🎫🎫', 3)).to.equal('🎫🎫🎫')
    expect(shorten('🎫🎫🎫🎫', 3)).to.equal('🎫🎫🎫…')
    expect(shorten('m'.repeat(120))).to.equal('m'.repeat(120))
    expect(shorten('m'.repeat(121))).to.equal(`${'m'.repeat(120)}…`)
  })
})
