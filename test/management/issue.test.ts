/** `POST /api/subject-tokens` (protocol.md §2.1): what it returns, and what it accepts. */
import { createHash } from 'node:crypto'
import { request } from 'node:http'
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { now, stopClock } from '../../fixtures/clock.ts'
import { DATABASES } from '../../fixtures/databases.ts'
import {
  API,
  type Deployment,
  OPAQUE_API,
  startDeployment,
  withDeployment,
} from '../../fixtures/deployment.ts'
import { send } from '../../fixtures/http.ts'
import { show } from '../../fixtures/management.ts'
import { beforeOn } from '../../fixtures/on-database.ts'
import { exchange, idFrom, issue, managementToken, postSubjectToken } from '../../fixtures/requests.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { secondOf } from '../../src/subject-tokens/id.ts'
import { createMemoryStore } from '../../src/testing/memory-store.ts'

const ASTRAL = '🎫'
const url = (length: number) =>
  `https://api.example.com/${'a'.repeat(length - 'https://api.example.com/'.length)}`
const nested = (levels: number): object => (levels === 1 ? {} : { a: nested(levels - 1) })
const eight = Array.from({ length: 8 }, (_, index) => `urn:example:${index}`)
/** A context whose serialization has exactly this many bytes. */
const contextOf = (bytes: number) => ({ a: 'x'.repeat(bytes - '{"a":""}'.length) })

