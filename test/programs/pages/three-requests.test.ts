/** docs/three-requests.md: its requests, sent as written, get the responses it shows. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { accounts } from '../../../fixtures/accounts.ts'
import { actorToken } from '../../../fixtures/actor-tokens.ts'
import { machineClient, publicClient } from '../../../fixtures/clients.ts'
import { API, type Deployment, RESOURCES, withDeployment } from '../../../fixtures/deployment.ts'
import { credentials, type HttpResponse, send } from '../../../fixtures/http.ts'
import { blocksOf, readPage } from '../../../fixtures/markdown.ts'
import { createVerifier } from '../../../packages/resource-server/src/index.ts'

const PAGE = readPage('docs/three-requests.md')
const BLOCKS = blocksOf(PAGE)
const HTTP = BLOCKS.filter(({ language }) => language === 'http').map(({ code }) => code)
const CLAIMS = BLOCKS.find(({ language }) => language === 'json')?.code ?? ''
const BACKEND = machineClient({ client_id: 'support-backend' })
const DESK = publicClient({ client_id: 'support-desk' })
const SETTINGS = {
  clients: [BACKEND, DESK],
  resources: { [API]: { ...RESOURCES[API], scope: 'orders:read', accessTokenTTL: 300, readOnly: true } },
  configuration: { findAccount: accounts(['alice', 'sam']).findAccount },
  options: { requireActor: true },
}

/** The first line of a message, its headers and its body. */
function partsOf(message: string): { start: string; headers: Headers; body: string } {
  const [head = '', ...rest] = message.split('\n\n')
  const [start = '', ...lines] = head.split('\n')
  return {
    start,
    headers: new Headers(
      lines.map((line): [string, string] => [line.replace(/:.*/, ''), line.replace(/^.*?: /, '')]),
    ),
    body: rest.join('\n\n').trim(),
  }
}

/** Who sends the requests of the page: fills in what stands in braces, and finds there what the responses bring. */
class Sender {
  readonly #baseUrl: string
  readonly #known: Map<string, string>

  constructor({ baseUrl }: Deployment, known: Readonly<Record<string, string>>) {
    this.#baseUrl = baseUrl
    this.#known = new Map(Object.entries(known))
  }

  get(name: string): string {
    return this.#known.get(name) ?? expect.fail(`nothing has brought {${name}}`)
  }

  fillIn(text: string): string {
    return text
      .replaceAll('https://id.example.com', this.#baseUrl)
      .replaceAll(/\{(\w+)\}/g, (_placeholder, name: string) => this.get(name))
  }

  send(request: string): Promise<HttpResponse> {
    const { start, headers, body } = partsOf(this.fillIn(request))
    const [method = '', target = ''] = start.split(' ')
    expect(headers.get('host')).to.equal('id.example.com')
    headers.delete('host')
    const isForm = headers.get('content-type') === 'application/x-www-form-urlencoded'
    return send(this.#baseUrl + target, {
      method,
      headers,
      body: isForm ? body.replaceAll('\n', '') : body,
    })
  }

  /** Sends a request, and compares the response with the one that is shown. */
  async exchange(request = '', response = ''): Promise<void> {
    const shown = partsOf(response)
    const { status, headers, body } = await this.send(request)
    expect(shown.start).to.match(new RegExp(`^HTTP/1.1 ${status} `))
    for (const [name, value] of shown.headers) this.#compare(value, headers.get(name))
    const members: object = JSON.parse(shown.body)
    expect(body).to.have.all.keys(Object.keys(members))
    for (const [name, value] of Object.entries(members)) this.#compare(value, body[name])
  }

  /** What stands in braces may be anything, if it is not known yet. */
  #compare(shown: unknown, found: unknown): void {
    const [, before = '', name = ''] = /^(.*)\{(\w+)\}$/.exec(String(shown)) ?? []
    const start = this.fillIn(before)
    if (name !== '' && String(found).startsWith(start))
      this.#known.set(name, String(found).slice(start.length))
    expect(found).to.equal(typeof shown === 'string' ? this.fillIn(shown) : shown)
  }
}

describe('docs: impersonation in three requests', () => {
  it('gets what it shows, for each request and for the one that stops it', async () => {
    expect(HTTP).to.have.length(8)
    await withDeployment(SETTINGS, async (deployment) => {
      const sam = await actorToken(deployment, { accountId: 'sam', clientId: 'support-desk' })
      const basic = credentials(BACKEND).headers.authorization?.replace('Basic ', '') ?? ''
      const sender = new Sender(deployment, { backend_credentials: basic, sams_access_token: sam })
      for (const index of [0, 2]) await sender.exchange(HTTP[index], HTTP[index + 1])
      expect(PAGE).to.match(/> - \*\*`requireActor: true`\*\* refuses an exchange without `actor_token`/)
      const alone = await sender.send(HTTP[4]?.replace(/&actor_token.*\n/g, '') ?? '')
      expect([alone.status, alone.body.error_description]).to.deep.equal([400, 'actor_token is required'])
      await sender.exchange(HTTP[4], HTTP[5])

      const { iat, exp, ...claims } = decodeJwt(sender.get('access_token'))
      const { iat: shownIat, exp: shownExp, ...shown } = JSON.parse(sender.fillIn(CLAIMS))
      expect(claims).to.deep.equal(shown)
      expect(Number(exp) - Number(iat)).to.equal(shownExp - shownIat)
      const verify = createVerifier({ issuer: deployment.issuer, audience: API })
      const authorization = `Bearer ${sender.get('access_token')}`
      const caller = await verify(new Request('http://api.example.com', { headers: { authorization } }))
      expect(caller).to.include({ user: 'alice', readOnly: true })

      await sender.exchange(HTTP[6], HTTP[7])
      const again = await sender.send(HTTP[4] ?? '')
      expect([again.status, again.body.error_description]).to.deep.equal([400, 'subject_token is invalid'])
    })
  })

  it('has at most 700 words', () => {
    expect(PAGE.trim().split(/\s+/).length).to.be.at.most(700)
  })
})
