/** What `GET /api/subject-tokens/{id}` and the list show (protocol.md §2.2): every member, in every state. */
import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { actorJwt, actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { now, stopClock } from '../../fixtures/clock.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import { onEachDatabase } from '../../fixtures/each-database.ts'
import { list, revoke, revokeWhere, show } from '../../fixtures/management.ts'
import { exchange, issue, postSubjectToken } from '../../fixtures/requests.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

const CONTEXT = { ticketId: 'T-1', nested: { list: [1, null, 'ü🎫'] } }

describe('management: an item', () => {
  onEachDatabase({ options: { maxDelegationDepth: 2 } }, (on) => {
    let clock: ReturnType<typeof stopClock>
    let start: number
    beforeEach(() => {
      clock = stopClock()
      start = now()
    })
    afterEach(() => clock.restore())

    /** The item must be the same alone and in the list. */
    const expectItem = async (id: string, expected: Readonly<Record<string, unknown>>) => {
      const response = await show(on.deployment, id)
      expect(response.status, response.text).to.equal(200)
      expect(response.body).to.deep.equal({ id, ...expected })
      const { body } = await list(on.deployment, { limit: '100' })
      const items: { id: string }[] = body.items
      expect(items.filter((item) => item.id === id)).to.deep.equal([{ id, ...expected }])
    }
    const plain = () => ({ userId: 'alice', context: {}, createdBy: 'backend', createdAt: start })

    it('that is active shows every constraint', async () => {
      const constraints = {
        clientId: 'spa',
        actorId: 'bob',
        resource: API,
        scope: 'orders:write orders:read',
      }
      const { id } = await issue(on.deployment, { context: CONTEXT, expiresIn: 60, ...constraints })
      await expectItem(id, {
        ...plain(),
        ...constraints,
        context: CONTEXT,
        expiresAt: start + 60,
        state: 'active',
      })
    })

    it('that is active and unconstrained shows no other members', async () => {
      const { id } = await issue(on.deployment, { userId: 'alias:alice' })
      await expectItem(id, { ...plain(), expiresAt: start + 600, state: 'active' })
    })

    it('that was used for a JWT shows the chain of actors, and what was granted instead of what was allowed', async () => {
      const constraints = { scope: 'orders:read orders:write', actorId: 'bob' }
      const { id, subjectToken } = await issue(on.deployment, constraints)
      const actor = await actorJwt(on.deployment, {
        client_id: 'web',
        act: { sub: 'carol' },
        exp: start + 900,
      })
      clock.tick(5)
      const parameters = { subject_token: subjectToken, scope: 'orders:read profile', ...withActor(actor) }
      const { body } = await exchange(on.deployment, parameters)
      expect(body.scope).to.equal('orders:read')
      clock.tick(5)
      await expectItem(id, {
        ...plain(),
        actorId: 'bob',
        actor: { sub: 'bob', act: { sub: 'carol' }, clientId: 'web' },
        usedBy: 'spa',
        resource: API,
        scope: 'orders:read',
        ceiling: { scope: 'orders:read orders:write' },
        expiresAt: start + 600,
        consumedAt: start + 5,
        accessToken: { format: 'jwt', jti: decodeJwt(body.access_token).jti, expiresAt: start + 605 },
        state: 'consumed',
      })
    })

    it('that was used for all that was allowed has no ceiling, in whatever order and spelling', async () => {
      for (const scope of ['orders:read orders:write', 'orders:write orders:read']) {
        const { id, subjectToken } = await issue(on.deployment, { scope, resource: [API] })
        await exchange(on.deployment, { subject_token: subjectToken, scope: 'orders:write orders:read' })
        const { body } = await show(on.deployment, id)
        expect(body).to.include({ resource: API, state: 'consumed' })
        expect(body).not.to.have.property('ceiling')
      }
    })

    it('that was used for an opaque token shows it, and no scope where none was granted', async () => {
      const { id, subjectToken } = await issue(on.deployment, { clientId: 'spa', scope: 'orders:read' })
      await exchange(on.deployment, { subject_token: subjectToken, resource: OPAQUE_API })
      await expectItem(id, {
        ...plain(),
        clientId: 'spa',
        usedBy: 'spa',
        resource: OPAQUE_API,
        ceiling: { scope: 'orders:read' },
        expiresAt: start + 600,
        consumedAt: start,
        accessToken: { format: 'opaque', expiresAt: start + 600 },
        state: 'consumed',
      })
    })

    it('changes from active to expired in the second it expires', async () => {
      const { id } = await issue(on.deployment, { expiresIn: 60 })
      clock.tick(59)
      await expectItem(id, { ...plain(), expiresAt: start + 60, state: 'active' })
      clock.tick(1)
      await expectItem(id, { ...plain(), expiresAt: start + 60, state: 'expired' })
    })

    it('that was used stays consumed after its expiry', async () => {
      const { id, subjectToken } = await issue(on.deployment, { expiresIn: 60 })
      await exchange(on.deployment, { subject_token: subjectToken })
      clock.tick(3600)
      expect((await show(on.deployment, id)).body.state).to.equal('consumed')
    })

    it('that was revoked is revoked, and stays so', async () => {
      const { id } = await issue(on.deployment, { expiresIn: 60 })
      clock.tick(10)
      await revoke(on.deployment, id)
      const revoked = { revokedAt: start + 10, revocation: { cause: 'api', client: 'backend' } }
      const expected = { ...plain(), expiresAt: start + 60, ...revoked, state: 'revoked' }
      await expectItem(id, expected)
      clock.tick(600)
      await revoke(on.deployment, id)
      await expectItem(id, expected)
    })

    it('that was used and revoked is revoked, and shows how long its JWT lives', async () => {
      const { id, subjectToken } = await issue(on.deployment)
      const { body } = await exchange(on.deployment, { subject_token: subjectToken, scope: 'orders:read' })
      clock.tick(10)
      await revoke(on.deployment, id)
      await expectItem(id, {
        ...plain(),
        usedBy: 'spa',
        resource: API,
        scope: 'orders:read',
        expiresAt: start + 600,
        consumedAt: start,
        revokedAt: start + 10,
        revocation: { cause: 'api', client: 'backend' },
        accessToken: { format: 'jwt', jti: decodeJwt(body.access_token).jti, expiresAt: start + 600 },
        state: 'revoked',
      })
    })

    it('never contains a subject token, an access token, a hash of one, or the id of a Grant', async () => {
      const { deployment } = on
      const secrets: string[] = []
      const ids: string[] = []
      for (const resource of [API, OPAQUE_API]) {
        const { id, subjectToken } = await issue(deployment, { userId: 'erin', context: CONTEXT })
        ids.push(id)
        const actor = await actorToken(deployment)
        const { body } = await exchange(deployment, {
          subject_token: subjectToken,
          resource,
          ...withActor(actor),
        })
        secrets.push(subjectToken, body.access_token, actor)
      }
      const unused = await issue(deployment, { userId: 'erin' })
      ids.push(unused.id)
      secrets.push(unused.subjectToken)
      const store = createSubjectTokenStore(on.database.sequelize)
      for (const id of ids) {
        const { tokenHash = '', use } = (await store.find(deployment.issuer, id)) ?? {}
        secrets.push(tokenHash, ...(use?.grantId === undefined ? [] : [use.grantId]))
      }
      const responses = [
        await list(deployment, { limit: '100' }),
        await show(deployment, unused.id),
        await revokeWhere(deployment, { userId: 'erin' }),
        await list(deployment, { limit: '100', state: 'revoked' }),
        await postSubjectToken(deployment, { userId: 'nobody' }),
      ]
      const seen = responses.map(({ text, headers }) => text + JSON.stringify([...headers])).join('\n')
      expect(seen).to.include('"opaque"')
      for (const secret of secrets) {
        for (const encoding of ['hex', 'base64', 'base64url'] as const) {
          expect(seen).not.to.include(createHash('sha256').update(secret).digest(encoding))
        }
        expect(seen).not.to.include(secret)
      }
    })
  })
})
