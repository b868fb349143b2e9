/** Which requests may change something: those of the console's own pages, however a header is spelled. */
import { request } from 'node:http'
import { expect } from 'chai'
import { type ConsoleDeployment, startConsole } from '../../fixtures/console.ts'

/** The status of a POST without an id: 400 if it passes, 403 if its origin does not. */
function post(url: string, headers: Readonly<Record<string, string | string[]>>): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(
      `${url}/stop`,
      { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers } },
      (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      },
    )
    sent.on('error', reject)
    sent.end('reason=x')
  })
}

describe('console: the origin of what may change something', () => {
  let console: ConsoleDeployment
  let host: string
  before(async () => {
    console = await startConsole()
    host = new URL(console.baseUrl).host
  })
  after(() => console.close())

  it('passes by Sec-Fetch-Site, whatever Origin says', async () => {
    expect(await post(console.url, { 'sec-fetch-site': 'same-origin' })).to.equal(400)
    expect(await post(console.url, { 'sec-fetch-site': 'same-origin', origin: 'null' })).to.equal(400)
    expect(await post(console.url, { 'SEC-FETCH-SITE': 'same-origin' })).to.equal(400)
  })

  for (const site of [
    'cross-site',
    'same-site',
    'none',
    '',
    'Same-Origin',
    'same-origin2',
    'same-origin, cross-site',
    '"same-origin"',
    '?1',
  ]) {
    it(`refuses Sec-Fetch-Site: ${site || '(empty)'}, although Origin is right`, async () => {
      expect(await post(console.url, { 'sec-fetch-site': site, origin: `http://${host}` })).to.equal(403)
    })
  }

  it('refuses Sec-Fetch-Site that is sent twice', async () => {
    expect(await post(console.url, { 'sec-fetch-site': ['same-origin', 'cross-site'] })).to.equal(403)
    expect(await post(console.url, { 'sec-fetch-site': ['same-origin', 'same-origin'] })).to.equal(403)
  })

  it('passes by Origin where there is no Sec-Fetch-Site', async () => {
    expect(await post(console.url, { origin: `http://${host}` })).to.equal(400)
    expect(await post(console.url, { host: 'id.example.com', origin: 'https://id.example.com' })).to.equal(
      400,
    )
    expect(await post(console.url, { host: 'ID.example.com', origin: 'https://id.example.com' })).to.equal(
      400,
    )
    expect(
      await post(console.url, { host: 'id.example.com:443', origin: 'https://id.example.com' }),
    ).to.equal(400)
    expect(await post(console.url, { host: '[::1]:3000', origin: 'http://[::1]:3000' })).to.equal(400)
  })

  const WRONG = [
    undefined,
    '',
    'null',
    'http://',
    'https://evil.example',
    'HOST',
    '//HOST',
    'file://HOST',
    'http://HOST/',
    'http://HOST/impersonations',
    'http://HOST@evil.example',
    'http://evil.example@HOST',
    'http://evil@HOST',
    'http://HOST.evil.example',
    'http://evil.example/HOST',
    'http://evil.example#HOST',
    'http://evil.example?HOST',
    'http://HOST, http://HOST',
    'http://HOST http://evil.example',
    ' http://',
    'http://HOST0',
    'javascript:HOST',
    'http://HOST\\',
    'http://HOST:80',
  ]
  for (const spelled of WRONG) {
    it(`refuses Origin: ${spelled ?? '(none)'}`, async () => {
      const origin = spelled?.replaceAll('HOST', host)
      expect(await post(console.url, origin === undefined ? {} : { origin })).to.equal(403)
    })
  }

  it('refuses Origin that is sent twice, although both are right', async () => {
    expect(await post(console.url, { origin: [`http://${host}`, `http://${host}`] })).to.equal(403)
  })

  it('takes no other header for an origin', async () => {
    const own = `http://${host}`
    for (const header of ['referer', 'x-forwarded-origin', 'forwarded', 'sec-fetch-mode', 'x-origin'])
      expect(await post(console.url, { [header]: own }), header).to.equal(403)
    const evil = { origin: 'https://evil.example' }
    expect(await post(console.url, { ...evil, 'x-forwarded-host': 'evil.example' })).to.equal(403)
    expect(await post(console.url, { ...evil, forwarded: 'host=evil.example' })).to.equal(403)
    expect(await post(console.url, { ...evil, 'x-http-method-override': 'GET' })).to.equal(403)
  })

  it('refuses a Host that is not a host', async () => {
    for (const wrong of ['evil@id.example.com', 'id.example.com/', 'id.example.com?', 'id.example.com#x'])
      expect(await post(console.url, { host: wrong, origin: 'https://id.example.com' }), wrong).to.equal(403)
  })
})
