/** How status lists are signed, as management tokens are, and served: by the keys of the provider, in other hosts, as openapi.json says. */
import { createPrivateKey, createPublicKey, sign } from 'node:crypto'
import { expect } from 'chai'
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import Koa from 'koa'
import { ExternalSigningKey, type JWK } from 'oidc-provider'
import { type StoppedClock, stopClock } from '../../../fixtures/clock.ts'
import { type Deployment, useDeployment, withDeployment } from '../../../fixtures/deployment.ts'
import { SIGNING_KEY, signingKey } from '../../../fixtures/keys.ts'
import { whileListening } from '../../../fixtures/listening.ts'
import { description } from '../../../fixtures/openapi.ts'
import { issue, managementToken } from '../../../fixtures/requests.ts'
import { askList, fetchList } from '../../../fixtures/status-lists.ts'
import { createSubjectTokenStore } from '../../../src/sequelize/index.ts'

const ROUTE = '/status-lists/{m}'

describe('status lists: the route', () => {
  const deployment = useDeployment()
  let clock: StoppedClock
  beforeEach(() => {
    clock = stopClock()
  })
  afterEach(() => clock.restore())

  it('has the first list before anything was issued, which is small, and the next one', async () => {
    expect((await fetchList(deployment)).length).to.be.lessThan(500)
    const statuses = ['/1', '/2'].map(async (path) => (await askList(deployment, path)).status)
    expect(await Promise.all(statuses)).to.deep.equal([200, 404])
  })

  it('is what openapi.json describes', async () => {
    const { faultsOf } = description()
    const etag = (await askList(deployment)).headers.get('etag') ?? ''
    const cases: [status: number, path: string, headers?: Record<string, string>][] = [
      [200, '/0'],
      [304, '/0', { 'if-none-match': etag }],
      [404, '/7'],
      [406, '/0', { accept: 'text/html' }],
      [501, '/0?time=1'],
    ]
    for (const method of ['GET', 'HEAD'])
      for (const [status, path, headers = {}] of cases) {
        const response = await askList(deployment, path, { method, headers })
        expect([response.status, ...faultsOf(method, ROUTE, response)], path).to.deep.equal([status])
      }
    expect(faultsOf('POST', ROUTE, await askList(deployment, '/0', { method: 'POST' }))).to.deep.equal([])
    const store = { findStopped: () => Promise.reject(new Error('private: no connection')) }
    await withDeployment(
      {
        options: {
          store: Object.assign(Object.create(createSubjectTokenStore(deployment.database.sequelize)), store),
        },
      },
      async (down) => {
        const response = await askList(down)
        expect([response.status, ...faultsOf('GET', ROUTE, response)]).to.deep.equal([503])
        expect(response.text).not.to.include('private')
        expect(down.errors).to.have.length(1)
      },
    )
  })

  it('is served by router() and handler(), and left out by only', async () => {
    const { impersonation, database } = deployment
    const app = new Koa()
    app.use(impersonation.router({ prefix: '/all' }).routes())
    app.use(impersonation.router({ prefix: '/internal', only: 'management' }).routes())
    app.use(impersonation.router({ prefix: '/public', only: 'status-lists' }).routes())
    const handle = impersonation.handler({ prefix: '/node' })
    const koa = app.callback()
    // What the tests before have read is forgotten.
    clock.tick(2)
    const before = database.statements.length
    await whileListening(
      (request, response) => handle(request, response, () => koa(request, response)),
      async (baseUrl) => {
        for (const [path, status] of Object.entries({
          '/node/status-lists/0': 200,
          '/node/status-lists/7': 404,
          '/all/status-lists/0': 200,
          '/public/status-lists/0': 200,
          '/internal/status-lists/0': 404,
          '/internal/subject-tokens': 401,
          '/public/subject-tokens': 404,
        }))
          expect((await fetch(baseUrl + path)).status, path).to.equal(status)
      },
    )
    // What is remembered is the process's, not the router's.
    expect(database.statements.slice(before)).to.have.length(2)
  })

  it('cannot be asked for without status lists', () =>
    withDeployment({ options: { statusList: false } }, async ({ impersonation }) => {
      for (const method of ['router', 'handler'] as const)
        expect(() => impersonation[method]({ only: 'status-lists' })).to.throw(TypeError, 'statusList')
    }))
})

