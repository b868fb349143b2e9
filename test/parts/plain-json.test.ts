import { expect } from 'chai'
import fc from 'fast-check'
import { frozenCopy, isPlainJson } from '../../src/base/json.ts'

const LEVELS = 8

describe('plain JSON', () => {
  it('is what can be read back as it was written, and nothing else', () => {
    fc.assert(
      fc.property(
        fc.anything({
          withNullPrototype: true,
          withSparseArray: true,
          withMap: true,
          withSet: true,
          withDate: true,
        }),
        (value) => {
          if (!isPlainJson(value, LEVELS)) return
          const written = JSON.stringify(value)
          expect(JSON.stringify(JSON.parse(written))).to.equal(written)
          expect(JSON.stringify(frozenCopy(value))).to.equal(written)
        },
      ),
      { numRuns: 2000 },
    )
  })

  it('accepts everything that JSON.parse returns, within the levels, with text that databases can store', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: LEVELS - 2 }), (text) => {
        const value: unknown = JSON.parse(text)
        const texts: string[] = []
        JSON.stringify(value, (name, member) => {
          texts.push(name, typeof member === 'string' ? member : '')
          return member
        })
        const storable = texts.every((one) => one.isWellFormed() && !one.includes('\0'))
        expect(isPlainJson(value, LEVELS)).to.equal(storable)
      }),
      { numRuns: 2000 },
    )
  })

  it('counts levels from the value itself', () => {
    expect(isPlainJson({ a: { b: [1] } }, 3)).to.equal(true)
    expect(isPlainJson({ a: { b: [[]] } }, 3)).to.equal(false)
    const cycle: { self?: unknown } = {}
    cycle.self = cycle
    expect(isPlainJson(cycle, 100)).to.equal(false)
  })

  it('may be without a prototype, as query strings are parsed', () => {
    const value = Object.assign(Object.create(null), { a: [1] })
    expect(isPlainJson(value, LEVELS)).to.equal(true)
    const copy = frozenCopy(value)
    expect(copy).to.deep.equal({ a: [1] })
    expect(copy).to.be.frozen
    expect(copy.a).to.be.frozen
  })

  const withMember = (name: string | symbol, descriptor: PropertyDescriptor): object =>
    Object.defineProperty({}, name, { enumerable: true, ...descriptor })
  const others: [title: string, value: object][] = [
    ['named by a symbol', withMember(Symbol('a'), { value: 1 })],
    ['named by a text that databases cannot store', withMember('a\0', { value: 1 })],
    ['that JSON would not show', withMember('a', { value: 1, enumerable: false })],
    ['that a getter makes', withMember('a', { get: () => 1 })],
    ['that can only be set', withMember('a', { set: () => {} })],
    ['that a proxy names and does not have', new Proxy({}, { ownKeys: () => ['a'] })],
  ]
  for (const [title, value] of others) {
    it(`has no member ${title}`, () => expect(isPlainJson(value, LEVELS)).to.equal(false))
  }

  it('keeps a member named __proto__ as a member', () => {
    const copy = frozenCopy(JSON.parse('{"__proto__": {"polluted": [1]}}'))
    expect(Object.keys(copy)).to.deep.equal(['__proto__'])
    expect(copy).to.be.frozen
    expect(Reflect.get(Object.getOwnPropertyDescriptor(copy, '__proto__')?.value, 'polluted')).to.be.frozen
    expect(Reflect.get({}, 'polluted')).to.equal(undefined)
  })
})
