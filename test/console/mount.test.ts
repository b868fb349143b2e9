/** Where the console is mounted, in hosts of several kinds, and what `createConsole` refuses. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import express from 'express'
import express4 from 'express4'
import Koa from 'koa'
import mount from 'koa-mount'
import { type ConsoleDeployment, DORA, startConsole } from '../../fixtures/console.ts'
import { show } from '../../fixtures/management.ts'
import { createConsole } from '../../src/console/index.ts'
import { createImpersonation } from '../../src/index.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

describe('console: where it is mounted', () => {
  let deployment: ConsoleDeployment
  before(async () => {
    deployment = await startConsole()
  })
  beforeEach(() => {
    deployment.errors.length = 0
  })
  after(() => deployment.close())

  const make = (prefix?: string, authorize: () => typeof DORA = () => DORA) =>
    createConsole(deployment.impersonation, { authorize, ...(prefix !== undefined && { prefix }) })

  async function serving(listener: RequestListener, use: (baseUrl: string) => Promise<void>): Promise<void> {
    const server = createServer(listener).listen(0, '127.0.0.1')
    await once(server, 'listening')
    try {
      await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    } finally {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    }
  }

  /** Opens the pages, follows a link and stops one, all by the addresses in the pages. */
  async function expectConsole(baseUrl: string, path: string): Promise<void> {
    const id = await deployment.keep({ use: {} })
    const now = await fetch(baseUrl + path)
    const [, link = ''] = new RegExp(`href="([^"]*/${id})"`).exec(await now.text()) ?? []
    const record = await (await fetch(baseUrl + link)).text()
    const [, action = ''] = /method="post" action="([^"]*)"/.exec(record) ?? []
    expect(action).to.match(/^\/.*stop$/)
    const stopped = await fetch(baseUrl + action, {
      method: 'POST',
      headers: { 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams({ id, reason: 'a reason' }),
    })
    expect(stopped.url).to.equal(baseUrl + link)
    expect(stopped.status).to.equal(200)
    expect((await show(deployment, id)).body.revocation).to.include({ by: 'dora', reason: 'a reason' })
    expect((await fetch(`${baseUrl + path}?x=1`)).status).to.equal(400)
  }

  it('node:http, at a prefix and at the root', async () => {
    await serving(make().handler(), (baseUrl) => expectConsole(baseUrl, '/impersonations'))
    await serving(make('').handler(), (baseUrl) => expectConsole(baseUrl, '/'))
    await serving(make('/a/b').handler(), async (baseUrl) => {
      await expectConsole(baseUrl, '/a/b')
      const elsewhere = await fetch(`${baseUrl}/a/c`)
      expect(elsewhere.status).to.equal(404)
      expect(elsewhere.headers.get('content-security-policy')).to.match(/^default-src 'none'/)
    })
  })

  for (const [name, create] of [
    ['Express 5', express],
    ['Express 4', express4 as unknown as typeof express],
  ] as const) {
    it(`${name}, at its prefix, unmounted, below another path, and after a parser`, async () => {
      const hosts = {
        '/impersonations': create().use(make().handler()),
        '/impersonations/': create().use('/impersonations', make().handler()),
        '/admin/impersonations': create().use('/admin', make().handler()),
        '/impersonations?': create()
          .use(create.urlencoded({ extended: true }))
          .use(make().handler()),
      }
      for (const [path, host] of Object.entries(hosts))
        await serving(host, (baseUrl) => expectConsole(baseUrl, path.replace(/\W$/, '')))
    })
  }

  it('Express: passes on what is not below its prefix', async () => {
    const host = express().use(make().handler(), (_request, response) => void response.send('mine'))
    await serving(host, async (baseUrl) => {
      expect(await (await fetch(`${baseUrl}/other`)).text()).to.equal('mine')
    })
  })

  it('koa-mount, below another path', async () => {
    const app = new Koa().use(mount('/admin', new Koa().use(make().routes())))
    await serving(app.callback(), (baseUrl) => expectConsole(baseUrl, '/admin/impersonations'))
  })

  it('Express, mounted at its prefix, also where the address ends with a slash', () =>
    serving(express().use('/impersonations', make().handler()), async (baseUrl) => {
      for (const path of ['/impersonations', '/impersonations/', '/impersonations/?cursor='])
        expect((await fetch(baseUrl + path)).status, path).to.equal(200)
    }))

  it('never writes an address that begins with two slashes', async () => {
    const handler = make().handler()
    const rewrite: RequestListener = (request, response) => {
      Object.assign(request, { originalUrl: `//evil.example${request.url}` })
      handler(request, response)
    }
    await serving(rewrite, async (baseUrl) => {
      const text = await (await fetch(`${baseUrl}/impersonations`)).text()
      expect(text).to.include('href="/impersonations/history"').and.not.to.include('evil.example')
    })
  })

  it('Koa, where the host has rewritten the path', async () => {
    const app = new Koa()
    app.use((ctx, next) => {
      ctx.path = ctx.path.replace('/desk', '/impersonations')
      return next()
    })
    app.use(make().routes())
    await serving(app.callback(), async (baseUrl) => {
      expect(await (await fetch(`${baseUrl}/desk`)).text()).to.include('href="/impersonations/history"')
    })
  })

  it('a parser that leaves something else than a form is refused', async () => {
    const id = await deployment.keep({ use: {} })
    for (const [body, text] of [
      [{ id: { $ne: '' }, reason: 'x' }, 'The body must be a form.'],
      [{ id: [id, id], reason: 'x' }, 'Id must not be repeated.'],
      [{ id, reason: ['x', 'y'] }, 'Reason must not be repeated.'],
      [[id], 'The body must be a form.'],
    ] as const) {
      const host = express().use((request, _response, next) => {
        Object.assign(request, { body })
        next()
      }, make().handler())
      await serving(host, async (baseUrl) => {
        const response = await fetch(`${baseUrl}/impersonations/stop`, {
          method: 'POST',
          headers: { 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' },
        })
        expect(response.status).to.equal(400)
        expect(await response.text()).to.include(text)
      })
    }
    expect((await show(deployment, id)).body.state).to.equal('consumed')
  })

  it('reports failures to the provider where the host is not Koa', async () => {
    const failing = make(undefined, () => {
      throw new Error('private')
    })
    await serving(failing.handler(), async (baseUrl) => {
      expect((await fetch(`${baseUrl}/impersonations`)).status).to.equal(500)
    })
    expect(deployment.errors).to.have.length(1)
  })
})

