/** Where an access token may be used (protocol.md §3.4; RFC 8707). */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { ResourceServer } from 'oidc-provider'
import { publicClient } from '../../fixtures/clients.ts'
import {
  API,
  type Deployment,
  type DeploymentOverrides,
  OPAQUE_API,
  startDeployment,
  withDeployment,
} from '../../fixtures/deployment.ts'
import type { Parameters } from '../../fixtures/http.ts'
import { exchange, introspect, issue } from '../../fixtures/requests.ts'
import { expectRefused } from './refusals.ts'

const narrowClient = publicClient({
  client_id: 'narrow',
  token_exchange_resources: [OPAQUE_API, 'https://api.example.com/v2'],
})
const barredClient = publicClient({ client_id: 'barred', token_exchange_resources: [] })

describe('token exchange: the target', () => {
  let deployment: Deployment
  before(async () => {
    deployment = await startDeployment({ clients: [narrowClient, barredClient] })
  })
  after(() => deployment.close())

  const refusals: [title: string, resource: Parameters[string], check: string][] = [
    ['no resource', null, 'target'],
    ['a blank resource', '', 'target'],
    ['two resources', [API, OPAQUE_API], 'target'],
    ['the same resource twice', [API, API], 'target'],
    ['a relative resource', '/orders', 'target'],
    ['a resource without scheme', 'api.example.com', 'target'],
    ['one space', ' ', 'target'],
    ['a resource with a fragment', `${API}#orders`, 'target'],
    ['a resource with an empty fragment', `${API}#`, 'target'],
    ['an unknown resource', 'https://unknown.example.com', 'invalid_target'],
    ['a known resource with a slash after it', `${API}/`, 'invalid_target'],
    ['a known resource in capitals', API.toUpperCase(), 'invalid_target'],
    ['a known resource with a space after it', `${API} `, 'target'],
    ['50,000 characters', `https://${'a'.repeat(50_000)}`, 'invalid_target'],
    ['a member of every object', 'constructor', 'target'],
  ]
  for (const [title, resource, check] of refusals) {
    it(`refuses ${title}`, () =>
      expectRefused(deployment, {
        attempt: (subjectToken) => exchange(deployment, { subject_token: subjectToken, resource }),
        error: 'invalid_target',
        check,
      }))
  }

  it('refuses a missing resource even if a scope is requested', () =>
    expectRefused(deployment, {
      attempt: (subjectToken) =>
        exchange(deployment, { subject_token: subjectToken, resource: null, scope: 'openid orders:read' }),
      error: 'invalid_target',
      check: 'target',
    }))

  for (const [title, resource] of [
    ['the management resource', (base: string) => `${base}/api`],
    ['the management resource with a slash after it', (base: string) => `${base}/api/`],
    ['a path below the management resource', (base: string) => `${base}/api/subject-tokens`],
  ] as const) {
    it(`refuses ${title}`, async () => {
      await expectRefused(deployment, {
        attempt: (subjectToken) =>
          exchange(deployment, { subject_token: subjectToken, resource: resource(deployment.baseUrl) }),
        error: 'invalid_target',
        check: title === 'the management resource' ? 'target' : 'invalid_target',
      })
    })
  }

  it('issues for exactly the requested resource', async () => {
    const { subjectToken } = await issue(deployment, { resource: API })
    const { body } = await exchange(deployment, { subject_token: subjectToken, resource: API })
    expect(decodeJwt(body.access_token).aud).to.equal(API)
  })

  it("uses the resource's own audience if it has one, and its identifier otherwise", () => {
    const resources: Record<string, ResourceServer> = {
      [API]: { scope: '', audience: 'orders', accessTokenFormat: 'jwt', jwt: { sign: { alg: 'ES256' } } },
      [OPAQUE_API]: { scope: '', accessTokenFormat: 'opaque' } as ResourceServer,
    }
    return withDeployment({ resources }, async (other) => {
      const [one, two] = [await issue(other), await issue(other)]
      const { body } = await exchange(other, { subject_token: one.subjectToken })
      expect(decodeJwt(body.access_token).aud).to.equal('orders')
      const opaque = await exchange(other, { subject_token: two.subjectToken, resource: OPAQUE_API })
      expect((await introspect(other, opaque.body.access_token)).aud).to.equal(OPAQUE_API)
    })
  })

  describe('with token_exchange_resources', () => {
    it('refuses a resource the client is not registered for', () =>
      expectRefused(deployment, {
        attempt: (subjectToken) =>
          exchange(deployment, { subject_token: subjectToken }, { client: narrowClient }),
        valid: (subjectToken) =>
          exchange(
            deployment,
            { subject_token: subjectToken, resource: OPAQUE_API },
            { client: narrowClient },
          ),
        error: 'invalid_target',
        check: 'target',
      }))

    it('refuses every resource when the list is empty', () =>
      expectRefused(deployment, {
        attempt: (subjectToken) =>
          exchange(deployment, { subject_token: subjectToken }, { client: barredClient }),
        error: 'invalid_target',
        check: 'target',
      }))

    it('refuses a resource that the deployment does not know', () =>
      expectRefused(deployment, {
        attempt: (subjectToken) =>
          exchange(
            deployment,
            { subject_token: subjectToken, resource: 'https://api.example.com/v2' },
            { client: narrowClient },
          ),
        error: 'invalid_target',
        check: 'invalid_target',
      }))
  })

  describe('with defaultResource', () => {
    const defaulting = (resource: unknown): DeploymentOverrides => ({
      configuration: {
        features: { resourceIndicators: { enabled: true, defaultResource: async () => resource as string } },
      },
    })

    for (const [title, parameters] of [
      ['omitted', { resource: null }],
      ['blank', { resource: '' }],
      ['omitted while a scope is requested', { resource: null, scope: 'orders:read' }],
    ] as const) {
      it(`uses the default when the resource is ${title}`, () =>
        withDeployment(defaulting(API), async (other) => {
          const { subjectToken } = await issue(other)
          const response = await exchange(other, { subject_token: subjectToken, ...parameters })
          expect(response.status, response.text).to.equal(200)
          expect(decodeJwt(response.body.access_token).aud).to.equal(API)
        }))
    }

    it('prefers the requested resource', () =>
      withDeployment(defaulting(API), async (other) => {
        const { subjectToken } = await issue(other)
        const response = await exchange(other, { subject_token: subjectToken, resource: OPAQUE_API })
        expect((await introspect(other, response.body.access_token)).aud).to.equal(OPAQUE_API)
      }))

    it('compares a default with the resource that the subject token is bound to', () =>
      withDeployment(defaulting(OPAQUE_API), (other) =>
        expectRefused(other, {
          issued: { resource: API },
          attempt: (subjectToken) => exchange(other, { subject_token: subjectToken, resource: null }),
          error: 'invalid_request',
          description: 'subject_token is invalid',
          check: 'subject_token',
        }).then(() => {}),
      ))

    it('refuses a default of more than one resource', () =>
      withDeployment(defaulting([API, OPAQUE_API]), (other) =>
        expectRefused(other, {
          attempt: (subjectToken) => exchange(other, { subject_token: subjectToken, resource: null }),
          error: 'invalid_target',
          check: 'target',
        }).then(() => {}),
      ))
  })

  describe('with a getResourceServerInfo that accepts everything', () => {
    const tolerant: DeploymentOverrides['configuration'] = {
      features: {
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: () =>
            ({ scope: '', accessTokenFormat: 'jwt', jwt: { sign: { alg: 'ES256' } } }) as ResourceServer,
        },
      },
    }
    for (const [title, resource] of [
      ['with a space before it', ` ${API}`],
      ['with a line feed after it', `${API}\n`],
      ['with a NUL in its path', `${API}/a\0b`],
      ['with letters beyond ASCII', 'https://bücher.example.com/ä'],
      ['with a quotation mark', `${API}/"`],
    ] as const) {
      it(`refuses a resource ${title}, which is not a URI`, () =>
        withDeployment({ configuration: tolerant }, (other) =>
          expectRefused(other, {
            attempt: (subjectToken) => exchange(other, { subject_token: subjectToken, resource }),
            error: 'invalid_target',
            check: 'target',
          }).then(() => {}),
        ))
    }

    it('still refuses the management resource, and every other resource with its audience', async () => {
      const audience: { value?: string } = {}
      const configuration: DeploymentOverrides['configuration'] = {
        features: {
          resourceIndicators: {
            enabled: true,
            getResourceServerInfo: () => ({
              scope: 'subject-tokens:create',
              audience: audience.value ?? API,
              accessTokenFormat: 'jwt',
              jwt: { sign: { alg: 'ES256' } },
            }),
          },
        },
      }
      await withDeployment({ configuration }, async (other) => {
        await expectRefused(other, {
          attempt: (subjectToken) =>
            exchange(other, { subject_token: subjectToken, resource: `${other.baseUrl}/api` }),
          error: 'invalid_target',
          check: 'target',
        })
        await expectRefused(other, {
          attempt: (subjectToken) => {
            audience.value = `${other.baseUrl}/api`
            return exchange(other, { subject_token: subjectToken, scope: 'subject-tokens:create' })
          },
          valid: (subjectToken) => {
            audience.value = API
            return exchange(other, { subject_token: subjectToken })
          },
          status: 500,
          error: 'server_error',
          check: 'issue',
        })
      })
    })
  })
})
