/** What a browser carries between two requests (protocol.md §10.3). */
import { expect } from 'chai'
import { CompactEncrypt, EncryptJWT } from 'jose'
import { stopClock } from '../../../fixtures/clock.ts'
import { type Purpose, sealOf } from '../../../src/sessions/seal.ts'
import { mintId } from '../../../src/subject-tokens/id.ts'
import { hashToken, mintToken } from '../../../src/subject-tokens/secret.ts'

const ISSUER = 'https://id.example.com'
const sealBy = (...keys: (string | Buffer)[]) => sealOf(ISSUER, { cookies: { keys: keys as never } })
const id = mintId()
const content = { id, hash: hashToken(mintToken(id, 'session')), client: 'shop', session: 'uid' }

describe('a seal', () => {
  it('opens what it has sealed, for the same purpose', async () => {
    const seal = sealBy('key')
    const sealed = await seal.seal('armed', content, 60)
    expect(await seal.open('armed', sealed)).to.deep.equal(content)
    for (const other of ['brought', 'asked'] satisfies Purpose[])
      expect(await seal.open(other, sealed)).to.equal(undefined)
    for (const part of Object.values(content)) expect(sealed).not.to.include(part)
  })

  it('opens by every key, and seals by the first', async () => {
    const sealed = await sealBy('old').seal('armed', content, 60)
    expect(await sealBy('new', 'old').open('armed', sealed)).to.deep.equal(content)
    expect(await sealBy('new').open('armed', sealed)).to.equal(undefined)
    const newer = await sealBy('new', 'old').seal('armed', content, 60)
    expect(await sealBy('new').open('armed', newer)).to.deep.equal(content)
    const bytes = await sealBy(Buffer.from('bytes')).seal('armed', content, 60)
    expect(await sealBy('new', Buffer.from('bytes')).open('armed', bytes)).to.deep.equal(content)
  })

  it('does not open what is too old, of another issuer, or not sealed at all', async () => {
    const seal = sealBy('key')
    const other = sealOf('https://other.example.com', { cookies: { keys: ['key'] } })
    expect(await seal.open('armed', await other.seal('armed', content, 60))).to.equal(undefined)
    for (const value of [undefined, '', 'a.b.c.d.e', 'sub_x'])
      expect(await seal.open('armed', value)).to.equal(undefined)
    const clock = stopClock()
    try {
      const sealed = await seal.seal('armed', content, 60)
      clock.tick(59)
      expect(await seal.open('armed', sealed)).to.deep.equal(content)
      clock.tick(1)
      expect(await seal.open('armed', sealed)).to.equal(undefined)
    } finally {
      clock.restore()
    }
  })

  it('does not open what was encrypted by a key that everyone has', async () => {
    const zeros = new Uint8Array(32)
    const claims = { ...content, iss: ISSUER, aud: 'armed', exp: Math.floor(Date.now() / 1000) + 60 }
    const jwt = await new EncryptJWT(claims).setProtectedHeader({ alg: 'dir', enc: 'A256GCM' }).encrypt(zeros)
    expect(await sealBy('key').open('armed', jwt)).to.equal(undefined)
    const none = await new CompactEncrypt(new TextEncoder().encode(JSON.stringify(claims)))
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
      .encrypt(zeros)
    expect(await sealBy('key').open('armed', none)).to.equal(undefined)
  })
})
