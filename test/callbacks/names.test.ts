/** The names of accounts, as the deployment gives them. */
import { expect } from 'chai'
import { tooLate } from '../../fixtures/clock.ts'
import { askNames } from '../../src/callbacks/names.ts'

describe('nameOf', () => {
  const ask = async (nameOf: Parameters<typeof askNames>[0]) => {
    const reported: unknown[] = []
    const name = await askNames(nameOf, ['alice', 'bob', 'alice'], (error) => void reported.push(error))
    return { names: [name('alice'), name('bob')], reported: reported.length }
  }

  it('is asked for each id once, and its names are shown', async () => {
    const asked: unknown[] = []
    const { names } = await ask((ids) => {
      asked.push(ids)
      return new Map<string, string | { name: string }>([
        ['alice', 'Alice Archer'],
        ['bob', { name: 'Bob Baker' }],
      ])
    })
    expect(names).to.deep.equal(['Alice Archer', 'Bob Baker'])
    expect(asked).to.deep.equal([['alice', 'bob']])
  })

  it('leaves ids where there is none, and where a name is blank or no text', async () => {
    expect(await ask(undefined)).to.deep.equal({ names: ['alice', 'bob'], reported: 0 })
    const wrong = new Map<string, never>([
      ['alice', ' ' as never],
      ['bob', { name: 7 } as never],
    ])
    expect(await ask(() => wrong)).to.deep.equal({ names: ['alice', 'bob'], reported: 0 })
  })

  it('leaves ids, and tells the operator, if it throws, rejects, returns no Map, or takes longer than a second', async () => {
    const failing: Parameters<typeof askNames>[0][] = [
      () => {
        throw new Error('no names')
      },
      () => Promise.reject(new Error('no names')),
      () => ({}) as never,
      () => tooLate(1),
    ]
    for (const nameOf of failing)
      expect(await ask(nameOf)).to.deep.equal({ names: ['alice', 'bob'], reported: 1 })
  })
})
