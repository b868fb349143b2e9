/** `onBehalfOf` of the client against a whole deployment. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { type Deployment, startDeployment } from '../../../fixtures/deployment.ts'
import { manage } from '../../../fixtures/management.ts'
import { apiClient, BILLING, downstream, LEDGER, ownToken, viewed } from '../../../fixtures/on-behalf-of.ts'
import { createImpersonationClient, type ImpersonationClient } from '../src/index.ts'
import { errorOf, shownOf } from './calling.ts'

describe('client: onBehalfOf, with a provider', () => {
  let deployment: Deployment
  let orders: ImpersonationClient
  before(async () => {
    deployment = await startDeployment(downstream())
    orders = connect()
  })
  after(() => deployment.close())

  const connect = (clientSecret = String(apiClient().client_secret)) =>
    createImpersonationClient({ issuer: deployment.issuer, clientId: 'orders-api', clientSecret })

  it('exchanges a token as often as it is needed, and keeps who acts', async () => {
    const { accessToken: received } = await viewed(deployment)
    const request = { subjectToken: received, resource: BILLING, scope: 'orders:read' }
    const tokens = [await orders.onBehalfOf(request), await orders.onBehalfOf(request)]
    for (const token of tokens) {
      expect(token).to.have.all.keys('accessToken', 'expiresIn', 'scope')
      expect([token.scope, token.expiresIn <= 600]).to.deep.equal(['orders:read', true])
      expect(decodeJwt(token.accessToken)).to.deep.include({
        sub: 'alice',
        aud: BILLING,
        act: { sub: 'orders-api', client_id: 'orders-api', act: { sub: 'bob' } },
      })
    }
    const [one, other] = tokens.map(({ accessToken }) => decodeJwt(accessToken).jti)
    expect(one).not.to.equal(other)
  })

  it('resolves to no scope unless one is requested', async () => {
    const token = await orders.onBehalfOf({ subjectToken: await ownToken(deployment), resource: BILLING })
    expect(token).to.have.all.keys('accessToken', 'expiresIn')
  })

  it('rejects with what the provider says, and holds no token', async () => {
    const { accessToken: received, id } = await viewed(deployment)
    const request = { subjectToken: received, resource: BILLING, scope: 'orders:read' }
    const refused: [expected: string, attempt: () => Promise<unknown>][] = [
      ['400 invalid_target', () => orders.onBehalfOf({ ...request, resource: LEDGER })],
      ['400 invalid_scope', () => orders.onBehalfOf({ ...request, scope: 'bills:read' })],
      ['401 invalid_client', () => connect('another-secret').onBehalfOf(request)],
      ['400 invalid_request', () => orders.onBehalfOf({ ...request, subjectToken: `${received}x` })],
      [
        '400 invalid_request',
        async () => {
          expect((await manage(deployment, 'DELETE', `/${id}`)).status).to.equal(204)
          return orders.onBehalfOf(request)
        },
      ],
    ]
    for (const [expected, attempt] of refused) {
      const error = await errorOf(attempt())
      expect(`${error.status} ${error.code}`).to.equal(expected)
      expect(shownOf(error)).not.to.include(received)
    }
  })

  it('is refused for an application that is not registered as an API', async () => {
    const web = createImpersonationClient({
      ...{ issuer: deployment.issuer, clientId: 'web', clientSecret: 'web-secret' },
    })
    const request = { subjectToken: await ownToken(deployment), resource: BILLING }
    const error = await errorOf(web.onBehalfOf(request))
    expect([error.status, error.code]).to.deep.equal([400, 'unauthorized_client'])
  })
})
