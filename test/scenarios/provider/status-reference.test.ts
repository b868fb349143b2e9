/** Where the status of a token stands (draft-ietf-oauth-status-list §6.2): one way to write each place (protocol.md §4.1). */
import { expect } from 'chai'
import fc from 'fast-check'
import { readStatusIndex, resolveStatusLists, statusClaim } from '../../../src/provider/status-claim.ts'

const LISTS = { base: 'https://id.example.com/api/status-lists', ttl: 30 }
const at = (idx: unknown, uri: unknown) => readStatusIndex(LISTS, { status_list: { idx, uri } })

describe('a status', () => {
  it('is read as it was written, for every index there can be', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 131_072 * 9_999_999_999 }), (index) => {
        expect(readStatusIndex(LISTS, statusClaim(LISTS, index))).to.equal(index)
      }),
    )
  })

  it('is a plain object that holds another one', () => {
    const list = { idx: 7, uri: `${LISTS.base}/0` }
    expect(readStatusIndex(LISTS, { status_list: list })).to.equal(7)
    for (const status of [undefined, null, 'valid', 7, [], {}, [list], list])
      expect(readStatusIndex(LISTS, status), JSON.stringify(status)).to.equal(undefined)
    for (const status_list of [undefined, null, 'valid', [], [list], Object.assign([], list)])
      expect(readStatusIndex(LISTS, { status_list }), JSON.stringify(status_list)).to.equal(undefined)
    expect(readStatusIndex(LISTS, Object.assign([], { status_list: list }))).to.equal(undefined)
  })

  it('has an index within its list', () => {
    for (const idx of [0, 131_071]) expect(at(idx, `${LISTS.base}/0`)).to.equal(idx)
    for (const idx of [131_072, -1, 0.5, Number.NaN, '1', null, undefined])
      expect(at(idx, `${LISTS.base}/0`), String(idx)).to.equal(undefined)
  })

  it('has the address of a list, written in one way', () => {
    expect(at(7, `${LISTS.base}/12`)).to.equal(12 * 131_072 + 7)
    const { base } = LISTS
    const others = [
      `${base}x0`,
      `${base}0`,
      `${base}/`,
      base,
      `${base}/01`,
      `${base}/-1`,
      `${base}/1e3`,
      `${base}/0?`,
    ]
    for (const uri of [...others, `${base}/0#`, `${base}//0`, `${base.toUpperCase()}/0`, '', null, 7])
      expect(at(7, uri), String(uri)).to.equal(undefined)
  })
})

describe('the address of status lists', () => {
  const of = (managementResource: string, uri?: string) =>
    resolveStatusLists({ ttl: 30, ...(uri && { uri }) }, managementResource)

  it('follows from the management resource, or is that of the option', () => {
    const base = 'https://id.example.com/api/status-lists'
    expect(of('https://id.example.com/api')).to.deep.equal({ base, ttl: 30 })
    expect(of('https://id.example.com/api/')).to.deep.equal({ base, ttl: 30 })
    expect(of('urn:management', base)).to.deep.equal({ base, ttl: 30 })
    expect(resolveStatusLists(false, 'urn:management')).to.equal(undefined)
  })

  it('is required where it cannot follow', () => {
    for (const managementResource of ['urn:management', 'ftp://id.example.com/api'])
      expect(() => of(managementResource)).to.throw(
        TypeError,
        'option statusList.uri is required where the management resource is no http or https URL',
      )
  })
})
