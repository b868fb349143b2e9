/** `readOnly()` in applications over HTTP: in a read-only session, what writes is refused, and what is allowed passes. */
import { createServer, type RequestListener } from 'node:http'
import { expect } from 'chai'
import express, { type ErrorRequestHandler } from 'express'
import Koa from 'koa'
import { type Listening, listen } from '../../../fixtures/listening.ts'
import { readOnly } from '../src/index.ts'
import { type Head, ODD, OVERRIDES, READS, send, WRITES } from './requests.ts'

/** What the session of the application has, by the header that names it. */
const SESSIONS: Readonly<Record<string, () => unknown>> = {
  none: () => undefined,
  'the customer': () => ({ sub: 'alice' }),
  'the customer, with false': () => ({ sub: 'alice', read_only: false }),
  'someone who may write': () => ({ sub: 'alice', act: { sub: 'bob' }, read_only: false }),
  'a promise of the customer': async () => ({ sub: 'alice' }),
  'read-only': () => ({ sub: 'alice', act: { sub: 'bob' }, read_only: true }),
  'a promise of read-only': async () => ({ sub: 'alice', read_only: true }),
  'read-only as text': () => ({ sub: 'alice', read_only: 'false' }),
  'read-only as null': () => ({ sub: 'alice', read_only: null }),
  'read-only as zero': () => ({ sub: 'alice', read_only: 0 }),
  'act alone': () => ({ sub: 'alice', act: { sub: 'bob' } }),
  'act as null': () => ({ sub: 'alice', act: null }),
  'no sub': () => ({ read_only: false }),
  'an empty sub': () => ({ sub: '' }),
  'a number as sub': () => ({ sub: 7 }),
  null: () => null,
  false: () => false,
  text: () => 'alice',
  array: () => [{ sub: 'alice' }],
  map: () => new Map([['sub', 'alice']]),
  'an error': () => {
    throw new Error('broken')
  },
  'a rejection without reason': () => Promise.reject(),
  'a rejection that Express takes for none': () => Promise.reject('route'),
  'a rejection that Koa takes for none': () => Promise.reject(null),
}
const WRITING = /^(none|.*customer.*|someone who may write)$/
const FAILING = /error|rejection/

/** What the application allows, by the path. */
const ALLOWS: Readonly<Record<string, () => unknown>> = {
  '/logout': () => true,
  '/truthy': () => 1,
  '/promise': async () => true,
  '/throws': () => {
    throw new Error('broken')
  },
}

interface Read {
  readonly headers: Record<string, unknown>
  readonly originalUrl: string
}
const guard = readOnly({
  claims: ({ headers }: Read) => SESSIONS[String(headers['x-session'])]?.(),
  allows: ({ originalUrl }) => ALLOWS[originalUrl]?.() as boolean,
})
const guardFetch = readOnly({
  claims: ({ headers }: Request) => SESSIONS[headers.get('x-session') ?? '']?.(),
  allows: ({ url }) => ALLOWS[new URL(url).pathname]?.() as boolean,
})

/** What stands before the guard may change the method. */
const methodOf = ({ method, headers }: { method?: string; headers: Record<string, unknown> }): string =>
  String(headers['x-rewritten'] ?? method)

function inExpress(): RequestListener {
  const app = express()
  app.use((request, _, next) => {
    request.method = methodOf(request)
    next()
  })
  app.use('/mounted', guard)
  app.use(guard)
  app.use((_, response) => void response.send('passed'))
  const fail: ErrorRequestHandler = (error: Error, _, response, __) =>
    void response.status(500).send(error.message)
  app.use(fail)
  return app
}

function inKoa(): RequestListener {
  const app = new Koa()
  app.on('error', () => {})
  app.use(async (ctx, next) => {
    ctx.method = methodOf(ctx)
    await next()
  })
  app.use(guard)
  app.use((ctx) => void Object.assign(ctx, { body: 'passed' }))
  return app.callback()
}

const inNode = (): RequestListener => (request, response) => {
  request.method = methodOf(request)
  const { headers, url: originalUrl = '' } = request
  const next = (error?: unknown) =>
    error === undefined ? response.end('passed') : response.writeHead(500).end(String(error))
  void guard({ method: request.method, headers, originalUrl }, response, next)
}

const inFetch = (): RequestListener => async (incoming, response) => {
  const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [
    name,
    String(value),
  ])
  const request = new Request(`http://app${incoming.url}`, { method: methodOf(incoming), headers })
  const answer = await guardFetch(request).catch(
    (error: Error) => new Response(error.message, { status: 500 }),
  )
  const { status, headers: answered } = answer ?? new Response()
  response.writeHead(status, Object.fromEntries(answered)).end((await answer?.text()) ?? 'passed')
}

