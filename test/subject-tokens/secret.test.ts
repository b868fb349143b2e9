/** The text of a subject token (protocol.md §2.1): it names its record, and has one spelling. */
import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { mintId } from '../../src/subject-tokens/id.ts'
import { hasTokenForm, mintToken, readToken, sameHash } from '../../src/subject-tokens/secret.ts'

const ALPHABET = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_']
/** `sub_` and the id. */
const SECRET_AT = 26

/** The token with another character at a place, counted from the end if negative. */
const withCharacter = (token: string, place: number, character: string) =>
  token.slice(0, place) + character + token.slice(place + 1 || token.length)

describe('the text of a subject token', () => {
  it('is a prefix, the id of its record and 256 random bits, and can be read back', () => {
    const secrets = new Set<string>()
    for (let count = 0; count < 200; count += 1) {
      const id = mintId()
      const token = mintToken(id)
      expect(token).to.match(/^sub_[\w-]{65}$/)
      expect(readToken(token)?.id).to.equal(id)
      secrets.add(token.slice(SECRET_AT))
    }
    expect(secrets.size).to.equal(200)
    for (const secret of secrets) expect(Buffer.from(secret, 'base64url')).to.have.length(32)
  })

  it('has an id of any bits', () => {
    for (const id of ['0'.repeat(32), 'f'.repeat(32), '0123456789abcdef'.repeat(2)])
      expect(readToken(mintToken(id))?.id).to.equal(id)
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
      '',
      'sub_',
      token.slice(1),
      token.slice(0, -1),
      `${token}A`,
      `${token}\n`,
      ` ${token}`,
      `${token}=`,
      token.replace('sub_', 'SUB_'),
      token.replace('sub_', 'sus_'),
      token.replace('sub_', 'sub_ses_'),
      withCharacter(token, 10, '.'),
      withCharacter(token, 10, '+'),
      `${token.slice(0, SECRET_AT)}.${token.slice(SECRET_AT)}`,
    ]
    for (const text of others) expect(readToken(text), JSON.stringify(text)).to.equal(undefined)
  })

  it('is hashed whole, with its prefix', () => {
    for (const token of [mintToken(mintId()), mintToken(mintId(), 'session')])
      expect(readToken(token)?.hash).to.equal(createHash('sha256').update(token).digest('base64url'))
  })

  it('says by its beginning which door it opens, and is another token with another beginning', () => {
    const id = mintId()
    const token = mintToken(id, 'session')
    expect(token).to.match(/^ses_[\w-]{65}$/)
    expect(readToken(token)).to.include({ id, purpose: 'session' })
    const turned = readToken(token.replace('ses_', 'sub_'))
    expect(turned).to.include({ id, purpose: 'exchange' })
    expect(turned?.hash).not.to.equal(readToken(token)?.hash)
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
