/** `DELETE /api/subject-tokens/{id}` (protocol.md §2.2, §6): what it ends, and which events it emits. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { webClient } from '../../fixtures/clients.ts'
import { stopClock } from '../../fixtures/clock.ts'
import { API, type Deployment, OPAQUE_API } from '../../fixtures/deployment.ts'
import { onEachDatabase } from '../../fixtures/each-database.ts'
import type { HttpResponse } from '../../fixtures/http.ts'
import { manage, revoke, show } from '../../fixtures/management.ts'
import { SUBJECT_TOKEN_REFUSED } from '../../fixtures/refused.ts'
import { exchange, introspect, issue, managementToken } from '../../fixtures/requests.ts'
import { recordRuns } from '../../fixtures/runs.ts'
import { BY_API } from '../../fixtures/subject-tokens.ts'
import { createAdapter, createSubjectTokenStore } from '../../src/sequelize/index.ts'

const eventsSince = ({ events }: Deployment, before: number) =>
  events.slice(before).map(({ name, payload }) => [name, payload])

describe('management: revoking one', () => {
  onEachDatabase({}, (on) => {
    const exchangeFor = async (resource: string, body: Readonly<Record<string, unknown>> = {}) => {
      const { id, subjectToken } = await issue(on.deployment, body)
      const actor = withActor(await actorToken(on.deployment))
      const parameters = { subject_token: subjectToken, resource, scope: 'orders:read', ...actor }
      const response = await exchange(on.deployment, parameters, { client: webClient() })
      expect(response.status, response.text).to.equal(200)
      return { id, subjectToken, accessToken: response.body.access_token as string }
    }

    const expectRevoked = async (id: string) => {
      const response = await revoke(on.deployment, id)
      expect([response.status, response.text]).to.deep.equal([204, ''])
      expect(response.headers.get('cache-control')).to.equal('no-store')
    }

    it('an unused token: no one can exchange it any more, and one event says who revoked it', async () => {
      const { id, subjectToken } = await issue(on.deployment, { actorId: 'bob', clientId: 'spa' })
      const before = on.deployment.events.length
      await expectRevoked(id)
      const parameters = { subject_token: subjectToken, ...withActor(await actorToken(on.deployment)) }
      const response = await exchange(on.deployment, parameters)
      expect([response.status, response.body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
      const [revoked, refused, ...more] = on.deployment.events.slice(before)
      expect(revoked?.name).to.equal('subject_token.revoked')
      expect(revoked?.payload).to.be.frozen.and.deep.equal({
        id,
        userId: 'alice',
        actorId: 'bob',
        clientId: 'spa',
        revokedBy: 'backend',
        revocation: BY_API,
      })
      expect(refused?.name).to.equal('subject_token.refused')
      expect(refused?.payload).to.include({ check: 'subject_token', reason: 'revoked' })
      expect(more).to.deep.equal([])
    })

    it('a used one: its opaque access token is inactive at the next introspection', async () => {
      const { id, accessToken } = await exchangeFor(OPAQUE_API)
      const other = await exchangeFor(OPAQUE_API)
      expect(await introspect(on.deployment, accessToken)).to.include({ active: true, sub: 'alice' })
      const before = on.deployment.events.length
      await expectRevoked(id)
      expect(await introspect(on.deployment, accessToken)).to.deep.equal({ active: false })
      expect((await introspect(on.deployment, other.accessToken)).active).to.equal(true)
      const payload = {
        id,
        userId: 'alice',
        actorId: 'bob',
        clientId: 'web',
        revokedBy: 'backend',
        revocation: BY_API,
      }
      expect(eventsSince(on.deployment, before)).to.deep.equal([
        ['subject_token.revoked', { ...payload, ended: 'now' }],
      ])
    })

    it('leaves nothing of the opaque access token in the database', async () => {
      const { id, accessToken } = await exchangeFor(OPAQUE_API)
      const rows = async () => {
        const sql = `SELECT model FROM oidc_models WHERE model IN ('Grant', 'AccessToken') AND payload LIKE '%token-exchange%'`
        const [found] = await on.database.sequelize.query(sql)
        return found.length
      }
      const before = await rows()
      await expectRevoked(id)
      expect(await rows()).to.be.lessThan(before)
      expect(await on.deployment.provider.AccessToken.find(accessToken)).to.equal(undefined)
    })

    it('a used one: its JWT is ended by its status list, and the item shows until when it would live', async () => {
      const clock = stopClock()
      try {
        const { id, accessToken } = await exchangeFor(API)
        clock.tick(7)
        const before = on.deployment.events.length
        await expectRevoked(id)
        const { accessToken: shown, state } = (await show(on.deployment, id)).body
        expect([shown, state]).to.deep.equal([
          { format: 'jwt', jti: decodeJwt(accessToken).jti, expiresAt: decodeJwt(accessToken).exp },
          'revoked',
        ])
        const { jti } = decodeJwt(accessToken)
        expect(eventsSince(on.deployment, before)[0]?.[1]).to.include({ ended: 'now', jti })
      } finally {
        clock.restore()
      }
    })

    it('again is 204 again, keeps the first time, and emits nothing', async () => {
      const clock = stopClock()
      try {
        const { id } = await issue(on.deployment)
        await expectRevoked(id)
        const first = (await show(on.deployment, id)).body
        const before = on.deployment.events.length
        clock.tick(30)
        await expectRevoked(id)
        expect((await show(on.deployment, id)).body).to.deep.equal(first)
        expect(eventsSince(on.deployment, before)).to.deep.equal([])
      } finally {
        clock.restore()
      }
    })

    it('ten times at once is 204 each time, and one event', async () => {
      const { id, accessToken } = await exchangeFor(OPAQUE_API)
      const token = await managementToken(on.deployment)
      const before = on.deployment.events.length
      const responses = await Promise.all(
        Array.from({ length: 10 }, () => manage(on.deployment, 'DELETE', `/${id}`, { token })),
      )
      expect(new Set(responses.map(({ status }) => status))).to.deep.equal(new Set([204]))
      expect(eventsSince(on.deployment, before).map(([name]) => name)).to.deep.equal([
        'subject_token.revoked',
      ])
      expect((await introspect(on.deployment, accessToken)).active).to.equal(false)
    })

    it('that has expired unused is 204, and leaves it as it is', async () => {
      const clock = stopClock()
      try {
        const { id } = await issue(on.deployment, { expiresIn: 1 })
        clock.tick(5)
        await expectRevoked(id)
        expect((await show(on.deployment, id)).body.state).to.equal('expired')
      } finally {
        clock.restore()
      }
    })

    it('a used one, where there are no status lists: its JWT lives on, and the event says so', async () => {
      const deployment = await on.start({ options: { statusList: false } })
      for (const [resource, ended] of [
        [API, 'kept'],
        [OPAQUE_API, 'now'],
      ] as const) {
        const { id, subjectToken } = await issue(deployment)
        await exchange(deployment, { subject_token: subjectToken, resource })
        await revoke(deployment, id)
        expect(deployment.events.at(-1)?.payload).to.include({ id, ended })
      }
    })

    it('whose access token has expired is 204, and writes nothing to the provider', async () => {
      const clock = stopClock()
      try {
        const [stopped, over] = [await exchangeFor(OPAQUE_API), await exchangeFor(OPAQUE_API)]
        await expectRevoked(stopped.id)
        clock.tick(600)
        const token = await managementToken(on.deployment)
        const before = on.deployment.events.length
        for (const { id } of [stopped, over]) {
          const runs = await recordRuns(on.database, () =>
            manage(on.deployment, 'DELETE', `/${id}`, { token }),
          )
          expect(runs.filter(({ sql }) => /^DELETE FROM oidc_models/.test(sql))).to.deep.equal([])
        }
        expect((await show(on.deployment, over.id)).body.state).to.equal('consumed')
        expect(eventsSince(on.deployment, before)).to.deep.equal([])
      } finally {
        clock.restore()
      }
    })

    it('that is unknown is 404, and emits nothing', async () => {
      const before = on.deployment.events.length
      const response = await revoke(on.deployment, '0'.repeat(32))
      expect([response.status, response.body.error]).to.deep.equal([404, 'not_found'])
      expect(eventsSince(on.deployment, before)).to.deep.equal([])
    })

    it('after an exchange that was faster than its mark: the access token has ended', async () => {
      const store = createSubjectTokenStore(on.database.sequelize)
      let before: () => Promise<unknown> = async () => {}
      const slow = await on.start({
        options: {
          store: {
            ...store,
            async revoke(...call) {
              await before()
              return store.revoke(...call)
            },
          },
        },
      })
      const { id, subjectToken } = await issue(slow)
      let exchanged: HttpResponse | undefined
      before = async () => {
        exchanged = await exchange(slow, { subject_token: subjectToken, resource: OPAQUE_API })
      }
      expect((await revoke(slow, id)).status).to.equal(204)
      expect(exchanged?.status, exchanged?.text).to.equal(200)
      expect(await introspect(slow, exchanged?.body.access_token)).to.deep.equal({ active: false })
      expect(slow.events.at(-1)?.payload).to.include({ id, ended: 'now' })
    })

    it('between the spend and the access token: the token in the response is already inactive', async () => {
      const hook: { run?: () => Promise<unknown> } = {}
      const slow = await on.start({
        configuration: {
          adapter: (model) => {
            const adapter = createAdapter(on.database.sequelize, { namespace: 'slow' })(model)
            const upsert = adapter.upsert.bind(adapter)
            return Object.assign(adapter, {
              async upsert(...parameters: Parameters<typeof upsert>) {
                if (model === 'AccessToken') await hook.run?.()
                return upsert(...parameters)
              },
            })
          },
        },
      })
      const { id, subjectToken } = await issue(slow)
      hook.run = () => revoke(slow, id)
      const response = await exchange(slow, { subject_token: subjectToken, resource: OPAQUE_API })
      hook.run = undefined
      expect(response.status, response.text).to.equal(200)
      expect((await show(slow, id)).body.state).to.equal('revoked')
      expect(await introspect(slow, response.body.access_token)).to.deep.equal({ active: false })
      expect(slow.events.map(({ name }) => name)).to.deep.equal([
        'subject_token.issued',
        'subject_token.revoked',
        'subject_token.exchanged',
      ])
    })
  })
})