type Row = readonly [head: Head, status: number]
const session = (name: string) => `X-Session: ${name}`
const READ_ONLY = session('read-only')
const rows: readonly Row[] = [
  ...READS.map((head): Row => [[...head, READ_ONLY], 200]),
  ...WRITES.map((head): Row => [[...head, READ_ONLY], 403]),
  ...OVERRIDES.map((header): Row => [['POST /', session('the customer'), header], 200]),
  [['GET /', READ_ONLY, 'X-Rewritten: DELETE'], 403],
  [['POST /', READ_ONLY, 'X-Rewritten: GET'], 200],
  ...Object.keys(SESSIONS).flatMap((name): Row[] => [
    [['GET /', session(name)], 200],
    [['POST /', session(name)], WRITING.test(name) ? 200 : FAILING.test(name) ? 500 : 403],
  ]),
  [['POST /logout', READ_ONLY], 200],
  [['GET /logout', READ_ONLY, 'Upgrade: websocket'], 200],
  [['POST /logout/', READ_ONLY], 403],
  [['POST /mounted/logout', READ_ONLY], 403],
  [['POST /logout', session('an error')], 500],
  [['POST /truthy', READ_ONLY], 403],
  [['POST /promise', READ_ONLY], 403],
  [['POST /throws', READ_ONLY], 500],
  [['POST /throws', session('the customer')], 200],
]
const BROWSER = 'text/html,application/xhtml+xml,*/*;q=0.8'
const ACCEPTED: readonly (readonly [title: string, headers: readonly string[], type: string])[] = [
  ['no Accept', [], 'application/problem+json'],
  ['any type', ['Accept: */*'], 'application/problem+json'],
  ['JSON', ['Accept: application/json'], 'application/problem+json'],
  ['what a browser sends', [`Accept: ${BROWSER}`], 'text/html; charset=utf-8'],
  ['capitals', ['ACCEPT: TEXT/HTML'], 'text/html; charset=utf-8'],
]

for (const [host, listener] of Object.entries({
  Express: inExpress,
  Koa: inKoa,
  'node:http': inNode,
  fetch: inFetch,
})) {
  describe(`read-only sessions: ${host}`, () => {
    let server: Listening
    before(async () => {
      server = await listen(createServer(listener()))
    })
    after(() => server.close())

    for (const [head, expected] of rows) {
      it(`${{ 200: 'passes', 403: 'refuses', 500: 'fails at' }[expected]} ${head.join(', ')}`, async () => {
        const { status, text, hasBody } = await send(server.baseUrl, head)
        expect(status, text).to.equal(expected)
        if (hasBody) expect(text.includes('passed'), text).to.equal(expected === 200)
      })
    }

    for (const [title, headers, type] of ACCEPTED) {
      it(`says why, for ${title}`, async () => {
        const { status, text } = await send(server.baseUrl, ['POST /', READ_ONLY], ...headers)
        expect(status).to.equal(403)
        expect(text.toLowerCase())
          .to.include(`content-type: ${type}\r\n`)
          .and.include('cache-control: no-store\r\n')
        if (type.startsWith('text')) expect(text).to.match(/<h1>Read only<\/h1>/)
        else expect(text).to.include('{"title":"Forbidden","status":403,"detail":"the session is read-only"}')
      })
    }
  })
}

describe('read-only sessions: the guard', () => {
  for (const [title, changes] of Object.entries(ODD)) {
    it(`refuses a request ${title}`, async () => {
      const statuses: number[] = []
      const response = { writeHead: (status: number) => ({ end: () => statuses.push(status) }) }
      const headers = { 'x-session': 'read-only', ...changes.headers }
      await guard({ originalUrl: '/', ...changes, headers }, response, () => expect.fail('passed'))
      expect(statuses).to.deep.equal([403])
    })
  }

  it('is called in one of its three ways', () => {
    const response = { writeHead: () => ({ end() {} }) }
    const node = { method: 'GET', originalUrl: '/', headers: {} }
    for (const given of [[], [node], [node, response], [node, () => {}], [new Request('http://x'), {}, {}]])
      expect(() => Reflect.apply(guard, undefined, given)).to.throw(TypeError)
  })

  it('has functions as options, and no others', () => {
    const claims = () => undefined
    for (const [options, message] of [
      [{}, 'option claims must be a function'],
      [{ claims: {} }, 'option claims must be a function'],
      [{ claims, allows: ['/logout'] }, 'option allows must be a function'],
      [{ claims, allow: claims }, 'unknown option: allow'],
    ] as const)
      expect(() => readOnly(options as never)).to.throw(TypeError, message)
  })
})
