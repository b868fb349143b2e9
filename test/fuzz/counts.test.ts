/** A long run in pieces: each sends requests of its own, and their counts can be added up. */
import { expect } from 'chai'
import { linesOf, sumOf } from '../../fuzz/counts.ts'
import { parseOptions } from '../../fuzz/options.ts'
import { seedOfPiece } from '../../fuzz/run.ts'

describe('fuzz: pieces', () => {
  it('add up by group and status', () => {
    const sum = sumOf([{ walk: { 200: 1, 400: 2 } }, { walk: { 200: 3, 500: 1 }, bytes: { closed: 4 } }])
    expect(sum).to.deep.equal({ walk: { 200: 4, 400: 2, 500: 1 }, bytes: { closed: 4 } })
    expect(linesOf('mysql', 'all', sum)).to.deep.equal([
      'mysql     walk        all         200: 4 400: 2 500: 1',
      'mysql     bytes       all         closed: 4',
    ])
  })

  it('begin with the given seed, and have seeds that are far apart', () => {
    const seeds = Array.from({ length: 100 }, (_, piece) => seedOfPiece(7, piece)).sort((a, b) => a - b)
    expect(seedOfPiece(7, 0)).to.equal(7)
    // A turn begins at each multiple of 1,000,003, and uses few seeds.
    for (const [index, seed] of seeds.entries())
      expect(seed - (seeds[index - 1] ?? -1_000_000)).to.be.greaterThan(100_000)
  })

  it('are one unless the command line says more', () => {
    expect(parseOptions([])).to.include({ pieces: 1 })
    const { groups, pieces } = Object(parseOptions(['--pieces', '3', '--group', 'walk,bytes']))
    expect(pieces).to.equal(3)
    expect(groups.map(({ name }: { name: string }) => name)).to.deep.equal(['walk', 'bytes'])
    expect(() => parseOptions(['--group', 'walk,none'])).to.throw('not "none"')
  })
})
