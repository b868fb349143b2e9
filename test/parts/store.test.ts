/** What counts as a store: a value with every method that the plugin calls. */
import { expect } from 'chai'
import { uncalledStore } from '../../fixtures/uncalled-store.ts'
import { isSubjectTokenStore, SESSION_METHODS, STORE_METHODS } from '../../src/tokens/store.ts'

describe('a subject token store', () => {
  it('has every method, and may be made by a class', () => {
    expect(isSubjectTokenStore(uncalledStore)).to.equal(true)
    expect(isSubjectTokenStore(Object.create(uncalledStore))).to.equal(true)
  })

  it('is not what lacks one method, or has something else under its name', () => {
    expect(STORE_METHODS).to.have.length.greaterThan(10)
    for (const method of STORE_METHODS) {
      for (const value of [undefined, null, 'function', {}])
        expect(isSubjectTokenStore({ ...uncalledStore, [method]: value }), method).to.equal(false)
    }
  })

  it('may lack what sessions need, and otherwise has all of it', () => {
    const { sessions, ...others } = uncalledStore
    for (const value of [others, { ...others, sessions: undefined }])
      expect(isSubjectTokenStore(value)).to.equal(true)
    expect(SESSION_METHODS).to.have.length(3)
    for (const method of SESSION_METHODS)
      for (const value of [undefined, null, 'function', {}])
        expect(
          isSubjectTokenStore({ ...others, sessions: { ...sessions, [method]: value } }),
          method,
        ).to.equal(false)
    for (const value of [null, true, 'sessions', {}])
      expect(isSubjectTokenStore({ ...others, sessions: value })).to.equal(false)
  })

  it('is an object', () => {
    const called = Object.assign(() => {}, uncalledStore)
    for (const value of [undefined, null, '', 'store', 7, true, called])
      expect(isSubjectTokenStore(value)).to.equal(false)
  })
})
