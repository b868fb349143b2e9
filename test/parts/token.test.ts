/** The text of a subject token (protocol.md §2.1): it names its record and has one spelling; and whose it is when it is presented. */
import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { ISSUER } from '../../fixtures/cluster.ts'
import { NOW, newToken, newUse } from '../../fixtures/subject-tokens.ts'
import { createMemoryStore } from '../../packages/store-contract/src/memory-store.ts'
import { mintId } from '../../src/tokens/id.ts'
import {
  hashToken,
  hasTokenForm,
  mintToken,
  readToken,
  type SubjectTokenPurpose,
  sameHash,
} from '../../src/tokens/secret.ts'
import { findPresented } from '../../src/tokens/store.ts'

const ALPHABET = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_']
/** `sub_` and the id. */
const SECRET_AT = 26

/** The token with another character at a place, counted from the end if negative. */
const withCharacter = (token: string, place: number, character: string) =>
  token.slice(0, place) + character + token.slice(place + 1 || token.length)

describe('the text of a subject token', () => {
  it('is a prefix, the id of its record and 256 random bits, and can be read back', () => {
    const ids = ['0'.repeat(32), 'f'.repeat(32), ...Array.from({ length: 200 }, () => mintId())]
    const secrets = ids.map((id) => {
      const token = mintToken(id)
      expect(token).to.match(/^sub_[\w-]{65}$/)
      expect(readToken(token)?.id).to.equal(id)
      return token.slice(SECRET_AT)
    })
    expect(new Set(secrets).size).to.equal(ids.length)
    for (const secret of secrets) expect(Buffer.from(secret, 'base64url')).to.have.length(32)
  })

  it('has one spelling: the spare bits of either part are zero', () => {
    const token = mintToken(mintId())
    for (const [place, last] of [
      [SECRET_AT - 1, 'AQgw'],
      [-1, 'AEIMQUYcgkosw048'],
    ] as const) {
      const read = ALPHABET.filter((character) => readToken(withCharacter(token, place, character)))
      expect(read, `at ${place}`).to.have.members([...last])
    }
  })

  it('is read in no other form', () => {
    const token = mintToken(mintId())
    const others = [
      ...[
        '',
        'sub_',
        token.slice(1),
        token.slice(0, -1),
        `${token}A`,
        `${token}\n`,
        ` ${token}`,
        `${token}=`,
      ],
      ...['SUB_', 'sus_', 'sub_ses_'].map((prefix) => token.replace('sub_', prefix)),
      ...['.', '+'].map((character) => withCharacter(token, 10, character)),
      `${token.slice(0, SECRET_AT)}.${token.slice(SECRET_AT)}`,
    ]
    for (const text of others) expect(readToken(text), JSON.stringify(text)).to.equal(undefined)
  })

  it('says by its beginning which door it opens, and is hashed whole, with it', () => {
    const id = mintId()
    for (const [token, purpose] of [
      [mintToken(id), 'exchange'],
      [mintToken(id, 'session'), 'session'],
      [mintToken(id, 'session').replace('ses_', 'sub_'), 'exchange'],
    ] as const) {
      expect(token).to.match(purpose === 'session' ? /^ses_[\w-]{65}$/ : /^sub_[\w-]{65}$/)
      const hash = createHash('sha256').update(token).digest('base64url')
      expect(readToken(token)).to.include({ id, purpose, hash })
    }
  })

  it('is recognized by its length and its beginning, whatever it is for and however it is spelled', () => {
    const token = mintToken(mintId())
    for (const text of [token, token.replace('sub_', 'ses_'), withCharacter(token, -1, '_')])
      expect(hasTokenForm(text), text).to.equal(true)
    for (const text of [token.slice(0, -1), `${token}A`, token.replace('sub_', 'Sub_'), `${token}\n`])
      expect(hasTokenForm(text), text).to.equal(false)
  })

  it('has a hash that equals its own only', () => {
    const [one, other] = [readToken(mintToken(mintId())), readToken(mintToken(mintId()))]
    if (!one || !other) expect.fail()
    expect(sameHash(one.hash, one.hash)).to.equal(true)
    expect(sameHash(one.hash, other.hash)).to.equal(false)
    expect(sameHash(one.hash, one.hash.slice(0, -1) as typeof one.hash)).to.equal(false)
  })
})

/** A record and its token, and a look-up that counts. */
async function issued(purpose: SubjectTokenPurpose, minted = purpose) {
  const store = createMemoryStore()
  const id = mintId()
  const token = mintToken(id, minted)
  const record = newToken({ id, tokenHash: hashToken(token), purpose })
  await store.insert(record)
  const asked: string[] = []
  const find: typeof store.find = (issuer, of) => {
    asked.push(of)
    return store.find(issuer, of)
  }
  const present = (text: string, at = minted, issuer = ISSUER) => findPresented({ find }, issuer, text, at)
  return { store, record, id, token, asked, present }
}

/** A right id proves nothing. */
describe('a subject token that is presented', () => {
  for (const [purpose, other] of [
    ['exchange', 'session'],
    ['session', 'exchange'],
  ] as const) {
    it(`for ${purpose} is found by its id, in any state, with one look-up`, async () => {
      const { store, record, id, token, asked, present } = await issued(purpose)
      expect(await present(token)).to.include({ id, userId: 'alice', purpose })
      await store.consume(record, NOW, newUse())
      expect(await present(token)).to.have.nested.property('use.clientId', newUse().clientId)
      expect(asked).to.deep.equal([id, id])
    })

    it(`for ${purpose} is malformed in another form or spelling and at the other door: nothing is looked up`, async () => {
      const { token, asked, present } = await issued(purpose)
      const turned = token.startsWith('sub_') ? `ses_${token.slice(4)}` : `sub_${token.slice(4)}`
      for (const text of ['x', token.slice(0, -1), `${token.slice(0, -1)}_`, turned])
        expect(await present(text), text).to.equal('malformed')
      expect(await present(token, other)).to.equal('malformed')
      expect(asked).to.deep.equal([])
    })

    it(`for ${purpose} is unknown with another secret, id, issuer or purpose, spent or not`, async () => {
      const { store, record, id, token, present } = await issued(purpose)
      const another = newToken({ purpose })
      await store.insert(another)
      const wrong = () => present(mintToken(id, purpose))
      expect(await wrong()).to.equal('unknown')
      await store.consume(record, NOW, newUse())
      expect(await wrong()).to.equal('unknown')
      const ofAnother = mintToken(another.id, purpose).slice(0, SECRET_AT) + token.slice(SECRET_AT)
      expect(await present(ofAnother)).to.equal('unknown')
      expect(await present(token, purpose, 'https://other.example.com')).to.equal('unknown')
      expect(await present(mintToken(mintId(), purpose))).to.equal('unknown')
      const { token: misused, present: presented } = await issued(other, purpose)
      expect(await presented(misused)).to.equal('unknown')
    })
  }
})
