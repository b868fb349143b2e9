/** How the management API reads a body (protocol.md §2.1, §2.4): media type, size, encoding, and parsers of the host. */
import { expect } from 'chai'
import type { Middleware } from 'koa'
import { API, type Deployment, startDeployment, withDeployment } from '../../fixtures/deployment.ts'
import { type HttpResponse, send } from '../../fixtures/http.ts'
import { idFrom, managementToken } from '../../fixtures/requests.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

type Body = NonNullable<RequestInit['body']>

const LIMIT = 64 * 1024
const VALID = '{"userId":"alice"}'
const padded = (bytes: number) => VALID.padEnd(bytes, ' ')

const NO_JSON = 'the body must be JSON'
const NO_OBJECT = 'the body must be a JSON object'
const NOT_READ = 'the body could not be read'
const OTHER_TYPE = 'the body must be application/json'
const OTHER_CHARSET = 'the body must be UTF-8'
const ENCODED = 'the body must not be encoded'
const TOO_LARGE = 'the body must not exceed 65536 bytes'
const BAD_CONTEXT = 'context must be a JSON object of at most 8192 bytes and 16 levels'

describe('management: the body', () => {
  let deployment: Deployment
  let token: string
  before(async () => {
    deployment = await startDeployment()
    token = await managementToken(deployment)
  })
  after(() => deployment.close())

  const post = (body: Body | null, headers: Record<string, string> = {}): Promise<HttpResponse> =>
    send(deployment.subjectTokens, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body,
      ...(body instanceof ReadableStream && { duplex: 'half' }),
    } as RequestInit)

  const inChunks = (text: string) =>
    new ReadableStream({
      start(controller) {
        const bytes = Buffer.from(text)
        for (let at = 0; at < bytes.length; at += 16_384) controller.enqueue(bytes.subarray(at, at + 16_384))
        controller.close()
      },
    })

  const expectError = (response: HttpResponse, status: number, error_description: string) => {
    expect([response.status, response.body], response.text).to.deep.equal([
      status,
      { error: 'invalid_request', error_description },
    ])
    expect(response.headers.get('cache-control')).to.equal('no-store')
    expect(response.headers.get('www-authenticate')).to.equal(null)
  }

  describe('of a media type', () => {
    for (const type of [
      'application/json',
      'Application/JSON',
      'application/json;charset=utf-8',
      'application/json ;charset=utf-8',
      'application/json; charset="UTF-8"',
    ]) {
      it(`${type} is accepted`, async () => {
        expect((await post(VALID, { 'content-type': type })).status).to.equal(201)
      })
    }

    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/jsonp',
      'application/vnd.api+json',
      'text/json',
      'application/json-patch+json',
      'application/json, text/plain',
      '*/*',
      'application/json; charset=utf-16',
      'application/json; charset=iso-8859-1',
      'application/json; charset=utf-7',
    ]) {
      it(`${type} is 415`, async () => {
        const sentence = type.startsWith('application/json; charset') ? OTHER_CHARSET : OTHER_TYPE
        expectError(await post(VALID, { 'content-type': type }), 415, sentence)
      })
    }

    it('that is not named is 415', async () => {
      const headers = { authorization: `Bearer ${token}` }
      const body = Buffer.from(VALID)
      expectError(await send(deployment.subjectTokens, { method: 'POST', headers, body }), 415, OTHER_TYPE)
    })

    it('without a body is 400', async () => expectError(await post(null), 400, NO_JSON))

    for (const encoding of ['gzip', 'deflate', 'br', 'x-unknown']) {
      it(`with content-encoding ${encoding} is 415`, async () =>
        expectError(await post(VALID, { 'content-encoding': encoding }), 415, ENCODED))
    }
  })

  describe('of a size', () => {
    it('of 64 KiB is accepted', async () => {
      expect((await post(padded(LIMIT))).status).to.equal(201)
    })

    it('of 64 KiB in chunks, without a length, is accepted', async () => {
      expect((await post(inChunks(padded(LIMIT)))).status).to.equal(201)
    })

    it('of 64 KiB and one byte is 413', async () =>
      expectError(await post(padded(LIMIT + 1)), 413, TOO_LARGE))

    it('of 64 KiB and one byte in chunks is 413', async () =>
      expectError(await post(inChunks(padded(LIMIT + 1))), 413, TOO_LARGE))

    it('of 1 MB is 413', async () => expectError(await post(padded(1024 * 1024)), 413, TOO_LARGE))

    it('of 1 MB leaves the service working', async () => {
      await post(padded(1024 * 1024))
      expect((await post(VALID)).status).to.equal(201)
    })
  })

  describe('that is not a JSON object', () => {
    const broken: [title: string, body: Body, sentence?: string][] = [
      ['nothing', ''],
      ['spaces', '   '],
      ['cut short', '{"userId":"alice"'],
      ['with an extra comma', '{"userId":"alice",}'],
      ['with single quotes', "{'userId':'alice'}"],
      ['with something after it', '{"userId":"alice"} x'],
      ['two objects', '{"userId":"alice"}{"userId":"bob"}'],
      ['with a comment', '{"userId":"alice"}//'],
      ['with NaN', '{"userId":"alice","expiresIn":NaN}'],
      ['invalid UTF-8', Buffer.from('{"userId":"al\xffice"}', 'latin1')],
      ['an overlong UTF-8 sequence', Buffer.from('{"userId":"\xc0\xaf"}', 'latin1')],
      ['a surrogate in UTF-8', Buffer.from('{"userId":"\xed\xa0\x80"}', 'latin1')],
      ['UTF-16', Buffer.from(VALID, 'utf16le')],
      ['a form', 'userId=alice'],
      ['an array', '[]', NO_OBJECT],
      ['an array of one object', `[${VALID}]`, NO_OBJECT],
      ['null', 'null', NO_OBJECT],
      ['a string', '"alice"', NO_OBJECT],
      ['a number', '7', NO_OBJECT],
      ['true', 'true', NO_OBJECT],
      ['50,000 open brackets', '['.repeat(50_000)],
      ['20,000 levels', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`, 'unknown member: a'],
    ]
    for (const [title, body, sentence = NO_JSON] of broken) {
      it(`is 400: ${title}`, async () => expectError(await post(body), 400, sentence))
    }
  })

  it('is checked after the credentials', async () => {
    const response = await post('broken', { authorization: 'Bearer forged' })
    expect(response.status).to.equal(401)
  })

  it('with a repeated member means the last one, as for JSON.parse', async () => {
    const response = await post('{"userId":"nobody","userId":"bob"}')
    const row = await createSubjectTokenStore(deployment.database.sequelize).find(
      deployment.issuer,
      idFrom(response),
    )
    expect(row?.userId).to.equal('bob')
  })

  describe('that a parser of the host has read', () => {
    const drained: (leave: (ctx: Parameters<Middleware>[0], text: string) => void) => Middleware =
      (leave) => async (ctx, next) => {
        if (!ctx.path.startsWith('/api')) return next()
        const chunks: Buffer[] = []
        for await (const chunk of ctx.req) chunks.push(chunk)
        leave(ctx, Buffer.concat(chunks).toString())
        await next()
      }
    const parsers: [title: string, parser: Middleware][] = [
      ['ctx.request.body', drained((ctx, text) => Object.assign(ctx.request, { body: JSON.parse(text) }))],
      ['ctx.request.body as text', drained((ctx, text) => Object.assign(ctx.request, { body: text }))],
      [
        'ctx.request.body as bytes',
        drained((ctx, text) => Object.assign(ctx.request, { body: Buffer.from(text) })),
      ],
      ['ctx.req.body', drained((ctx, text) => Object.assign(ctx.req, { body: JSON.parse(text) }))],
    ]
    for (const [title, parser] of parsers) {
      it(`is read from ${title}`, () =>
        withDeployment({ before: [parser] }, async (other) => {
          const bearer = await managementToken(other)
          const request = (body: object) =>
            send(other.subjectTokens, {
              method: 'POST',
              headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
              body: JSON.stringify(body),
            })
          const response = await request({ userId: 'alice', resource: API, context: { a: [1] } })
          expect(response.status, response.text).to.equal(201)
          expectError(await request({ userId: 'alice', user: 1 }), 400, 'unknown member: user')
          expectError(await request([{ userId: 'alice' }]), 400, NO_OBJECT)
          expectError(await request({ userId: 'alice', context: { a: 'x'.repeat(LIMIT) } }), 413, TOO_LARGE)
          // Deeper than JSON.stringify goes.
          const deep = `{"userId":"alice","context":{"a":${'['.repeat(15_000)}${']'.repeat(15_000)}}}`
          const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
          const refused = await send(other.subjectTokens, { method: 'POST', headers, body: deep })
          expectError(refused, 400, /text|bytes/.test(title) ? BAD_CONTEXT : NO_JSON)
        }))
    }

    it('is read where the host has the body from elsewhere, and nothing has read the request', () => {
      const given: Middleware = (ctx, next) => {
        if (ctx.path.startsWith('/api')) Object.assign(ctx.request, { body: { userId: 'carol' } })
        return next()
      }
      return withDeployment({ before: [given] }, async (other) => {
        const bearer = await managementToken(other)
        const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
        const response = await send(other.subjectTokens, { method: 'POST', headers, body: VALID })
        expect(response.status, response.text).to.equal(201)
        const store = createSubjectTokenStore(other.database.sequelize)
        expect(await store.find(other.issuer, idFrom(response))).to.include({ userId: 'carol' })
      })
    })

    describe('of a size', () => {
      const state: { left: unknown } = { left: undefined }
      let parsing: Deployment
      let bearer: string
      before(async () => {
        parsing = await startDeployment({
          before: [drained((ctx) => Object.assign(ctx.request, { body: state.left }))],
        })
        bearer = await managementToken(parsing)
      })
      after(() => parsing.close())

      const post = (left: unknown) => {
        state.left = left
        const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
        return send(parsing.subjectTokens, { method: 'POST', headers, body: VALID })
      }
      /** A request of so many bytes of JSON: a context that long is a bad field, where the body is not too large. */
      const parsed = (bytes: number) => {
        const empty = { userId: 'alice', context: { a: '' } }
        return { ...empty, context: { a: 'x'.repeat(bytes - JSON.stringify(empty).length) } }
      }

      it('counts text: 65,536 bytes are taken, one more is 413', async () => {
        expect((await post(padded(LIMIT))).status).to.equal(201)
        expectError(await post(padded(LIMIT + 1)), 413, TOO_LARGE)
      })

      it('counts the bytes of text, not its characters', async () => {
        const text = VALID.replace('alice', 'é'.repeat(LIMIT / 2))
        expect(text.length).to.be.below(LIMIT)
        expectError(await post(text), 413, TOO_LARGE)
      })

      it('counts bytes: 65,536 are taken, one more is 413', async () => {
        expect((await post(Buffer.from(padded(LIMIT)))).status).to.equal(201)
        expectError(await post(Buffer.from(padded(LIMIT + 1))), 413, TOO_LARGE)
      })

      it('counts what was parsed as it would be sent: only what takes more than 65,536 bytes is 413', async () => {
        const response = await post(parsed(LIMIT))
        expectError(response, 400, BAD_CONTEXT)
        expectError(await post(parsed(LIMIT + 1)), 413, TOO_LARGE)
      })
    })

    for (const [title, left, sentence] of [
      ['nothing', undefined, NOT_READ],
      ['an empty text', '', NO_JSON],
      ['broken JSON as text', '{', NO_JSON],
      ['null', null, NOT_READ],
      ['an array', [], NO_OBJECT],
      ['a number', 7, NO_OBJECT],
      ['a function', () => {}, NO_OBJECT],
    ] as const) {
      it(`is 400 when the parser left ${title}`, () =>
        withDeployment(
          { before: [drained((ctx) => Object.assign(ctx.request, { body: left }))] },
          async (other) => {
            const bearer = await managementToken(other)
            const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
            expectError(
              await send(other.subjectTokens, { method: 'POST', headers, body: VALID }),
              400,
              sentence,
            )
          },
        ))
    }
  })
})
