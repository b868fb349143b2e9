/** Where the status of a token stands (draft-ietf-oauth-status-list §6.2): one way to write each place (protocol.md §4.1). */
import { expect } from 'chai'
import fc from 'fast-check'
import { readStatusIndex, statusClaim } from '../../src/provider/status-reference.ts'

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

  it('has an index within its list', () => {
    expect(at(131_071, `${LISTS.base}/0`)).to.equal(131_071)
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
