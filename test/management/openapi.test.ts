/** `openapi.json` against the API: the document is valid OpenAPI 3.1, and real responses match it. */
import { readFileSync } from 'node:fs'
import { Validator } from '@seriousme/openapi-schema-validator'
import { expect } from 'chai'
import { actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { API, type Deployment, OPAQUE_API } from '../../fixtures/deployment.ts'
import { onSqlite } from '../../fixtures/each-database.ts'
import type { HttpResponse } from '../../fixtures/http.ts'
import { acknowledge, manage, postRevocation, show } from '../../fixtures/management.ts'
import { description, type Json, readDescription } from '../../fixtures/openapi.ts'
import { exchange, issue, managementToken, postSubjectToken } from '../../fixtures/requests.ts'
import { newToken } from '../../fixtures/subject-tokens.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

const ALL = '/subject-tokens'
const ONE = '/subject-tokens/{id}'
const REVOCATIONS = '/subject-tokens/revocations'
const SUMMARY = '/subject-tokens/summary'
const ACKNOWLEDGEMENT = '/subject-tokens/{id}/acknowledgement'
const AN_ID = '0'.repeat(32)
const SAYS = { by: 'dora', note: 'a double click' }
const ROUTES: [method: string, route: string, path: string][] = [
  ['GET', ALL, ''],
  ['HEAD', ALL, ''],
  ['POST', ALL, ''],
  ['DELETE', ALL, '?userId=alice'],
  ['GET', ONE, `/${AN_ID}`],
  ['HEAD', ONE, `/${AN_ID}`],
  ['DELETE', ONE, `/${AN_ID}`],
  ['POST', REVOCATIONS, '/revocations'],
  ['POST', ACKNOWLEDGEMENT, `/${AN_ID}/acknowledgement`],
  ['GET', SUMMARY, '/summary'],
  ['HEAD', SUMMARY, '/summary'],
]

/** HEAD is described by GET. */
const DESCRIBED = ROUTES.filter(([method]) => method !== 'HEAD')

const PARAMETERS = [
  ...['userId', 'actorId', 'clientId', 'createdBy', 'state', 'live', 'replayed', 'withoutActor'],
  ...['createdAfter', 'createdBefore', 'limit', 'cursor', 'days', 'id', 'unknown'],
  ...['jti', 'ticketId', 'unacknowledged'],
]

/** Fails on every access. */
const BROKEN = new Proxy(
  {},
  {
    get(_target, name) {
      if (name === 'then') return undefined
      throw new Error('broken')
    },
  },
)

const { document, faultsOf, schemaFaults } = description()

function expectDescribed(method: string, route: string, response: HttpResponse, status: number): void {
  expect(response.status, response.text).to.equal(status)
  expect(faultsOf(method, route, response), `${method} ${route} ${status}: ${response.text}`).to.deep.equal(
    [],
  )
}

function* schemasOf(value: Json, place = '#'): Generator<[place: string, schema: Json]> {
  if (typeof value !== 'object' || value === null) return
  if (value.type === 'object') yield [place, value]
  for (const [key, member] of Object.entries(value)) yield* schemasOf(member, `${place}/${key}`)
}

describe('openapi.json', () => {
  it('is valid OpenAPI 3.1', async () => {
    const validator = new Validator()
    expect(await validator.validate(readDescription())).to.deep.equal({ valid: true })
    expect(validator.version).to.equal('3.1')
    const broken = readDescription()
    delete broken.paths[ALL].get.responses
    broken.paths[ALL].get.parameters[0] = { name: 'userId' }
    expect((await new Validator().validate(broken)).valid).to.equal(false)
  })

  it('has the version of the package', () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
    expect(document.info.version).to.equal(version)
  })

  it('describes just the routes of protocol.md §2, each with its scope, and that status lists are public', () => {
    const found = Object.entries<Json>(document.paths).flatMap(([route, item]) =>
      Object.entries<Json>(item).flatMap(([method, operation]) =>
        operation.operationId && operation.security.length > 0
          ? [[method.toUpperCase(), route, operation.security[0].managementToken[0]]]
          : [],
      ),
    )
    const lists = document.paths['/status-lists/{m}']
    expect(lists.get.security).to.deep.equal([])
    const scopeOf = (method: string, route: string) =>
      [REVOCATIONS, ACKNOWLEDGEMENT].includes(route)
        ? 'revoke'
        : ({ POST: 'create', DELETE: 'revoke' }[method] ?? 'read')
    expect(found).to.have.deep.members(
      DESCRIBED.map(([method, route]) => [method, route, `subject-tokens:${scopeOf(method, route)}`]),
    )
  })

  it('leaves no object open but the context and the request of an exchange', () => {
    const open = [...schemasOf(document)].filter(([, schema]) => schema.additionalProperties !== false)
    expect(open.map(([place]) => place.split('/').at(-1))).to.deep.equal(['Context', 'TokenExchangeRequest'])
  })

  it('has examples that match it', () => {
    let examined = 0
    const visit = (value: Json, pointer: string) => {
      if (typeof value !== 'object' || value === null) return
      for (const { value: example } of Object.values<Json>((value.schema && value.examples) ?? {})) {
        examined += 1
        expect(schemaFaults(`${pointer}/schema`, example), pointer).to.deep.equal([])
      }
      for (const example of Array.isArray(value.examples) ? value.examples : []) {
        examined += 1
        expect(schemaFaults(pointer, example), pointer).to.deep.equal([])
      }
      if (value.example !== undefined) {
        examined += 1
        expect(schemaFaults(`${pointer}/schema`, value.example), pointer).to.deep.equal([])
      }
      for (const [key, member] of Object.entries(value)) {
        if (key !== 'examples') visit(member, `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`)
      }
    }
    visit(document, '#')
    expect(examined).to.be.greaterThan(25)
  })

  const bodies: [body: Json, taken: boolean][] = [
    [{ userId: 'alice' }, true],
    [{ userId: 'alice', context: { a: { b: [1, null] } }, scope: 'a b a', expiresIn: 3600 }, true],
    [{ userId: '🎫'.repeat(255), actorId: 'bob', clientId: ' ', resource: 'urn:a:b' }, true],
    [{}, false],
    [{ userId: '' }, false],
    [{ userId: '🎫'.repeat(256) }, false],
    [{ userId: 7 }, false],
    [{ userId: 'alice\0' }, false],
    [{ userId: 'alice', unknown: 1 }, false],
    [{ userId: 'alice', context: [] }, false],
    [{ userId: 'alice', scope: 'a  b' }, false],
    [{ userId: 'alice', scope: '' }, false],
    [{ userId: 'alice', resource: '/relative' }, false],
    [{ userId: 'alice', resource: `${API}#fragment` }, false],
    [{ userId: 'alice', expiresIn: 0 }, false],
    [{ userId: 'alice', expiresIn: 1.5 }, false],
    [{ userId: 'alice', expiresIn: '60' }, false],
    [{ userId: 'alice', clientId: null }, false],
    [{ userId: 'alice', use: 'exchange' }, true],
    [{ userId: 'alice', use: 'session' }, false],
    [{ userId: 'alice', use: 'sessions' }, false],
    [{ userId: 'alice', resource: [API] }, true],
    [
      {
        userId: 'alice',
        resource: [`urn:${'a'.repeat(251)}`, ...'bcdefgh'].map((one) => `urn:x:${one}`.slice(0, 255)),
      },
      true,
    ],
    [{ userId: 'alice', resource: [] }, false],
    [{ userId: 'alice', resource: [...'abcdefghi'].map((one) => `urn:x:${one}`) }, false],
    [{ userId: 'alice', resource: [API, API] }, false],
    [{ userId: 'alice', resource: [`urn:${'a'.repeat(252)}`] }, false],
    [{ userId: 'alice', resource: [API, '/relative'] }, false],
  ]

  const revocations: [body: Json, taken: boolean][] = [
    [{ id: AN_ID }, true],
    [{ userId: 'dave', by: '🎫'.repeat(255), reason: '🎫'.repeat(1000) }, true],
    [{ actorId: 'dave', reason: ' x ' }, true],
    [{ createdBy: 'dave' }, true],
    [{}, false],
    [{ by: 'dora' }, false],
    [{ userId: 'dave', actorId: 'dave' }, false],
    [{ userId: '' }, false],
    [{ userId: 'dave', by: '' }, false],
    [{ userId: 'dave', reason: ' ' }, false],
    [{ userId: 'dave', reason: '🎫'.repeat(1001) }, false],
    [{ userId: 'dave', reason: 'x\0' }, false],
    [{ userId: 'dave', cause: 'api' }, false],
    [{ id: AN_ID, cause: 'self' }, true],
    [{ id: AN_ID, cause: 'continued', continuedBy: AN_ID }, true],
    [{ id: AN_ID, cause: 'api' }, false],
    [{ id: AN_ID, cause: 'continued' }, false],
    [{ id: AN_ID, cause: 'self', continuedBy: AN_ID }, false],
    [{ id: AN_ID, continuedBy: AN_ID }, false],
    [{ userId: 'dave', cause: 'self' }, false],
    [{ createdBy: 'dave', cause: 'continued', continuedBy: AN_ID }, false],
  ]

  onSqlite({ options: { maxDelegationDepth: 2 } }, (on) => {
    it('accepts and refuses the same bodies as the API', async () => {
      for (const [body, taken] of bodies) {
        const pointer = `#/paths/~1subject-tokens/post/requestBody/content/application~1json/schema`
        expect(schemaFaults(pointer, body).length === 0, JSON.stringify(body)).to.equal(taken)
        const { status, text } = await postSubjectToken(on.deployment, body)
        expect(status, text).to.be.oneOf(taken ? [201, 404] : [400])
      }
    })

    it('describes bodies of sessions, which this deployment does not have', () => {
      const session = { userId: 'alice', use: 'session', actorId: 'bob', clientId: 'shop' }
      const { actorId: _, ...withoutActor } = session
      const { clientId: __, ...withoutClient } = session
      const pointer = `#/paths/~1subject-tokens/post/requestBody/content/application~1json/schema`
      expect(schemaFaults(pointer, session)).to.deep.equal([])
      for (const body of [withoutActor, withoutClient, { ...session, resource: API }])
        expect(schemaFaults(pointer, body)).not.to.deep.equal([])
    })

    it('would not let a wrong response pass', async () => {
      const { opaque } = await outcomes(on.deployment)
      const real = await manage(on.deployment, 'GET', `/${opaque.id}`)
      expectDescribed('GET', ONE, real, 200)
      const item = real.body
      const without = (name: string) =>
        Object.fromEntries(Object.entries(item).filter(([key]) => key !== name))
      const wrong: Json[] = [
        ...['id', 'userId', 'context', 'createdBy', 'createdAt', 'state', 'usedBy', 'accessToken'].map(
          without,
        ),
        { ...item, subjectToken: opaque.subjectToken },
        { ...item, tokenHash: 'x' },
        { ...item, accessToken: { ...item.accessToken, grantId: 'x' } },
        { ...item, actor: { ...item.actor, exp: 1 } },
        { ...item, actor: { ...item.actor, act: { name: 'x' } } },
        { ...item, id: opaque.subjectToken },
        { ...item, createdAt: new Date().toISOString() },
        { ...item, createdAt: 1.5 },
        { ...item, consumedAt: null },
        { ...item, state: 'active' },
        { ...item, state: 'revoked' },
        { ...item, state: 'used' },
        { ...item, revokedAt: 1 },
        { ...item, revokedAt: 1, revocation: { cause: 'other' }, state: 'revoked' },
        { ...item, revokedAt: 1, state: 'revoked' },
        { ...item, replay: { at: 1 } },
        { ...item, scope: ['a'] },
        { ...item, ceiling: {} },
        { ...item, ceiling: { userId: 'alice' } },
        { ...item, use: 'exchange' },
        { ...item, use: 'session' },
        { ...item, session: { endsAt: 1, logout: 'pending' } },
        { ...item, acknowledged: [] },
        { ...item, acknowledged: [{ at: 1, by: 'dora' }] },
        { ...item, acknowledged: [{ at: 1, ...SAYS, coversReplay: true }] },
        { ...item, context: 'x' },
        [item],
        null,
      ]
      for (const body of wrong) {
        const faults = faultsOf('GET', ONE, { ...real, text: JSON.stringify(body) })
        expect(faults, JSON.stringify(body)).not.to.deep.equal([])
      }
      const headers = (changes: Readonly<Record<string, string>>) =>
        new Headers({ ...Object.fromEntries(real.headers), ...changes })
      const responses: [
        method: string,
        route: string,
        response: Pick<HttpResponse, 'status' | 'headers' | 'text'>,
      ][] = [
        ['GET', ONE, { ...real, status: 201 }],
        ['GET', ONE, { ...real, status: 302 }],
        ['DELETE', ONE, { ...real, status: 204 }],
        ['GET', ALL, real],
        ['GET', ONE, { ...real, headers: headers({ 'cache-control': 'public' }) }],
        ['GET', ONE, { ...real, headers: headers({ 'content-type': 'text/html' }) }],
        ['GET', ONE, { ...real, headers: headers({ location: '/' }) }],
        [
          'GET',
          ONE,
          { ...real, headers: new Headers({ 'content-type': 'application/json; charset=utf-8' }) },
        ],
        ['GET', ONE, { ...(await manage(on.deployment, 'GET', '/x')), status: 401 }],
        ['POST', ALL, { ...(await postSubjectToken(on.deployment, { userId: 'alice' })), status: 200 }],
      ]
      for (const [method, route, response] of responses) {
        expect(faultsOf(method, route, response), `${method} ${response.status}`).not.to.deep.equal([])
      }
    })

    const outcomes = async (deployment: Deployment) => {
      const [active, jwt, opaque, expired] = [
        await issue(deployment, {
          actorId: 'bob',
          clientId: 'spa',
          resource: API,
          scope: 'a b',
          context: { a: [1] },
        }),
        await issue(deployment),
        await issue(deployment, { actorId: 'bob' }),
        newToken({ issuer: deployment.issuer, expiresAt: 1 }),
      ]
      await createSubjectTokenStore(on.database.sequelize).insert(expired)
      await exchange(deployment, { subject_token: jwt.subjectToken, scope: 'orders:read' })
      const actor = withActor(await actorToken(deployment))
      await exchange(deployment, { subject_token: opaque.subjectToken, resource: OPAQUE_API, ...actor })
      return { active, jwt, opaque, expired }
    }

    it('describes every success', async () => {
      const { deployment } = on
      expectDescribed('POST', ALL, await postSubjectToken(deployment, { userId: 'alice' }), 201)
      const tokens = Object.values(await outcomes(deployment))
      const states: string[] = []
      const showAll = async () => {
        for (const { id } of tokens) {
          const response = await manage(deployment, 'GET', `/${id}`)
          expectDescribed('GET', ONE, response, 200)
          expectDescribed('HEAD', ONE, await manage(deployment, 'HEAD', `/${id}`), 200)
          states.push(response.body.state)
        }
        expectDescribed('GET', ALL, await manage(deployment, 'GET'), 200)
        expectDescribed(
          'GET',
          ALL,
          await manage(deployment, 'GET', '?limit=1&userId=alice&createdBy=backend&state=active'),
          200,
        )
        expectDescribed('HEAD', ALL, await manage(deployment, 'HEAD'), 200)
      }
      await showAll()
      expectDescribed('DELETE', ONE, await manage(deployment, 'DELETE', `/${tokens[0]?.id}`), 204)
      expectDescribed('DELETE', ONE, await manage(deployment, 'DELETE', `/${tokens[0]?.id}`), 204)
      expectDescribed('DELETE', ALL, await manage(deployment, 'DELETE', '?userId=alice'), 200)
      expectDescribed('DELETE', ALL, await manage(deployment, 'DELETE', '?actorId=nobody'), 200)
      expectDescribed('DELETE', ALL, await manage(deployment, 'DELETE', '?createdBy=backend'), 200)
      const { id } = await issue(deployment)
      const why = { by: 'dora', reason: 'a test' }
      expectDescribed('GET', SUMMARY, await manage(deployment, 'GET', '/summary?days=90'), 200)
      expectDescribed('HEAD', SUMMARY, await manage(deployment, 'HEAD', '/summary'), 200)
      expectDescribed('POST', REVOCATIONS, await postRevocation(deployment, { id, ...why }), 200)
      expectDescribed('POST', REVOCATIONS, await postRevocation(deployment, { userId: 'alice' }), 200)
      await showAll()
      expectDescribed('GET', ONE, await manage(deployment, 'GET', `/${id}`), 200)
      expect(new Set(states)).to.deep.equal(new Set(['active', 'consumed', 'expired', 'revoked']))
    })

    for (const [method, route, path] of ROUTES) {
      it(`describes the errors of ${method} ${route}`, async () => {
        const { deployment } = on
        const send = (scope?: string, token?: string | null, query = '') =>
          manage(deployment, method, `${path}${query}`, {
            scope,
            token,
            headers: method === 'POST' ? { 'content-type': 'application/json' } : {},
          })
        expectDescribed(method, route, await send(undefined, null), 401)
        expectDescribed(method, route, await send(undefined, 'x'), 401)
        const lacking = method === 'POST' ? 'subject-tokens:read' : 'subject-tokens:create'
        expectDescribed(method, route, await send(lacking), 403)
        if (method !== 'POST') {
          const query = path.includes('?') ? '&x=1' : '?x=1'
          expectDescribed(method, route, await send(undefined, undefined, query), 400)
        }
        if (route === ONE) expectDescribed(method, route, await send(), 404)
      })
    }

    it('describes the query parameters that the API accepts, and no others', async () => {
      const token = await managementToken(on.deployment)
      for (const [method, route] of [
        ['get', ALL],
        ['head', ALL],
        ['delete', ALL],
        ['get', ONE],
        ['delete', ONE],
        ['get', SUMMARY],
        ['head', SUMMARY],
      ] as const) {
        const { parameters = [] } = document.paths[route][method === 'head' ? 'get' : method]
        const described = parameters.map(
          ({ $ref }: Json) => document.components.parameters[$ref.split('/').at(-1)].name,
        )
        for (const name of PARAMETERS) {
          const path = ROUTES.find(([, described]) => described === route)?.[2].replace(/\?.*/, '')
          const query = `${path}?${name}=`
          const { text, status } = await manage(on.deployment, method.toUpperCase(), query, { token })
          expect(status).to.equal(400)
          // A HEAD response has no body that says why.
          if (method !== 'head')
            expect(text.includes(`"unknown parameter: ${name}"`), `${method} ${query}`).to.equal(
              !described.includes(name),
            )
        }
      }
    })

    it('describes the other errors of POST', async () => {
      const { deployment } = on
      const token = await managementToken(deployment)
      const post = (body: unknown) => postSubjectToken(deployment, body, token)
      expectDescribed('POST', ALL, await post('{'), 400)
      expectDescribed('POST', ALL, await post({ userId: 'alice', x: 1 }), 400)
      expectDescribed('POST', ALL, await post({ userId: 'nobody' }), 404)
      expectDescribed('POST', ALL, await post({ userId: 'alice', actorId: 'alice' }), 403)
      expectDescribed('POST', ALL, await post(' '.repeat(65_537)), 413)
      expectDescribed('POST', ALL, await manage(deployment, 'POST', '', { token }), 415)
    })

    it('describes the other errors of a revocation, and accepts and refuses the same bodies as the API', async () => {
      const { deployment } = on
      const token = await managementToken(deployment)
      const post = (body: unknown) => postRevocation(deployment, body, { token })
      for (const id of [AN_ID, 'x']) expectDescribed('POST', REVOCATIONS, await post({ id }), 404)
      expectDescribed('POST', REVOCATIONS, await post(' '.repeat(65_537)), 413)
      expectDescribed('POST', REVOCATIONS, await manage(deployment, 'POST', '/revocations', { token }), 415)
      const pointer = `#/paths/~1subject-tokens~1revocations/post/requestBody/content/application~1json/schema`
      for (const [body, taken] of revocations) {
        expect(schemaFaults(pointer, body).length === 0, JSON.stringify(body)).to.equal(taken)
        const response = await post(body)
        expect(response.status, response.text).to.be.oneOf(taken ? [200, 404] : [400])
        expectDescribed('POST', REVOCATIONS, response, response.status)
      }
    })

    it('describes what was stopped with another cause, what could not be, and more than one resource', async () => {
      const deployment = await on.start({ options: { statusList: false } })
      const used = async () => {
        const { id, subjectToken } = await issue(deployment, { resource: [API, OPAQUE_API], scope: 'a b' })
        await exchange(deployment, { subject_token: subjectToken })
        return id
      }
      const [first, second] = [await used(), await used()]
      const shown = async (id: string) => {
        const response = await show(deployment, id)
        expectDescribed('GET', ONE, response, 200)
        return response.body
      }
      const resource = [API, OPAQUE_API]
      expect((await shown((await issue(deployment, { resource })).id)).resource).to.deep.equal(resource)
      expect((await shown(first)).ceiling).to.deep.equal({ resource, scope: 'a b' })
      const continued = { id: first, cause: 'continued', continuedBy: second }
      const stopped = await postRevocation(deployment, continued)
      expectDescribed('POST', REVOCATIONS, stopped, 200)
      expect(stopped.body).to.deep.equal({ revoked: 1, kept: 1 })
      expectDescribed(
        'POST',
        REVOCATIONS,
        await postRevocation(deployment, { id: second, cause: 'self' }),
        200,
      )
      expect((await shown(first)).revocation).to.include({ continuedBy: second, ended: 'kept' })
      expect((await shown(second)).revocation).to.include({ cause: 'self', ended: 'kept' })
    })

    it('describes an acknowledgement, its other errors, and the record afterwards', async () => {
      const { deployment } = on
      const token = await managementToken(deployment)
      const { id, subjectToken } = await issue(deployment)
      const post = (body: unknown) => acknowledge(deployment, id, body, { token })
      const expectStatus = async (body: unknown, status: number) =>
        expectDescribed('POST', ACKNOWLEDGEMENT, await post(body), status)
      await expectStatus(SAYS, 409)
      await exchange(deployment, { subject_token: subjectToken })
      await exchange(deployment, { subject_token: subjectToken })
      await expectStatus({ ...SAYS, replayedAt: null }, 409)
      await expectStatus(SAYS, 204)
      await expectStatus(' '.repeat(65_537), 413)
      await expectStatus({ by: 'dora' }, 400)
      expectDescribed('POST', ACKNOWLEDGEMENT, await acknowledge(deployment, 'x', SAYS, { token }), 404)
      const path = `/${id}/acknowledgement`
      expectDescribed('POST', ACKNOWLEDGEMENT, await manage(deployment, 'POST', path, { token }), 415)
      const record = await show(deployment, id)
      expectDescribed('GET', ONE, record, 200)
      expect(record.body.acknowledged).to.have.length(1)
    })

    it('describes methods that are not offered', async () => {
      for (const [method, route, path] of [
        ['PUT', ALL, ''],
        ['PATCH', ALL, ''],
        ['POST', ONE, `/${AN_ID}`],
        ['PUT', ONE, `/${AN_ID}`],
        ['DELETE', REVOCATIONS, '/revocations'],
        ['GET', ACKNOWLEDGEMENT, `/${AN_ID}/acknowledgement`],
        ['POST', SUMMARY, '/summary'],
      ] as const) {
        expectDescribed(method, route, await manage(on.deployment, method, path), 405)
      }
    })

    it('describes an outage and a failure of every route', async () => {
      const real = createSubjectTokenStore(on.database.sequelize)
      const state = { fail: (): unknown => undefined }
      const broken = async () => state.fail() as never
      const breaking = async function* () {
        yield await broken()
      }
      const deployment = await on.start({
        options: {
          store: {
            ...real,
            find: broken,
            acknowledge: broken,
            report: broken,
            list: broken,
            revoke: broken,
            revokeWhere: breaking,
            summarize: breaking,
            countLive: breaking,
            insert: broken,
          },
          isAllowed: () => state.fail() as boolean,
        },
      })
      const send = (method: string, path: string) => {
        if (method !== 'POST') return manage(deployment, method, path)
        if (path === '') return postSubjectToken(deployment, { userId: 'alice' })
        if (path.endsWith('/acknowledgement')) return acknowledge(deployment, AN_ID, SAYS)
        return postRevocation(deployment, { userId: 'alice' })
      }
      for (const [method, route, path] of ROUTES) {
        state.fail = () => Promise.reject(new Error('down'))
        // At issuance it is the policy that fails first.
        const issuing = method === 'POST' && route === ALL
        expectDescribed(method, route, await send(method, path), issuing ? 500 : 503)
        state.fail = () => BROKEN
        if (!issuing) expectDescribed(method, route, await send(method, path), 500)
      }
    })
  })
})
