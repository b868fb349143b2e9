/** Errors of the client, when the token endpoint quotes the request in `error_description`. */
import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import { type ClientAuth, ClientSecretBasic, ClientSecretPost } from 'oauth4webapi'
import type { ImpersonationClientOptions } from '../src/index.ts'
import { errorOf, shownOf, useStandIns } from './calling.ts'
import { json, type Script } from './stand-in.ts'

const EXCHANGE = {
  subjectToken: 'sub_a+b/c=',
  actorToken: 'x+y/z= ~é\t1',
  resource: 'https://api.example.com',
}
const SECRET = 'top+secret/1-2'
const privateKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })

describe('client: errors, when the response quotes the request', () => {
  const connect = useStandIns()

  async function quoted(options: Partial<ImpersonationClientOptions>, quote = (text: string) => text) {
    const token: Script['token'] = (response, { body, authorization }) =>
      json(response, 400, {
        error: 'invalid_request',
        error_description: quote(`resource of ${authorization} and ${body}`),
      })
    const { client, standIn } = await connect({ token }, { clientSecret: undefined, ...options })
    const { actorToken: _, ...onBehalfOf } = EXCHANGE
    const errors = [await errorOf(client.exchange(EXCHANGE)), await errorOf(client.onBehalfOf(onBehalfOf))]
    for (const error of errors) expect(error).to.include({ status: 400, code: 'invalid_request' })
    const shown = errors.map(shownOf).join('\n')
    // What is no secret stays.
    for (const one of errors.map(shownOf)) {
      expect(one).to.include('resource of ')
      expect(one).to.match(/https%3a%2f%2fapi\.example\.com/i)
    }
    for (const secret of [EXCHANGE.subjectToken, EXCHANGE.actorToken, SECRET]) {
      expect(shown).not.to.include(secret)
      expect(shown).not.to.include(encodeURIComponent(secret))
      expect(shown).not.to.include(new URLSearchParams([['', secret]]).toString().slice(1))
    }
    const [request] = standIn.tokenRequests
    return { shown, body: new URLSearchParams(request?.body), authorization: request?.authorization ?? '' }
  }

  it('hold no Basic credentials, encoded or decoded', async () => {
    const { shown, authorization } = await quoted({ clientSecret: SECRET }, (text) =>
      text.replace('Basic ', ''),
    )
    expect(shown).not.to.include(authorization.replace('Basic ', ''))
    const decode = (text: string) =>
      text.replace(/Basic (\S+)/, (_, credentials: string) => atob(credentials).split(':')[1] ?? '')
    const asItIs = (text: string) => decode(text).replace(/top[^ ]+/, decodeURIComponent)
    for (const options of [{ clientSecret: SECRET }, { clientAuthentication: ClientSecretBasic(SECRET) }])
      for (const quote of [decode, asItIs])
        expect((await quoted(options, quote)).shown).not.to.match(/top.{1,3}secret/)
  })

  it('hold no secret of a function that authenticates', async () => {
    const { shown, body } = await quoted({ clientAuthentication: ClientSecretPost(SECRET) })
    expect(body.get('client_secret')).to.equal(SECRET)
    expect(shown).to.include('client_id=backend')
  })

  it('hold no header of a function that authenticates', async () => {
    const { shown } = await quoted({
      clientAuthentication: (_server, _client, _body, headers) => headers.set('authorization', SECRET),
    })
    expect(shown).to.include('grant_type=')
  })

  it('hold no client assertion', async () => {
    const { shown, body } = await quoted({ privateKey: privateKey as never })
    expect(body.get('client_assertion')).to.match(/^ey/)
    expect(shown).not.to.include(body.get('client_assertion')).and.not.include('eyJ')
  })

  it('hold no token with percent signs in lower case', async () => {
    const lower = (text: string) => text.replace(/%[0-9A-F]{2}/g, (octet) => octet.toLowerCase())
    const { shown } = await quoted({ clientSecret: SECRET }, lower)
    expect(shown).not.to.include('sub_a').and.not.include('x%2by')
  })

  const authorization = (value: string) => ({
    clientAuthentication: ((_server, _client, _body, headers) => {
      headers.set('authorization', value)
    }) as ClientAuth,
  })
  for (const [title, options, request, told, shown] of [
    ['credentials without their scheme', authorization('Custom  top-secret'), {}, '(top-secret)', '(…)'],
    [
      'credentials of several parts',
      authorization('Digest username="a", response="b"'),
      ...([{}, '(username="a", response="b")', '(…)'] as const),
    ],
    ['Basic credentials that are not base64', authorization('Basic top*secret'), {}, '(top*secret)', '(…)'],
    ['Basic credentials without padding', { clientSecret: 'xy' }, {}, '(YmFja2VuZDp4eQ)', '(…)'],
    [
      'credentials of another scheme, which it does not decode',
      authorization(`Bearer ${btoa('resource')}`),
      ...([{}, `the resource (${btoa('resource')})`, 'the resource (…)'] as const),
    ],
    [
      'a token that begins with the other one',
      { clientSecret: SECRET },
      ...([{ subjectToken: 'abc', actorToken: 'abc.def' }, '(abc.def)', '(…)'] as const),
    ],
    [
      'a token whose space is written as a plus, but no text with a plus for a letter',
      { clientSecret: SECRET },
      ...([{ subjectToken: 'a cat' }, '(a+cat) (a+c+t)', '(…) (a+c+t)'] as const),
    ],
  ] as const) {
    it(`leave out ${title}`, async () => {
      const token: Script['token'] = (response) =>
        json(response, 400, { error: 'invalid_request', error_description: told })
      const { client } = await connect({ token }, { clientSecret: undefined, ...options })
      expect(await errorOf(client.exchange({ ...EXCHANGE, ...request }))).to.include({
        status: 400,
        description: shown,
      })
    })
  }
})
