/** What the client hands to the option `fetch`, and what is left of a call when it has ended. */
import { generateKeyPairSync } from 'node:crypto'
import { getEventListeners } from 'node:events'
import { expect } from 'chai'
import { decodeProtectedHeader } from 'jose'
import { whileStopped } from '../../../fixtures/clock.ts'
import { connect, errorOf, ISSUER, METADATA, RECORDS } from './calling.ts'

const privateKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })

describe('client: fetch', () => {
  it('is asked for discovery, a token, and a list in JSON, which has no query without filters', async () => {
    const { client, sent } = connect()
    await client.listPage({ userId: undefined })
    expect(sent.map(({ url }) => url)).to.deep.equal([METADATA, `${ISSUER}/token`, RECORDS])
    expect(sent.at(-1)?.headers.get('accept')).to.equal('application/json')
  })

  it('is asked for an exchange with what was given, and nothing else', async () => {
    const { client, sent } = connect({ expires_in: 600 })
    await client.exchange({
      subjectToken: 'sub_x',
      actorToken: undefined,
      resource: undefined,
      scope: undefined,
    })
    expect(sent.at(-1)?.form).to.deep.equal({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: 'sub_x',
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    })
  })

  for (const kid of ['of-the-backend', undefined]) {
    it(`is given an assertion with the kid of the key: ${kid}`, async () => {
      const options = { clientSecret: undefined, privateKey: { ...privateKey, kid } as never }
      const { client, sent } = connect({ expires_in: 600 }, options)
      await client.exchange({ subjectToken: 'sub_x' })
      const header = decodeProtectedHeader(sent.at(-1)?.form.client_assertion ?? '')
      expect(header).to.deep.equal({ alg: 'ES256', ...(kid && { kid }) })
    })
  }

  it('is not asked for anything if the signal has ended before', async () => {
    const { client, sent } = connect()
    const signal = AbortSignal.abort('late')
    for (const call of [
      () => client.listPage({}, { signal }),
      () => client.exchange({ subjectToken: 'sub_x' }, { signal }),
    ])
      expect(await call().catch((thrown: unknown) => thrown)).to.equal('late')
    expect(sent).to.deep.equal([])
  })

  it('may respond without a body', async () => {
    const responses = [new Response(null, { status: 503, headers: { 'retry-after': '0' } })]
    const { client, to } = connect({ api: () => responses.shift() ?? Response.json({ items: [] }) })
    expect(await client.listPage()).to.deep.equal({ items: [] })
    expect(to(RECORDS)).to.have.length(2)
  })

  it('is not asked again when that would be at the end of the time limit', async () => {
    await whileStopped(async () => {
      const later = () => Response.json({ error: 'later' }, { status: 503, headers: { 'retry-after': '1' } })
      const { client, to } = connect({ api: later }, { timeout: 1 })
      expect(await errorOf(client.listPage())).to.include({ status: 503, code: 'later' })
      expect(to(RECORDS)).to.have.length(1)
    })
  })
})

describe('client: a call that has ended', () => {
  it('listens to no signal', async () => {
    const { client, sent } = connect()
    const { signal } = new AbortController()
    await client.listPage({}, { signal })
    const signals = [signal, ...sent.map((request) => request.signal)].filter(
      (one) => one instanceof AbortSignal,
    )
    expect(signals).to.have.length(4)
    expect(signals.flatMap((one) => getEventListeners(one, 'abort'))).to.deep.equal([])
  })

  it('by its signal, while it waited to send again, keeps no process running', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const asked = Promise.withResolvers<void>()
    const api = () => {
      asked.resolve()
      return new Response('', { status: 503, headers: { 'retry-after': '9' } })
    }
    const { client, to } = connect({ api })
    const leaving = new AbortController()
    const pending = client.listPage({}, { signal: leaving.signal }).catch((thrown: unknown) => thrown)
    await Promise.race([asked.promise, pending])
    await new Promise(setImmediate)
    const waiting = timers()
    leaving.abort('gone')
    expect(await pending).to.equal('gone')
    expect(timers()).to.equal(waiting - 1)
    expect(to(RECORDS)).to.have.length(1)
  })
})
