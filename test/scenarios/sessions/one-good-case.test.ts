/** One good case of docs/protocol.md §10, and where its subject token never is: also not in the log of everything. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { FROM_SOURCE } from '../../../fixtures/packed-package.ts'
import { hashToken } from '../../../src/tokens/secret.ts'

describe('a sign-in as the user', () => {
  it('opens the application until it is stopped, and no page, address, cookie, event or log holds the token', async () => {
    const child = fork(path.join(import.meta.dirname, 'one-good-case.ts'), {
      execArgv: ['--no-warnings', FROM_SOURCE],
      env: { ...process.env, DEBUG: '*', NODE_DEBUG: 'http' },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    const logs = [child.stdout, child.stderr].map((stream) => (stream ? text(stream) : ''))
    const [{ token, seen, id, idToken, userinfo, live, ...end }] = await once(child, 'message')
    child.disconnect()
    expect(idToken).to.deep.include({
      sub: 'alice',
      act: { sub: 'bob' },
      sid: `imp_${id}`,
      read_only: false,
      nonce: 'a-nonce',
    })
    expect(userinfo).to.deep.equal({
      sub: 'alice',
      act: { sub: 'bob' },
      read_only: false,
      email: 'alice@example.com',
    })
    expect(live).to.have.length(1)
    expect(live[0]).to.include({ id, use: 'session', usedBy: 'shop', scope: 'openid profile' })
    expect(live[0].session).to.include({ logout: 'pending' })
    const { told, ...others } = end
    expect(others).to.deep.equal({ stopped: { revoked: 1 }, after: 401, errors: [] })
    expect(told).to.include.members(['issued', 'exchanged', 'revoked'].map((name) => `subject_token.${name}`))
    const log = (await Promise.all(logs)).join('')
    expect(log.length).to.be.greaterThan(1000)
    const hash = hashToken(token)
    const hex = Buffer.from(hash, 'base64url').toString('hex')
    for (const secret of [token, token.slice(4), token.slice(-43), hash, hex])
      for (const place of [...seen, log]) expect(place.includes(secret)).to.equal(false)
  })
})