describe('status lists: the keys', () => {
  /** The header of a list, and the deployment, whose provider has these keys. */
  const withKeys = (
    keys: readonly (JWK | ExternalSigningKey)[],
    use: (deployment: Deployment, header: () => Promise<object>) => Promise<unknown>,
  ) => {
    const features = {
      encryption: { enabled: true },
      externalSigningSupport: { enabled: true, ack: 'experimental-01' },
    }
    const configuration = { jwks: { keys: [...keys] } as never, features: features as never }
    return withDeployment({ configuration }, async (deployment) => {
      const set = createRemoteJWKSet(new URL(`${deployment.issuer}/jwks`))
      await use(deployment, async () => (await jwtVerify(await fetchList(deployment), set)).protectedHeader)
    })
  }

  /** A management token is signed by the same key, and taken. */
  const expectManaged = async (deployment: Deployment, alg: string) => {
    const token = await managementToken(deployment)
    expect(decodeProtectedHeader(token).alg).to.equal(alg)
    await issue(deployment, {}, token)
  }

  for (const alg of ['ES256', 'ES384', 'RS256', 'EdDSA'] as const)
    it(`sign with ${alg}, the first of them that signs, and are not changed by it`, () => {
      const encryption = { ...signingKey('ES256', 'for-encryption'), use: 'enc', alg: 'ECDH-ES' }
      const first = signingKey(alg, 'first')
      return withKeys([encryption, first, signingKey('ES256', 'second')], async (own, header) => {
        expect(await header()).to.deep.equal({ alg, kid: 'first', typ: 'statuslist+jwt' })
        await expectManaged(own, alg)
        expect(first).not.to.be.frozen
      })
    })

  it('are named as the provider names them when they have no name', () => {
    const { kid: _, use: __, alg: ___, ...unnamed } = signingKey()
    return withKeys([unnamed as JWK], async (own, header) => {
      const { keys } = Object(await (await fetch(`${own.issuer}/jwks`)).json())
      expect(await header()).to.include({ kid: keys[0].kid, alg: 'ES256' })
      await expectManaged(own, 'ES256')
    })
  })

  it('may be kept elsewhere: asked once for many, and a 500 that operators learn of while they cannot sign', () => {
    const key = createPrivateKey({ key: { ...SIGNING_KEY } as never, format: 'jwk' })
    let isDown = true
    let asked = 0
    class Remote extends ExternalSigningKey {
      override keyObject = () => createPublicKey(key)
      override async sign(data: Uint8Array) {
        asked += 1
        if (isDown) throw new Error('private: no answer')
        return sign('sha256', data, { key, dsaEncoding: 'ieee-p1363' })
      }
    }
    return withKeys([new Remote()], async (deployment, header) => {
      for (const path of ['/0', '/7', '/0']) {
        const { status, body, headers } = await askList(deployment, path)
        const error =
          path === '/7'
            ? [404, { error: 'not_found', error_description: 'status list not found' }]
            : [500, { error: 'server_error', error_description: 'something went wrong' }]
        expect([status, body]).to.deep.equal(error)
        expect(headers.get('cache-control')).to.equal('no-store')
      }
      expect(deployment.errors).to.have.length(2)
      isDown = false
      asked = 0
      await Promise.all(Array.from({ length: 20 }, () => fetchList(deployment)))
      expect(await header()).to.include({ alg: 'ES256', typ: 'statuslist+jwt' })
      expect(asked).to.equal(1)
    })
  })
})