describe('management: POST /subject-tokens', () => {
  let deployment: Deployment
  let token: string
  before(async () => {
    deployment = await startDeployment()
    token = await managementToken(deployment)
  })
  after(() => deployment.close())

  const post = (body: unknown) => postSubjectToken(deployment, body, token)
  const rowOf = (id: string) =>
    createSubjectTokenStore(deployment.database.sequelize).find(deployment.issuer, id)

  describe('the response', () => {
    it('has exactly the members subjectToken and expiresIn, 600 seconds by default', async () => {
      const response = await post({ userId: 'alice' })
      expect(response.status, response.text).to.equal(201)
      expect(response.body).to.have.all.keys('subjectToken', 'expiresIn')
      expect(response.body.expiresIn).to.equal(600)
      expect(response.body.subjectToken).to.match(/^sub_[A-Za-z0-9_-]{65}$/)
    })

    it('is kept out of caches', async () => {
      expect((await post({ userId: 'alice' })).headers.get('cache-control')).to.equal('no-store')
    })

    it('names the new token by its public id, whose bytes are the first 22 characters of the token', async () => {
      const response = await post({ userId: 'alice' })
      const location = response.headers.get('location') ?? ''
      expect(location).to.match(new RegExp(`^${deployment.baseUrl}/api/subject-tokens/[0-9a-f]{32}$`))
      const selector = Buffer.from(idFrom(response), 'hex').toString('base64url')
      expect(response.body.subjectToken.slice(4, 26)).to.equal(selector)
      expect((await rowOf(idFrom(response)))?.userId).to.equal('alice')
    })

    it('builds Location from the management resource, never from the Host header', async () => {
      const location = await new Promise<string | undefined>((resolve, reject) => {
        const headers = {
          host: 'evil.example.com',
          'x-forwarded-host': 'evil.example.com',
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
        }
        const client = request(deployment.subjectTokens, { method: 'POST', headers }, (response) => {
          response.resume()
          resolve(response.headers.location)
        })
        client.on('error', reject).end('{"userId":"alice"}')
      })
      expect(location).to.match(new RegExp(`^${deployment.baseUrl}/api/subject-tokens/`))
    })

    it('builds Location from the option managementResource, without a doubled slash', () =>
      withDeployment(
        { options: { managementResource: 'https://id.example.com/management/' } },
        async (other) => {
          const bearer = await managementToken(other, { resource: 'https://id.example.com/management/' })
          const response = await postSubjectToken(other, { userId: 'alice' }, bearer)
          expect(response.headers.get('location')).to.match(
            /^https:\/\/id\.example\.com\/management\/subject-tokens\/[0-9a-f]{32}$/,
          )
        },
      ))

    it('alone has the token: the store is given the SHA-256 of its whole text, prefix included', async () => {
      const store = createMemoryStore()
      const inserted: Parameters<typeof store.insert>[] = []
      const insert: typeof store.insert = (...given) => {
        inserted.push(given)
        return store.insert(...given)
      }
      await withDeployment({ options: { store: { ...store, insert } } }, async (other) => {
        const { subjectToken } = await issue(other)
        const [[token] = []] = inserted
        expect(token?.tokenHash).to.equal(createHash('sha256').update(subjectToken).digest('base64url'))
        expect(JSON.stringify(inserted)).not.to.include(subjectToken)
      })
    })

    it('never repeats a token or an id, and ids sort by creation', async () => {
      const issued = []
      for (let index = 0; index < 20; index += 1) issued.push(await issue(deployment))
      expect(new Set(issued.map(({ subjectToken }) => subjectToken))).to.have.lengthOf(20)
      const ids = issued.map(({ id }) => id)
      expect(ids).to.deep.equal([...new Set(ids)].sort())
    })
  })

  describe('a token with everything', () => {
    it('is stored as requested', async () => {
      const context = { ticketId: 'T-1', reason: 'help' }
      const { id } = await issue(deployment, {
        context,
        clientId: 'spa',
        actorId: 'bob',
        resource: API,
        scope: 'orders:write orders:read',
        expiresIn: 60,
      })
      const row = await rowOf(id)
      expect(row).to.deep.include({
        id,
        issuer: deployment.issuer,
        userId: 'alice',
        context,
        createdBy: 'backend',
        clientId: 'spa',
        actorId: 'bob',
        resource: API,
        scope: 'orders:write orders:read',
      })
      expect(row?.createdAt).to.be.closeTo(now(), 2)
      expect(row?.expiresAt).to.equal((row?.createdAt ?? 0) + 60)
      expect(row).not.to.have.any.keys('use', 'revokedAt')
    })

    it('can be exchanged within its constraints', async () => {
      const constraints = { clientId: 'spa', actorId: 'bob', resource: API, scope: 'orders:read' }
      const { subjectToken } = await issue(deployment, constraints)
      const actor = withActor(await actorToken(deployment))
      const parameters = { subject_token: subjectToken, scope: 'orders:read orders:write', ...actor }
      const response = await exchange(deployment, parameters)
      expect(response.status, response.text).to.equal(200)
      expect(response.body.scope).to.equal('orders:read')
    })

    it('accepts an unknown resource, because it is compared at the exchange', async () => {
      await issue(deployment, { resource: 'urn:unknown:resource' })
    })
  })

  describe('userId', () => {
    it('is stored, and issued as sub, under the accountId that findAccount returns', async () => {
      const { subjectToken, id } = await issue(deployment, { userId: 'alias:alice' })
      expect((await rowOf(id))?.userId).to.equal('alice')
      const { body } = await exchange(deployment, { subject_token: subjectToken })
      expect(decodeJwt(body.access_token).sub).to.equal('alice')
    })

    it('of no account is 404 not_found', async () => {
      const response = await post({ userId: 'nobody' })
      expect([response.status, response.body.error]).to.deep.equal([404, 'not_found'])
    })

    it('of 255 characters beyond the basic plane is looked up, and of 256 is not', async () => {
      const looked: string[] = []
      const configuration = {
        findAccount: async (_ctx: unknown, id: string) => {
          looked.push(id)
          return { accountId: 'alice', claims: () => ({ sub: 'alice' }) }
        },
      }
      await withDeployment({ configuration }, async (other) => {
        const bearer = await managementToken(other)
        expect((await postSubjectToken(other, { userId: ASTRAL.repeat(255) }, bearer)).status).to.equal(201)
        expect((await postSubjectToken(other, { userId: ASTRAL.repeat(256) }, bearer)).status).to.equal(400)
        expect(looked).to.deep.equal([ASTRAL.repeat(255)])
      })
    })
  })

  const accepted: [title: string, changes: Record<string, unknown>][] = [
    ['an actorId of one character', { actorId: 'b' }],
    ['an actorId of 255 characters', { actorId: 'b'.repeat(255) }],
    ['an actorId of spaces and quotes', { actorId: ` '";-- ` }],
    ['a resource of 255 characters', { resource: url(255) }],
    ['a URN as resource', { resource: 'urn:example:orders' }],
    ['a resource with a query', { resource: `${API}/?tenant=1` }],
    ['a list of one resource', { resource: [API] }],
    ['a list of eight resources, in their order', { resource: eight.toReversed() }],
    ['a list of the longest resources', { resource: [url(255), url(254)] }],
    ['one scope name', { scope: 'a' }],
    ['a scope of 255 characters', { scope: 'a'.repeat(255) }],
    ['a life of one second', { expiresIn: 1 }],
    ['the longest life', { expiresIn: 3600 }],
    ['an empty context', { context: {} }],
    ['a context of 8 KiB', { context: contextOf(8192) }],
    ['a context of 8 KiB in two-byte characters', { context: { a: 'é'.repeat((8192 - 8) / 2) } }],
    ['a context of 16 levels', { context: nested(16) }],
    ['a context of 16 levels, arrays among them', { context: { a: [[[[[[[[[[[[[[[1]]]]]]]]]]]]]]] } }],
    ['a context with members that are also names of this API', { context: { userId: 'x', scope: 1 } }],
  ]
  for (const [title, changes] of accepted) {
    it(`accepts ${title}`, async () => {
      const { id } = await issue(deployment, changes)
      expect(await rowOf(id)).to.deep.include(
        Object.fromEntries(Object.entries(changes).filter(([name]) => name !== 'expiresIn')),
      )
    })
  }

  for (const scope of ['orders:read orders:read', 'orders:read orders:read orders:read']) {
    it(`accepts repeated names in ${JSON.stringify(scope)}, and keeps each once`, async () => {
      const { id, subjectToken } = await issue(deployment, { scope })
      expect((await show(deployment, id)).body.scope).to.equal('orders:read')
      const { body } = await exchange(deployment, { subject_token: subjectToken, scope: 'orders:read' })
      expect(body.scope).to.equal('orders:read')
    })
  }

  it('accepts the use exchange, which is the default and not shown', async () => {
    const { id } = await issue(deployment, { use: 'exchange' })
    expect(await rowOf(id)).to.include({ purpose: 'exchange' })
    expect((await show(deployment, id)).body).not.to.have.property('use')
  })

  it('shows a list of resources as it was sent, and takes one of them at the exchange', async () => {
    const resource = [OPAQUE_API, API]
    const { id, subjectToken } = await issue(deployment, { resource })
    expect((await show(deployment, id)).body.resource).to.deep.equal(resource)
    const event = deployment.events.findLast(({ name }) => name === 'subject_token.issued')
    expect(event?.payload).to.deep.include({ id, resource })
    expect((await exchange(deployment, { subject_token: subjectToken })).status).to.equal(200)
    expect((await show(deployment, id)).body).to.deep.include({ resource: API, ceiling: { resource } })
  })

  it('returns the requested life', async () => {
    expect((await post({ userId: 'alice', expiresIn: 61 })).body.expiresIn).to.equal(61)
  })

  it('is created in the second of its id, and lives no longer than requested, if the clock steps back', async () => {
    const clock = stopClock()
    try {
      await issue(deployment)
      const latest = now()
      for (const [back, createdAt] of [
        [0, latest],
        [5, latest],
        [55, latest - 60],
      ] as const) {
        clock.setBack(back)
        const { id } = await issue(deployment, { expiresIn: 60 })
        const { body } = await show(deployment, id)
        expect(body).to.include({ createdAt, expiresAt: now() + 60 })
        expect(createdAt).to.equal(secondOf(id))
      }
    } finally {
      clock.restore()
    }
  })

  it('returns the default life of the deployment', () =>
    withDeployment({ options: { subjectTokenTTL: 30, maxSubjectTokenTTL: 40 } }, async (other) => {
      const bearer = await managementToken(other)
      expect((await postSubjectToken(other, { userId: 'alice' }, bearer)).body.expiresIn).to.equal(30)
      expect((await postSubjectToken(other, { userId: 'alice', expiresIn: 40 }, bearer)).status).to.equal(201)
      const response = await postSubjectToken(other, { userId: 'alice', expiresIn: 41 }, bearer)
      expect([response.status, response.body.error]).to.deep.equal([400, 'invalid_request'])
    }))

  it('applies the constraint to an opaque resource as well', async () => {
    const { subjectToken } = await issue(deployment, { resource: OPAQUE_API })
    const response = await exchange(deployment, { subject_token: subjectToken, resource: OPAQUE_API })
    expect(response.status, response.text).to.equal(200)
  })

  for (const kind of DATABASES) {
    describe(`on ${kind}`, () => {
      let other: Deployment
      beforeOn(kind, async () => {
        other = await startDeployment({ database: kind })
      })
      after(() => other?.close())

      it('stores the longest and strangest names and contexts unchanged', async () => {
        const wanted = {
          actorId: `É e\u0301 ${'ß'.repeat(200)} `,
          resource: url(255),
          scope: `${'s'.repeat(127)} ${'t'.repeat(127)}`,
          context: JSON.parse(
            `{"__proto__":{"x":1},"é":"${ASTRAL.repeat(1000)}","n":[0.1,1e300,-1],"s":"\\u2028\\u0007"}`,
          ),
        }
        const { id } = await issue(other, wanted)
        const row = await createSubjectTokenStore(other.database.sequelize).find(other.issuer, id)
        expect(row).to.deep.include({ ...wanted, context: row?.context })
        expect(JSON.stringify(row?.context)).to.equal(JSON.stringify(wanted.context))
      })
    })
  }

  describe('its event', () => {
    it('is one, frozen, and names ids and constraints only', () =>
      withDeployment({}, async (other) => {
        const body = {
          clientId: 'spa',
          actorId: 'bob',
          resource: API,
          scope: 'orders:read',
          context: { a: 1 },
        }
        const { id } = await issue(other, body)
        expect(other.events).to.have.lengthOf(1)
        const [event] = other.events
        if (event?.name !== 'subject_token.issued') throw new Error('another event')
        const { expiresAt, ...payload } = event.payload
        expect(payload).to.deep.equal({
          id,
          userId: 'alice',
          createdBy: 'backend',
          clientId: 'spa',
          actorId: 'bob',
          resource: API,
          scope: 'orders:read',
        })
        expect(expiresAt).to.be.closeTo(now() + 600, 2)
        expect(event.payload).to.be.frozen
      }))

    it('is none for a request that is refused', () =>
      withDeployment({}, async (other) => {
        const bearer = await managementToken(other)
        await postSubjectToken(other, { userId: 'nobody' }, bearer)
        await postSubjectToken(other, {}, bearer)
        await postSubjectToken(other, { userId: 'alice' }, 'forged')
        expect(other.events).to.deep.equal([])
      }))
  })

  describe('other methods', () => {
    for (const method of ['PUT', 'PATCH', 'OPTIONS', 'PROPFIND']) {
      it(`${method} is 405 with Allow`, async () => {
        const headers = { authorization: `Bearer ${token}` }
        const response = await send(deployment.subjectTokens, { method, headers })
        expect([response.status, response.body.error]).to.deep.equal([405, 'invalid_request'])
        expect(response.headers.get('allow')?.split(/, */)).to.include('POST')
        expect(response.headers.get('cache-control')).to.equal('no-store')
      })
    }
  })

  describe('with a router that is mounted elsewhere', () => {
    it('leaves paths that are not its own to the host application', async () => {
      const response = await send(`${deployment.baseUrl}/api/other`)
      expect(response.status).to.equal(404)
      expect(response.headers.get('cache-control')).to.equal(null)
    })
  })
})
