/** What the client hands to the option `fetch`, and what is left of a call when it has ended. */
import { generateKeyPairSync } from 'node:crypto'
import { getEventListeners } from 'node:events'
import { expect } from 'chai'
import { decodeProtectedHeader } from 'jose'
import { stopClock } from '../../../fixtures/clock.ts'
import { createImpersonationClient, type ImpersonationClientOptions } from '../src/index.ts'

const ISSUER = 'https://id.example.com/oidc'
const API = 'https://id.example.com/api/subject-tokens'
const privateKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })

interface Sent {
  readonly url: string
  readonly headers: Headers
  readonly form: Record<string, string>
  readonly signal: AbortSignal | null | undefined
}

/** A client of a provider that has no records, unless `api` responds. */
function connect(
  api = (): Response => Response.json({ items: [] }),
  options: Partial<ImpersonationClientOptions> = {},
) {
  const sent: Sent[] = []
  const client = createImpersonationClient({
    ...{ issuer: ISSUER, clientId: 'backend' },
    ...(!options.privateKey && { clientSecret: 'backend-secret' }),
    fetch: async (input, { headers, body, signal } = {}) => {
      const url = String(input)
      const form = body instanceof URLSearchParams ? Object.fromEntries(body) : {}
      sent.push({ url, headers: new Headers(headers), form, signal })
      if (url.endsWith('/openid-configuration'))
        return Response.json({ issuer: ISSUER, token_endpoint: `${ISSUER}/token` })
      if (url === `${ISSUER}/token`)
        return Response.json({ access_token: 'token', token_type: 'Bearer', expires_in: 600 })
      return api()
    },
    ...options,
  })
  return { client, sent }
}

describe('client: fetch', () => {
  it('is asked for discovery, a token, and a list in JSON, which has no query without filters', async () => {
    const { client, sent } = connect()
    expect(await client.listPage({ userId: undefined })).to.deep.equal({ items: [] })
    expect(sent.map(({ url }) => url)).to.deep.equal([
      `${ISSUER}/.well-known/openid-configuration`,
      `${ISSUER}/token`,
      API,
    ])
    expect(sent.at(-1)?.headers.get('accept')).to.equal('application/json')
  })

  it('is asked for an exchange with what was given, and nothing else', async () => {
    const { client, sent } = connect()
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
      const { client, sent } = connect(undefined, { privateKey: { ...privateKey, kid } as never })
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
    const { client, sent } = connect(() => responses.shift() ?? Response.json({ items: [] }))
    expect(await client.listPage()).to.deep.equal({ items: [] })
    expect(sent.filter(({ url }) => url === API)).to.have.length(2)
  })

  it('is not asked again when that would be at the end of the time limit', async () => {
    const clock = stopClock()
    try {
      const later = () => Response.json({ error: 'later' }, { status: 503, headers: { 'retry-after': '1' } })
      const { client, sent } = connect(later, { timeout: 1 })
      const error = await client.listPage().catch((thrown: unknown) => thrown)
      expect(error).to.include({ status: 503, code: 'later' })
      expect(sent.filter(({ url }) => url === API)).to.have.length(1)
    } finally {
      clock.restore()
    }
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
    const { client, sent } = connect(() => {
      asked.resolve()
      return new Response('', { status: 503, headers: { 'retry-after': '9' } })
    })
    const leaving = new AbortController()
    const pending = client.listPage({}, { signal: leaving.signal }).catch((thrown: unknown) => thrown)
    await Promise.race([asked.promise, pending])
    await new Promise(setImmediate)
    const waiting = timers()
    leaving.abort('gone')
    expect(await pending).to.equal('gone')
    expect(timers()).to.equal(waiting - 1)
    expect(sent.filter(({ url }) => url === API)).to.have.length(1)
  })
})
