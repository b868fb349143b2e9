/** Whose subject token it is that someone presents (protocol.md §2.1): a right id proves nothing. */
import { expect } from 'chai'
import { ISSUER } from '../../fixtures/cluster.ts'
import { NOW, newToken, newUse } from '../../fixtures/subject-tokens.ts'
import { findPresented } from '../../src/exchange/subject.ts'
import { mintId } from '../../src/subject-tokens/id.ts'
import { hashToken, mintToken, type SubjectTokenPurpose } from '../../src/subject-tokens/secret.ts'
import type { NewSubjectToken } from '../../src/subject-tokens/subject-token.ts'
import { createMemoryStore } from '../../src/testing/memory-store.ts'

/** A record and its token, and a look-up that counts. */
async function issued(changes: Partial<NewSubjectToken> = {}, minted: SubjectTokenPurpose = 'exchange') {
  const store = createMemoryStore()
  const id = mintId()
  const token = mintToken(id, minted)
  const record = newToken({ id, tokenHash: hashToken(token), ...changes })
  await store.insert(record)
  const asked: string[] = []
  const counting: Pick<typeof store, 'find'> = {
    find: (issuer, of) => {
      asked.push(of)
      return store.find(issuer, of)
    },
  }
  const present = (
    text: string,
    { issuer = ISSUER, purpose = 'exchange' }: { issuer?: string; purpose?: SubjectTokenPurpose } = {},
  ) => findPresented(counting, issuer, text, purpose)
  return { store, record, id, token, asked, present }
}

describe('a subject token that is presented', () => {
  it('is found by its id, in any state, with one look-up', async () => {
    const { store, record, id, token, asked, present } = await issued()
    expect(await present(token)).to.include({ id, userId: 'alice' })
    await store.consume(record, NOW, newUse())
    expect(await present(token)).to.have.nested.property('use.clientId', newUse().clientId)
    expect(asked).to.deep.equal([id, id])
  })

  it('is malformed in another form or spelling, and nothing is looked up', async () => {
    const { token, asked, present } = await issued()
    const others = ['x', token.slice(0, -1), `${token.slice(0, -1)}_`, token.replace('sub_', 'ses_')]
    for (const text of others) expect(await present(text), text).to.equal('malformed')
    expect(asked).to.deep.equal([])
  })

  it('is unknown with the right id and another secret, spent or not', async () => {
    const { store, record, id, present } = await issued()
    expect(await present(mintToken(id))).to.equal('unknown')
    await store.consume(record, NOW, newUse())
    expect(await present(mintToken(id))).to.equal('unknown')
  })

  it('is unknown with the right secret and the id of another', async () => {
    const { store, token, present } = await issued()
    const other = newToken()
    await store.insert(other)
    expect(await present(mintToken(other.id).slice(0, 26) + token.slice(26))).to.equal('unknown')
  })

  it('is unknown to another issuer, and where no record is', async () => {
    const { token, present } = await issued()
    expect(await present(token, { issuer: 'https://other.example.com' })).to.equal('unknown')
    expect(await present(mintToken(mintId()))).to.equal('unknown')
  })

  it('is malformed at the other door, and nothing is looked up', async () => {
    for (const [purpose, other] of [
      ['exchange', 'session'],
      ['session', 'exchange'],
    ] as const) {
      const { id, token, asked, present } = await issued({ purpose }, purpose)
      expect(await present(token, { purpose: other })).to.equal('malformed')
      expect(asked).to.deep.equal([])
      expect(await present(token, { purpose })).to.include({ id, purpose })
    }
  })

  it('is unknown if its record is for another purpose', async () => {
    for (const [purpose, other] of [
      ['exchange', 'session'],
      ['session', 'exchange'],
    ] as const) {
      const { token, present } = await issued({ purpose: other }, purpose)
      expect(await present(token, { purpose })).to.equal('unknown')
    }
  })
})
