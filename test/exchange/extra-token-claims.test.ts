/** The deployment's own `extraTokenClaims` next to the custom claims (protocol.md §5.3). */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import {
  API,
  type Deployment,
  type DeploymentOverrides,
  OPAQUE_API,
  withDeployment,
} from '../../fixtures/deployment.ts'
import { list, statesOf } from '../../fixtures/management.ts'
import { exchange, introspect, issue, managementToken } from '../../fixtures/requests.ts'

type ExtraTokenClaims = NonNullable<NonNullable<DeploymentOverrides['configuration']>['extraTokenClaims']>

const withOwn = (
  extraTokenClaims: ExtraTokenClaims,
  use: (deployment: Deployment) => Promise<void>,
  options: DeploymentOverrides['options'] = {},
) => withDeployment({ options, configuration: { extraTokenClaims } }, use)

const claimsOf = async (deployment: Deployment, token: string) =>
  token.includes('.') ? decodeJwt(token) : introspect(deployment, token)

describe("token exchange: the deployment's own extraTokenClaims", () => {
  for (const resource of [API, OPAQUE_API]) {
    it(`adds claims to the token for ${resource}, next to the custom claims and act`, () =>
      withOwn(
        () => ({ tenant: 'acme' }),
        async (deployment) => {
          const { subjectToken } = await issue(deployment)
          const actor = withActor(await actorToken(deployment))
          const { body } = await exchange(deployment, { subject_token: subjectToken, resource, ...actor })
          const claims = await claimsOf(deployment, body.access_token)
          expect(claims).to.deep.include({ tenant: 'acme', team: 'support', act: { sub: 'bob' } })
        },
        { getCustomJwtClaims: () => ({ team: 'support' }) },
      ))

    it(`yields to the custom claims in the token for ${resource}`, () =>
      withOwn(
        async () => ({ team: 'own', tenant: 'acme' }),
        async (deployment) => {
          const { subjectToken } = await issue(deployment)
          const { body } = await exchange(deployment, { subject_token: subjectToken, resource })
          expect(await claimsOf(deployment, body.access_token)).to.include({ team: 'custom', tenant: 'acme' })
        },
        { getCustomJwtClaims: () => ({ team: 'custom' }) },
      ))
  }

  it('sees that an opaque token has a Grant of its own, and a JWT none', async () => {
    const grants: string[] = []
    const own: ExtraTokenClaims = (_ctx, token) => {
      if (token.kind === 'AccessToken') grants.push(String(Reflect.get(token, 'grantId')))
      return {}
    }
    await withOwn(own, async (deployment) => {
      for (const resource of [API, OPAQUE_API]) {
        const { subjectToken } = await issue(deployment)
        const response = await exchange(deployment, { subject_token: subjectToken, resource })
        expect(response.status, response.text).to.equal(200)
      }
    })
    expect(grants).to.have.length(2)
    expect(grants[0]).to.equal('')
    expect(grants[1]).to.match(/^[\w-]{43}$/)
  })

  it('is called once for an exchange, before the spend, on the finished but unsaved token', async () => {
    const calls: Record<string, unknown>[] = []
    const place: { deployment?: Deployment } = {}
    const own: ExtraTokenClaims = async (ctx, token) => {
      if (!Reflect.get(token, 'accountId')) return undefined
      const states = place.deployment && statesOf(await list(place.deployment))
      const { accountId, aud, exp, scope, clientId } = token as unknown as Record<string, unknown>
      calls.push({ states, accountId, aud, exp, scope, clientId, client: ctx.oidc.client?.clientId })
      return { tenant: 'acme' }
    }
    await withOwn(own, async (deployment) => {
      place.deployment = deployment
      const { subjectToken } = await issue(deployment)
      const { body } = await exchange(deployment, { subject_token: subjectToken, scope: 'orders:read' })
      const claims = decodeJwt(body.access_token)
      expect(claims.tenant).to.equal('acme')
      expect(calls).to.deep.equal([
        {
          states: ['active'],
          accountId: 'alice',
          aud: API,
          exp: claims.exp,
          scope: 'orders:read',
          clientId: 'spa',
          client: 'spa',
        },
      ])
    })
  })

  for (const resource of [API, OPAQUE_API]) {
    it(`is called once where the token for ${resource} gets no claim at all`, async () => {
      let calls = 0
      const own: ExtraTokenClaims = (_ctx, token) => {
        if (Reflect.get(token, 'accountId')) calls += 1
        return {}
      }
      await withOwn(
        own,
        async (deployment) => {
          const { subjectToken } = await issue(deployment)
          const { status } = await exchange(deployment, { subject_token: subjectToken, resource })
          expect([status, calls]).to.deep.equal([200, 1])
        },
        { statusList: false },
      )
    })
  }

  it('sees the target user as the Account of the request', async () => {
    const seen: unknown[] = []
    const own: ExtraTokenClaims = (ctx) => {
      // There is no request when a test creates the actor token.
      if (ctx?.oidc.entities.Account) seen.push(ctx.oidc.entities.Account.accountId)
      return undefined
    }
    await withOwn(own, async (deployment) => {
      const { subjectToken } = await issue(deployment)
      await exchange(deployment, { subject_token: subjectToken, ...withActor(await actorToken(deployment)) })
      expect(seen).to.deep.equal(['alice'])
    })
  })

  it('keeps working for every other token, reserved claims included, as without this plugin', () =>
    withOwn(
      () => ({ tenant: 'acme', amr: ['pwd'] }),
      async (deployment) => {
        expect(decodeJwt(await managementToken(deployment))).to.deep.include({ tenant: 'acme', amr: ['pwd'] })
        const token = await actorToken(deployment, { format: 'jwt' })
        expect(decodeJwt(token)).to.deep.include({ tenant: 'acme', amr: ['pwd'] })
      },
    ))

  it('may return undefined', () =>
    withOwn(
      () => undefined,
      async (deployment) => {
        const { subjectToken } = await issue(deployment)
        expect((await exchange(deployment, { subject_token: subjectToken })).status).to.equal(200)
      },
    ))
})
