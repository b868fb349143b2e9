/** Delegation from a real login (docs/protocol.md §3.3, §4): chains that grow, and what is left when the login has ended. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { withActor } from '../../../fixtures/actor-tokens.ts'
import { API, OPAQUE_API } from '../../../fixtures/deployment.ts'
import { onEachDatabase } from '../../../fixtures/each-database.ts'
import { credentials, form, type HttpResponse, send } from '../../../fixtures/http.ts'
import { login, loginClient } from '../../../fixtures/logins.ts'
import { show } from '../../../fixtures/management.ts'
import { ACTOR_TOKEN_REFUSED } from '../../../fixtures/refused.ts'
import { exchange, introspect, issue } from '../../../fixtures/requests.ts'

const actOf = (chain: readonly string[]): object | undefined =>
  chain.reduceRight<object | undefined>((act, sub) => ({ sub, ...(act && { act }) }), undefined)

const expectRefused = ({ status, body }: HttpResponse) =>
  expect([status, body]).to.deep.equal([400, ACTOR_TOKEN_REFUSED])

describe('token exchange: delegation, from the login', () => {
  const overrides = {
    options: { maxDelegationDepth: 3 },
    clients: [loginClient()],
    configuration: { features: { revocation: { enabled: true } } },
  }
  onEachDatabase(overrides, (on) => {
    const become = async (userId: string, actor: string, resource = API) => {
      const { subjectToken, id } = await issue(on.deployment, { userId })
      const parameters = { subject_token: subjectToken, resource, scope: 'openid', ...withActor(actor) }
      return { ...(await exchange(on.deployment, parameters)), id }
    }

    for (const resource of [undefined, API]) {
      it(`nests from a login ${resource ? 'with a JWT' : 'with an opaque token'} until the depth is used up`, async () => {
        let { access_token: token } = (await login(on.deployment, { resource })).tokens
        const chain = ['bob']
        for (const [index, userId] of ['alice', 'carol', 'dave'].entries()) {
          const isOpaque = index % 2 === 0
          const { status, body, text, id } = await become(userId, token, isOpaque ? OPAQUE_API : API)
          expect([status, body.scope], text).to.deep.equal([200, 'openid'])
          expect(body).not.to.have.any.keys('refresh_token', 'id_token')
          token = body.access_token
          const claims = isOpaque ? await introspect(on.deployment, token) : decodeJwt(token)
          expect([claims.sub, claims.act]).to.deep.equal([userId, actOf(chain)])

          const actor = { ...actOf(chain), clientId: index === 0 ? 'portal' : 'spa' }
          expect((await show(on.deployment, id)).body.actor).to.deep.equal(actor)
          const told = on.deployment.events.at(-1)
          expect(told?.name).to.equal('subject_token.exchanged')
          expect(told?.payload).to.have.deep.property('actor', actor)
          chain.unshift(userId)
        }
        expectRefused(await become('erin', token))
        expect(on.deployment.events.at(-1)?.payload).to.include({ check: 'maxDelegationDepth' })
      })
    }

    it('refuses a login once its refresh token is revoked, and keeps what was delegated before', async () => {
      const { tokens } = await login(on.deployment)
      const { body, text } = await become('alice', tokens.access_token, OPAQUE_API)
      expect((await introspect(on.deployment, body.access_token)).active, text).to.equal(true)
      const auth = credentials(loginClient())
      const revocation = form({ ...auth.body, token: tokens.refresh_token })
      const url = `${on.deployment.issuer}/token/revocation`
      expect((await send(url, { method: 'POST', body: revocation })).status).to.equal(200)
      expectRefused(await become('alice', tokens.access_token))
      expect((await introspect(on.deployment, body.access_token)).active).to.equal(true)
    })
  })
})
