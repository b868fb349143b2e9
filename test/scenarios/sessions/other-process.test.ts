/**
 * Another process of the same provider that has not the option: an earlier version, or one that is configured otherwise
 * (protocol.md §10.5). Whatever of a session reaches it is refused, because there it would be the user's own.
 */

import { expect } from 'chai'
import type { Answer } from '../../../fixtures/browser.ts'
import { VERIFIER } from '../../../fixtures/clients.ts'
import { openDatabase } from '../../../fixtures/databases.ts'
import { type Deployment, OPAQUE_API, startDeployment } from '../../../fixtures/deployment.ts'
import { form, send } from '../../../fixtures/http.ts'
import { onEachKind } from '../../../fixtures/on-database.ts'
import { until } from '../../../fixtures/until.ts'
import { createSubjectTokenStore } from '../../../src/sequelize/index.ts'
import { CALLBACK, type Scene, shop, startScene } from '../../spec/arriving.ts'

const AUTHORIZATION = `Basic ${Buffer.from('shop:shop-secret').toString('base64')}`
const post = (issuer: string, path: string, body: Record<string, string>) =>
  send(`${issuer}${path}`, { method: 'POST', headers: { authorization: AUTHORIZATION }, body: form(body) })

onEachKind((kind) => {
  describe('a process without the option sessions', () => {
    let scene: Scene
    let other: Deployment
    let close: () => Promise<void>
    before(async () => {
      const database = await openDatabase(kind)
      const client = shop({ grant_types: ['authorization_code', 'refresh_token'] })
      const options = { store: createSubjectTokenStore(database.sequelize) }
      scene = await startScene({ database, clients: [client], options })
      const { impersonation_sessions: _, ...plain } = client
      other = await startDeployment({
        database,
        issuer: scene.issuer,
        clients: [plain],
        configuration: { issueRefreshToken: async () => true },
      })
      close = async () => {
        await other.close()
        await scene.close()
        await database.close()
      }
    })
    after(() => close())

    const arrived = async (request: Record<string, string> = {}) => {
      const browser = await scene.signedIn()
      const { token } = await scene.issue()
      await scene.arm(browser, token)
      return scene.authorize(browser, request)
    }

    const redeemsThere = async (answer: Answer) => {
      const code = answer.location?.searchParams.get('code') ?? ''
      const redeeming = { grant_type: 'authorization_code', code, redirect_uri: CALLBACK }
      const { status, body } = await post(`${other.baseUrl}/oidc`, '/token', {
        ...redeeming,
        code_verifier: VERIFIER,
      })
      expect([status, body.error]).to.deep.equal([400, 'invalid_grant'])
    }
    const newest = async () => (await other.impersonation.records.list()).items[0] ?? expect.fail()

    it('redeems no code of a session', async () => {
      await redeemsThere(await arrived())
    })

    it('ends it by a code that is used again, and the record says so', async () => {
      const answer = await arrived()
      expect((await scene.redeem(answer)).status).to.equal(200)
      await redeemsThere(answer)
      const { revocation, revokedAt, replay } = await newest()
      expect(revocation).to.deep.equal({ cause: 'replay' })
      expect(replay).to.deep.equal({ at: revokedAt, clientId: 'shop' })
      expect(other.events.map(({ name }) => name)).to.include('subject_token.replayed')
    })

    it('ends it by a sign-out of its application', async () => {
      const { body } = await scene.redeem(await arrived())
      const hint = form({ id_token_hint: body.id_token })
      expect((await send(`${other.baseUrl}/oidc/session/end?${hint}`)).status).to.equal(200)
      expect((await newest()).revocation).to.deep.equal({ cause: 'signedOut', client: 'shop' })
      expect((await scene.userinfo(body.access_token)).status).to.equal(401)
    })

    it('ends it by a sign-out of its engineer', async () => {
      const { body } = await scene.redeem(await arrived())
      const { id } = await newest()
      const headless = await other.provider.Session.findByUid(`imp_${id}`)
      const { uid } = Object(headless?.state?.signIn)
      await (await other.provider.Session.findByUid(uid))?.destroy()
      await until(async () => (await newest()).revocation !== undefined)
      expect((await newest()).revocation).to.deep.equal({ cause: 'signedOut' })
      await until(async () => (await scene.userinfo(body.access_token)).status === 401)
    })

    it('finds none by its cookie', async () => {
      await arrived()
      const headless = await scene.provider.Session.findByUid(`imp_${(await newest()).id}`)
      expect(headless?.accountId).to.equal('alice')
      expect(await other.provider.Session.find(headless?.jti ?? '')).to.equal(undefined)
    })

    it('shows no userinfo of one', async () => {
      const { body } = await scene.redeem(await arrived())
      const headers = { authorization: `Bearer ${body.access_token}` }
      expect((await scene.userinfo(body.access_token)).body).to.deep.include({
        sub: 'alice',
        act: { sub: 'bob' },
      })
      expect((await send(`${other.baseUrl}/oidc/me`, { headers })).status).to.equal(401)
    })

    it('shows no opaque access token of one as active', async () => {
      const asked = { scope: 'openid orders:read', resource: OPAQUE_API }
      const { body } = await scene.redeem(await arrived(asked), { resource: OPAQUE_API })
      const active = async (issuer: string) =>
        (await post(issuer, '/token/introspection', { token: body.access_token })).body.active
      expect(await active(scene.issuer)).to.equal(true)
      expect(await active(`${other.baseUrl}/oidc`)).to.equal(false)
    })
  })
})
