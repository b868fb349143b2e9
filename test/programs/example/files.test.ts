/** How the example sends its files and pages: compressed, asked for again only when they change, and not indexed. */
import type { IncomingHttpHeaders } from 'node:http'
import { get } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { startEach } from './flow.ts'

interface Sent {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

describe('the files of the example', () => {
  const example = startEach()

  /** As it goes over the wire: `fetch` would decompress it. */
  const read = (address: string, headers: Record<string, string> = {}) =>
    new Promise<Sent>((resolve, reject) => {
      get(example.baseUrl + address, { headers }, async (response) =>
        resolve({ status: response.statusCode, headers: response.headers, body: await buffer(response) }),
      ).on('error', reject)
    })

  const FILE = '/desk/main.js'

  it('are compressed as the browser accepts it, and the same in every coding', async () => {
    const plain = await read(FILE)
    expect(plain.headers).to.not.have.property('content-encoding')
    for (const [coding, decompress] of [
      ['br', brotliDecompressSync],
      ['gzip', gunzipSync],
    ] as const) {
      const { headers, body } = await read(FILE, { 'accept-encoding': `deflate, ${coding}` })
      expect(headers['content-encoding']).to.equal(coding)
      expect(headers.vary).to.equal('Accept-Encoding')
      expect(decompress(body).equals(plain.body)).to.equal(true)
      expect(body.length).to.be.lessThan(plain.body.length / 2)
    }
    const none = await read(FILE, { 'accept-encoding': 'identity;q=1, *;q=0' })
    expect(none.headers).to.not.have.property('content-encoding')
  })

  it('are sent again only when they have changed', async () => {
    const { headers } = await read(FILE)
    expect(headers['cache-control']).to.equal('no-cache')
    const same = await read(FILE, { 'if-none-match': headers.etag ?? '' })
    expect([same.status, same.body.length, same.headers.etag]).to.deep.equal([304, 0, headers.etag])
    expect((await read(FILE, { 'if-none-match': 'W/"other"' })).status).to.equal(200)
  })

  it('are kept by the browser under the version that the page names, and gone under another', async () => {
    const page = (await read('/')).body.toString()
    const [address = '', version = ''] = /\/desk\/([\w-]{12})\/main\.js/.exec(page) ?? []
    const { status, headers } = await read(address)
    expect([status, headers['cache-control']]).to.deep.equal([200, 'public, max-age=31536000, immutable'])
    expect(page).to.not.match(/"\/desk\/[^/]+"/)
    expect((await read(address.replace(version, 'x'.repeat(12)))).status).to.equal(404)
  })

  it('and the pages are for this origin, need no device, and are not indexed', async () => {
    for (const address of ['/', '/callback', '/login/over', '/nowhere']) {
      const { headers, body } = await read(address, { accept: 'text/html', 'accept-encoding': 'gzip' })
      expect(headers, address).to.include({
        'cache-control': 'no-store',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
        'x-robots-tag': 'noindex',
      })
      expect(headers['permissions-policy'], address).to.include('camera=()')
      if (address === '/') expect(gunzipSync(body).toString()).to.include('See what a customer sees</h1>')
    }
    expect((await read(FILE)).headers).to.include({
      'cross-origin-resource-policy': 'same-origin',
      'x-robots-tag': 'noindex',
      'x-content-type-options': 'nosniff',
    })
  })

  it('that do not exist have a page for people, and no page for programs', async () => {
    const accept = 'text/html,application/xhtml+xml,*/*;q=0.8'
    for (const address of ['/nowhere', '/desk/nowhere.js', '/desk/../../package.json']) {
      const { status, headers, body } = await read(address, { accept })
      expect([status, headers['content-type']], address).to.deep.equal([404, 'text/html; charset=utf-8'])
      expect(body.toString()).to.include('There is no such page').and.include('href="/"')
    }
    const { status, headers } = await read('/nowhere', { accept: '*/*' })
    expect([status, headers['content-type']]).to.deep.equal([404, 'text/plain; charset=utf-8'])
  })
})
