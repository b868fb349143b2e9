/** Times and texts as the pages show them. */
import { expect } from 'chai'
import { html } from '../../src/console/html.ts'
import { ago, clockOf, cut, dateOf, lengthOf, sentenceOf } from '../../src/console/words.ts'

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

  for (const [seconds, text] of [
    [-5, 'just now'],
    [59, 'just now'],
    [60, '1 min ago'],
    [3_599, '59 min ago'],
    [3_600, '1 h ago'],
    [86_399, '23 h ago'],
    [86_400, '1 d ago'],
    [90 * 86_400, '90 d ago'],
  ] as const) {
    it(`what was ${seconds} s before was ${text}`, () => {
      expect(ago(NOW - seconds, NOW)).to.equal(text)
    })
  }

  it('a time has its date where that is not of today', () => {
    expect(clockOf(NOW - 60, NOW)).to.equal('20:09:48')
    expect(clockOf(NOW - 86_400, NOW)).to.equal('2026-11-20 20:10:48')
    expect(dateOf(NOW)).to.equal('2026-11-21')
  })

  it('fields have the names of the pages', () => {
    expect(sentenceOf('userId must not be repeated')).to.equal('User must not be repeated.')
    expect(sentenceOf('userId or actorId is required')).to.equal('User or engineer is required.')
    expect(sentenceOf('requestId must not be repeated')).to.equal('RequestId must not be repeated.')
    expect(sentenceOf('unknown parameter: userId')).to.equal('Unknown parameter: userId.')
  })

  it('a text is cut between characters, and further where there is less room', () => {
    const written = (text: string, longest: number, share = 1) =>
      html`${cut(text, longest)}`.write({ share, personOf: (id) => ({ name: id }) })
    expect(written('🎫🎫🎫', 3)).to.equal('🎫🎫🎫')
    expect(written('🎫🎫🎫🎫', 3)).to.equal('🎫🎫🎫…')
    expect(written('abcdef', 6, 0.5)).to.equal('abc…')
    expect(written('a<b>c', 4)).to.equal('a&lt;b&gt;…')
  })
})
