/** By which keys a browser carries what is sealed from one request to the next (docs/protocol.md §10.3). */
import { expect } from 'chai'
import { EncryptJWT } from 'jose'
import { now } from '../../../fixtures/clock.ts'
import { sealOf } from '../../../src/sessions/seal.ts'
import { mintId } from '../../../src/tokens/id.ts'
import { hashToken, mintToken } from '../../../src/tokens/secret.ts'

const ISSUER = 'https://id.example.com'
const sealBy = (...keys: (string | Buffer)[]) => sealOf(ISSUER, { cookies: { keys: keys as never } })
const id = mintId()
const content = { id, hash: hashToken(mintToken(id, 'session')), client: 'shop', session: 'uid' }

describe('a seal', () => {
  it('opens by every key, and seals by the first', async () => {
    const [old, bytes] = ['old', Buffer.from('bytes')]
    for (const [by, opening, isOpened] of [
      [['old'], ['new', 'old'], true],
      [['old'], ['new'], false],
      [['new', 'old'], ['new'], true],
      [['new', old], [old], false],
      [[bytes], ['new', bytes], true],
    ] as const) {
      const sealed = await sealBy(...by).seal('armed', content, 60)
      const opened = await sealBy(...opening).open('armed', sealed)
      expect(opened, `${by} by ${opening}`).to.deep.equal(isOpened ? content : undefined)
      for (const part of Object.values(content)) expect(sealed).not.to.include(part)
    }
  })

  it('opens for its purpose and issuer alone, and nothing that was sealed by a key that everyone has', async () => {
    const seal = sealBy('key')
    const other = sealOf('https://other.example.com', { cookies: { keys: ['key'] } })
    const claims = { ...content, iss: ISSUER, aud: 'armed', exp: now() + 60 }
    const header = { alg: 'dir', enc: 'A256GCM' }
    for (const value of [
      ...[await seal.seal('brought', content, 60), await other.seal('armed', content, 60)],
      ...[await new EncryptJWT(claims).setProtectedHeader(header).encrypt(new Uint8Array(32))],
      ...[undefined, '', 'a.b.c.d.e', 'sub_x'],
    ])
      expect(await seal.open('armed', value)).to.equal(undefined)
  })
})
