/** The provider's own session says who is at the console, as docs/console.md does it: no second sign-in. */
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { type ConsoleDeployment, startConsole } from '../../fixtures/console.ts'

describe("console: the provider's session", () => {
  let console: ConsoleDeployment
  before(async () => {
    console = await startConsole({
      async authorize(ctx) {
        const { accountId } = await console.provider.Session.get(ctx)
        return accountId === 'dora' ? { id: accountId, can: ['see', 'stop'] } : undefined
      },
    })
  })
  after(() => console.close())

  /** The cookies of someone who is signed in, with the signature that the provider checks. */
  async function signedIn(accountId: string, key = 'a key of the tests'): Promise<string> {
    const session = Object.assign(new console.provider.Session(), { accountId })
    const id = await session.save(600)
    const name = console.provider.cookieName('session')
    const signature = createHmac('sha1', key).update(`${name}=${id}`).digest('base64url')
    return `${name}=${id}; ${name}.sig=${signature}`
  }

  it('lets in whom the deployment knows, and no one else', async () => {
    const status = async (cookie: string) => (await console.get('', { cookie })).status
    expect(await status(await signedIn('dora'))).to.equal(200)
    expect(await status(await signedIn('alice'))).to.equal(403)
    expect(await status(await signedIn('dora', 'another key'))).to.equal(403)
    expect(await status('')).to.equal(403)
  })

  it('is found by the keys of the provider where the host is not Koa, too', async () => {
    const server = createServer(console.console.handler()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/impersonations`
      const id = await console.keep({ use: {} })
      const cookie = await signedIn('dora')
      expect((await fetch(url)).status).to.equal(403)
      const stopped = await fetch(`${url}/stop`, {
        method: 'POST',
        headers: { cookie, 'sec-fetch-site': 'same-origin' },
        body: new URLSearchParams({ id, reason: 'x' }),
        redirect: 'manual',
      })
      expect(stopped.status).to.equal(303)
    } finally {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    }
  })
})

describe('console: what findAccount gets', () => {
  let console: ConsoleDeployment
  const asked: [name: string, tenant: string][] = []
  before(async () => {
    console = await startConsole(
      {},
      {
        configuration: {
          findAccount(ctx, name) {
            asked.push([name, ctx.get('x-tenant')])
            return { accountId: name === 'alias' ? 'alice' : name, claims: async () => ({ sub: name }) }
          },
        },
      },
    )
  })
  after(() => console.close())

  it('is the request of the administrator: an alias of one tenant is not that of another', async () => {
    const id = await console.keep({ userId: 'alice' })
    const { text } = await console.get('/history?userId=alias', { 'x-tenant': 'blue' })
    expect(text).to.include(id)
    expect(asked).to.deep.include(['alias', 'blue'])
  })
})
