/** Where a subject token of a session never is: pages, addresses, cookies, events, and the log of everything (protocol.md §10.3). */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { hashToken } from '../../../src/subject-tokens/secret.ts'

describe('a subject token of a session, and its hash', () => {
  it('are in no page, address, cookie, event and log of a whole sign-in', async () => {
    const child = fork(path.join(import.meta.dirname, 'one-good-case.ts'), {
      execArgv: ['--no-warnings'],
      env: { ...process.env, DEBUG: '*', NODE_DEBUG: 'http' },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    const logs = [child.stdout, child.stderr].map((stream) => (stream ? text(stream) : ''))
    const [{ token, seen, armed }] = await once(child, 'message')
    child.disconnect()
    const log = (await Promise.all(logs)).join('')
    expect(log.length).to.be.greaterThan(1000)
    const hash = hashToken(token)
    for (const secret of [
      token,
      token.slice(4),
      token.slice(-43),
      hash,
      Buffer.from(hash, 'base64url').toString('hex'),
    ])
      for (const place of [...seen, ...armed, log]) expect(place.includes(secret)).to.equal(false)
  })
})