describe('console: what createConsole refuses', () => {
  let deployment: ConsoleDeployment
  before(async () => {
    deployment = await startConsole()
  })
  after(() => deployment.close())
  const authorize = () => DORA

  for (const [title, options, text] of [
    ['no options', undefined, /options object/],
    ['no authorize', {}, /option authorize must be a function/],
    ['an authorize that is no function', { authorize: true }, /option authorize/],
    ['a nameOf that is no function', { authorize, nameOf: new Map() }, /option nameOf/],
    ['a ticketUrl that is no function', { authorize, ticketUrl: 'https://x' }, /option ticketUrl/],
    ['a find that is no function', { authorize, find: ['alice'] }, /option find/],
    ['a blank title', { authorize, title: ' ' }, /option title/],
    ['a title that is no text', { authorize, title: 7 }, /option title/],
    ...[
      '',
      'relative',
      '//elsewhere.example',
      '/\\elsewhere.example',
      '/\t/elsewhere.example',
      'javascript:alert(1)',
      ' /',
      'https://',
      7,
    ].flatMap((address) => [
      [`home: ${JSON.stringify(address)}`, { authorize, home: address }, /option home/] as const,
      [`signOut: ${JSON.stringify(address)}`, { authorize, signOut: address }, /option signOut/] as const,
    ]),
    ['an unknown option', { authorize, path: '/x' }, /unknown option: path/],
    ['a prefix with a slash at its end', { authorize, prefix: '/x/' }, /option prefix/],
    ['a prefix that is a pattern', { authorize, prefix: '/:x' }, /option prefix/],
  ] as const) {
    it(title, () => {
      expect(() => createConsole(deployment.impersonation, options as never)).to.throw(TypeError, text)
    })
  }

  it('no path and no http(s) address, with what it needs', () => {
    for (const address of ['/', '/desk?x=1#y', 'https://desk.example.com', 'HTTP://desk.example.com/a'])
      createConsole(deployment.impersonation, { authorize, home: address, signOut: address })
  })

  it('a copy of the service, and one that is not attached', () => {
    expect(() => createConsole({ ...deployment.impersonation }, { authorize })).to.throw(TypeError, /a copy/)
    const store = createSubjectTokenStore(deployment.database.sequelize)
    expect(() => createConsole(createImpersonation({ store }), { authorize })).to.throw(TypeError, /attach/)
  })
})
