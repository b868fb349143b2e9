/** An API exchanges the token that it received (protocol.md §8): on every database, over HTTP. */
import { expect } from 'chai'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { actorToken } from '../../fixtures/actor-tokens.ts'
import { now } from '../../fixtures/clock.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import { onEachDatabase } from '../../fixtures/each-database.ts'
import {
  BILLING,
  billingApi,
  downstream,
  LEDGER,
  ledgerApi,
  ownToken,
  passedOn,
  passOn,
  viewed,
} from '../../fixtures/on-behalf-of.ts'
import { introspect } from '../../fixtures/requests.ts'
import { ACCESS_TOKEN_TYPE } from '../../src/index.ts'

describe('on behalf of: the flow', () => {
  onEachDatabase(downstream({ onBehalfOf: { hops: 3 } }), (on) => {
    it('an impersonation stays one, through three APIs, and names each of them', async () => {
      const { deployment } = on
      const { accessToken } = await viewed(deployment)
      const { status } = decodeJwt(accessToken)
      expect(status).to.be.an('object')

      const first = await passedOn(deployment, accessToken, { scope: 'orders:read' })
      expect(decodeProtectedHeader(first.accessToken)).to.include({ typ: 'at+jwt' })
      expect(first.claims).to.deep.include({
        sub: 'alice',
        aud: BILLING,
        client_id: 'orders-api',
        scope: 'orders:read',
        status,
        act: { sub: 'orders-api', client_id: 'orders-api', act: { sub: 'bob' } },
      })

      const billing = { client: billingApi() }
      const second = await passedOn(deployment, first.accessToken, { resource: LEDGER }, billing)
      expect(second.claims).to.deep.include({
        sub: 'alice',
        aud: LEDGER,
        client_id: 'billing-api',
        status,
        act: { sub: 'billing-api', client_id: 'billing-api', act: first.claims.act },
      })

      const third = await passedOn(deployment, second.accessToken, { resource: API }, { client: ledgerApi() })
      expect(third.claims.act).to.deep.equal({
        sub: 'ledger-api',
        client_id: 'ledger-api',
        act: second.claims.act,
      })
      expect(third.claims).to.deep.include({ sub: 'alice', status })
    })

    it('an opaque token of an impersonation is exchanged as well, and keeps its status', async () => {
      const { deployment } = on
      const { accessToken } = await viewed(deployment, { resource: OPAQUE_API, scope: 'orders:read' })
      const { status } = await introspect(deployment, accessToken)
      const { claims } = await passedOn(deployment, accessToken, { scope: 'orders:read' })
      expect(claims).to.deep.include({
        status,
        sub: 'alice',
        act: { sub: 'orders-api', client_id: 'orders-api', act: { sub: 'bob' } },
      })
    })

    it("a user's own token has no status, JWT or opaque, and only the API acts", async () => {
      const { deployment } = on
      const opaque = { accountId: 'alice', audience: OPAQUE_API, scope: 'orders:read' }
      for (const token of [await ownToken(deployment), await actorToken(deployment, opaque)]) {
        const { claims } = await passedOn(deployment, token, { scope: 'orders:read' })
        expect(claims).not.to.have.property('status')
        expect(claims).to.deep.include({
          sub: 'alice',
          act: { sub: 'orders-api', client_id: 'orders-api' },
          scope: 'orders:read',
        })
      }
    })

    it('responds as every exchange does, and neither token is spent', async () => {
      const { deployment } = on
      const { accessToken } = await viewed(deployment)
      for (const _ of [1, 2]) {
        const { status, body, headers } = await passOn(deployment, accessToken)
        expect(status).to.equal(200)
        expect(headers.get('cache-control')).to.equal('no-store')
        expect(body).to.include({ issued_token_type: ACCESS_TOKEN_TYPE, token_type: 'Bearer' })
        expect(body).not.to.have.any.keys('refresh_token', 'id_token', 'scope')
        expect(body.expires_in).to.be.within(595, 600)
        expect(decodeJwt(body.access_token).exp).to.be.at.most(decodeJwt(accessToken).exp ?? now())
      }
    })
  })
})
