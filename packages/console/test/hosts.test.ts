/** Where the console is mounted, in hosts of several kinds, who is at it there, and what `createConsole` refuses. */
import { createHmac } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { expect } from 'chai'
import express from 'express'
import express4 from 'express4'
import Koa from 'koa'
import mount from 'koa-mount'
import { type ConsoleDeployment, DORA, startConsole } from '../../../fixtures/console.ts'
import { whileListening } from '../../../fixtures/listening.ts'
import { show } from '../../../fixtures/management.ts'
import { createImpersonation } from '../../../src/index.ts'
import { createSubjectTokenStore } from '../../../src/sequelize/index.ts'
import { type ConsoleOptions, createConsole } from '../src/index.ts'

describe('console: hosts', () => {
  let deployment: ConsoleDeployment
  before(async () => {
    deployment = await startConsole()
  })
  after(() => deployment.close())

  const authorize = () => DORA
  const make = (options: Partial<ConsoleOptions> = {}) =>
    createConsole(deployment.impersonation, { authorize, ...options })

  const post = (url: string, fields?: Record<string, string>) =>
    fetch(url, {
      method: 'POST',
      headers: { 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' },
      ...(fields && { body: String(new URLSearchParams(fields)) }),
    })

  /** Opens the pages, follows a link and stops one, all by the addresses in the pages. */
  async function expectConsole(baseUrl: string, path: string): Promise<void> {
    const id = await deployment.keep({ use: {} })
    const page = await (await fetch(baseUrl + path)).text()
    expect(page).to.include(`<a href="${path}" aria-current="page">Now</a>`)
    const [, link = ''] = new RegExp(`href="([^"]*/${id})"`).exec(page) ?? []
    const record = await (await fetch(baseUrl + link)).text()
    const [, action = ''] = /method="post" action="([^"]*)"/.exec(record) ?? []
    expect(action).to.match(/^\/.*stop$/)
    const stopped = await post(baseUrl + action, { id, reason: 'a reason' })
    expect([stopped.url, stopped.status]).to.deep.equal([baseUrl + link, 200])
    expect((await show(deployment, id)).body.revocation).to.include({ by: 'dora', reason: 'a reason' })
    expect((await fetch(`${baseUrl + path}?x=1`)).status).to.equal(400)
    expect((await fetch(`${baseUrl + path}?cursor=${id}`)).status).to.equal(200)
  }

  const handler = (prefix?: string) => make({ ...(prefix !== undefined && { prefix }) }).handler()
  const hosts: Record<string, () => readonly [path: string, host: RequestListener]> = {
    'node:http, at a prefix': () => ['/a/b', handler('/a/b')],
    'node:http, at the root': () => ['/', handler('')],
    'koa-mount, below another path': () => [
      '/admin/impersonations',
      new Koa().use(mount('/admin', new Koa().use(make().routes()))).callback(),
    ],
  }
  for (const [name, create] of Object.entries({
    'Express 5': express,
    'Express 4': express4 as unknown as typeof express,
  }))
    Object.assign(hosts, {
      [`${name}, at its prefix`]: () => ['/impersonations', create().use(handler())],
      [`${name}, unmounted`]: () => ['/impersonations', create().use('/impersonations', handler())],
      [`${name}, below another path`]: () => ['/admin/impersonations', create().use('/admin', handler())],
      [`${name}, after a parser`]: () => [
        '/impersonations',
        create()
          .use(create.urlencoded({ extended: true }))
          .use(handler()),
      ],
    })
  for (const [title, make] of Object.entries(hosts))
    it(title, async () => {
      const [path, host] = make()
      await whileListening(host, (baseUrl) => expectConsole(baseUrl, path))
    })

  it('pass on what is not below the prefix', async () => {
    const host = express().use(handler(), (_request, response) => void response.send('mine'))
    await whileListening(host, async (baseUrl) => {
      for (const path of ['/other', '/impersonationss', '/Impersonations', '/impersonation', '/'])
        expect(await (await fetch(baseUrl + path)).text(), path).to.equal('mine')
    })
    await whileListening(handler(), async (baseUrl) => {
      const elsewhere = await fetch(`${baseUrl}/a/c`)
      expect(elsewhere.status).to.equal(404)
      expect(elsewhere.headers.get('content-security-policy')).to.match(/^default-src 'none'/)
    })
  })

  it('may take an address that ends with a slash', () =>
    whileListening(express().use('/impersonations', handler()), async (baseUrl) => {
      for (const path of ['/impersonations/', '/impersonations/?cursor='])
        expect((await fetch(baseUrl + path)).status, path).to.equal(200)
    }))

  it('may have rewritten the path, and the console never writes an address that begins with two slashes', async () => {
    const toHistory = 'href="/impersonations/history"'
    const own = handler()
    const rewrite: RequestListener = (request, response) =>
      own(Object.assign(request, { originalUrl: `//evil.example${request.url}` }), response)
    await whileListening(rewrite, async (baseUrl) => {
      const text = await (await fetch(`${baseUrl}/impersonations`)).text()
      expect(text).to.include(toHistory).and.not.to.include('evil.example')
    })
    const app = new Koa()
    app.use((ctx, next) => {
      ctx.path = ctx.path.replace('/desk', '/impersonations')
      return next()
    })
    await whileListening(app.use(make().routes()).callback(), async (baseUrl) => {
      expect(await (await fetch(`${baseUrl}/desk`)).text()).to.include(toHistory)
    })
  })

  it('whose parser leaves something else than a form are refused', async () => {
    const id = await deployment.keep({ use: {} })
    for (const [body, text] of [
      [{ id: { $ne: '' }, reason: 'x' }, 'The body must be a form.'],
      [{ id: [id, id], reason: 'x' }, 'Id must not be repeated.'],
      [{ id, reason: ['x', 'y'] }, 'Reason must not be repeated.'],
      [[id], 'The body must be a form.'],
    ] as const) {
      const parse: express.RequestHandler = (request, _response, next) =>
        next(void Object.assign(request, { body }))
      await whileListening(express().use(parse, handler()), async (baseUrl) => {
        const response = await post(`${baseUrl}/impersonations/stop`)
        expect([response.status, await response.text()].join()).to.match(new RegExp(`^400,.*${text}`, 's'))
      })
    }
    expect((await show(deployment, id)).body.state).to.equal('consumed')
  })

  it('that are not Koa have failures reported to the provider', async () => {
    deployment.errors.length = 0
    const failing = make({ authorize: () => expect.fail('private') })
    await whileListening(failing.handler(), async (baseUrl) => {
      expect((await fetch(`${baseUrl}/impersonations`)).status).to.equal(500)
    })
    expect(deployment.errors).to.have.length(1)
  })

  it("let in whom the provider's own session names, by the keys of the provider, and no one else", async () => {
    const { provider } = deployment
    const console = make({
      async authorize(ctx) {
        const { accountId } = await provider.Session.get(ctx)
        return accountId === 'dora' ? DORA : undefined
      },
    })
    /** The cookies of someone who is signed in, with the signature that the provider checks. */
    async function signedIn(accountId: string, key = 'a key of the tests'): Promise<string> {
      const id = await Object.assign(new provider.Session(), { accountId }).save(600)
      const name = provider.cookieName('session')
      const signature = createHmac('sha1', key).update(`${name}=${id}`).digest('base64url')
      return `${name}=${id}; ${name}.sig=${signature}`
    }
    const cookies = [
      await signedIn('dora'),
      await signedIn('alice'),
      await signedIn('dora', 'another key'),
      '',
    ]
    for (const host of [console.handler(), new Koa().use(console.routes()).callback()])
      await whileListening(host, async (baseUrl) => {
        const statuses = cookies.map(
          async (cookie) => (await fetch(`${baseUrl}/impersonations`, { headers: { cookie } })).status,
        )
        expect(await Promise.all(statuses)).to.deep.equal([200, 403, 403, 403])
      })
  })

  const ADDRESSES = ['', 'relative', '//elsewhere.example', '/\\elsewhere.example', '/\t/elsewhere.example']
  for (const [title, options, text] of [
    ['no options', undefined, /options object/],
    ['no authorize', {}, /option authorize must be a function/],
    ['a blank title', { authorize, title: ' ' }, /option title/],
    ...[...ADDRESSES, 'javascript:alert(1)', ' /', 'https://'].flatMap((address) =>
      ['home', 'signOut'].map(
        (name) =>
          [
            `${name}: ${JSON.stringify(address)}`,
            { authorize, [name]: address },
            new RegExp(`option ${name}`),
          ] as const,
      ),
    ),
    ['an unknown option', { authorize, path: '/x' }, /unknown option: path/],
    ['a prefix with a slash at its end', { authorize, prefix: '/x/' }, /option prefix/],
    ['a prefix that is a pattern', { authorize, prefix: '/:x' }, /option prefix/],
  ] as const)
    it(`createConsole refuses ${title}`, () => {
      expect(() => createConsole(deployment.impersonation, options as never)).to.throw(TypeError, text)
    })

  it('createConsole takes other addresses, and refuses a copy of the service, and one that is not attached', () => {
    for (const address of ['/', '/desk?x=1#y', 'https://desk.example.com', 'HTTP://desk.example.com/a'])
      make({ home: address, signOut: address })
    expect(() => createConsole({ ...deployment.impersonation }, { authorize })).to.throw(TypeError, /a copy/)
    const store = createSubjectTokenStore(deployment.database.sequelize)
    expect(() => createConsole(createImpersonation({ store }), { authorize })).to.throw(TypeError, /attach/)
  })
})
