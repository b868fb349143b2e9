/** What changes between issuance and exchange: users, actors, resources. */
import { expect } from 'chai'
import { type Account, errors, type KoaContextWithOIDC, type ResourceServer } from 'oidc-provider'
import { actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { API, OPAQUE_API, RESOURCES } from '../../fixtures/deployment.ts'
import { onSqlite } from '../../fixtures/each-database.ts'
import { ACTOR_TOKEN_REFUSED, SUBJECT_TOKEN_REFUSED } from '../../fixtures/refused.ts'
import { exchange, introspect, issue } from '../../fixtures/requests.ts'
import { onlyEvent } from './refusals.ts'

describe('token exchange: what changed since the issuance', () => {
  const gone = new Set<string>()
  const broken = new Set<string>()
  const disabled = new Set<string>()
  const returned: { value: unknown } = { value: undefined }
  const asked: { route?: string; accountId?: string; resource: string }[] = []
  /** What each user may do. No one else may do anything. */
  const rights: Readonly<Record<string, string>> = {
    alice: 'orders:read',
    dave: 'orders:read orders:write',
    bob: 'orders:read orders:write admin',
  }

  const overrides = {
    configuration: {
      async findAccount(_ctx: unknown, id: string): Promise<Account | undefined> {
        if (broken.has(id)) throw new Error('private: directory is down')
        if (gone.has(id) || !['alice', 'bob', 'dave', 'erin'].includes(id)) return undefined
        return { accountId: id, claims: () => ({ sub: id }) }
      },
      features: {
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo(ctx: KoaContextWithOIDC, resource: string): ResourceServer {
            const accountId = ctx.oidc.entities.Account?.accountId
            asked.push({ route: ctx.oidc.route, accountId, resource })
            const info = RESOURCES[resource]
            if (!info || disabled.has(resource)) throw new errors.InvalidTarget()
            if (returned.value !== undefined) return returned.value as ResourceServer
            return { ...info, scope: rights[accountId ?? ''] ?? '' }
          },
        },
      } as never,
    },
  }

  onSqlite(overrides, (on) => {
    beforeEach(() => {
      for (const set of [gone, broken, disabled]) set.clear()
      returned.value = undefined
      asked.length = 0
    })
    const send = (subjectToken: string, changes = {}) =>
      exchange(on.deployment, { subject_token: subjectToken, ...changes })

    it('refuses the token of a user that was removed, spends nothing, and accepts it when the user is back', async () => {
      const { subjectToken, id } = await issue(on.deployment)
      gone.add('alice')
      const before = on.deployment.events.length
      const response = await send(subjectToken)
      expect([response.status, response.body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
      const event = onlyEvent(on.deployment, 'subject_token.refused', before)
      expect(event).to.include({
        check: 'subject_token',
        reason: 'the user is gone or disabled',
        clientId: 'spa',
      })
      expect(event.id ?? id).to.equal(id)
      expect(asked, 'the resource was asked about before the user').to.deep.equal([])
      gone.clear()
      expect((await send(subjectToken)).status).to.equal(200)
    })

    it('refuses an actor that was removed, JWT and opaque, and spends nothing', async () => {
      for (const format of ['jwt', 'opaque'] as const) {
        const actor = await actorToken(on.deployment, { format })
        const { subjectToken } = await issue(on.deployment)
        gone.add('bob')
        const response = await send(subjectToken, withActor(actor))
        expect([response.status, response.body]).to.deep.equal([400, ACTOR_TOKEN_REFUSED])
        gone.clear()
        expect((await send(subjectToken, withActor(actor))).status).to.equal(200)
      }
    })

    for (const [title, who] of [
      ['the user', 'alice'],
      ['the actor', 'bob'],
    ] as const) {
      it(`fails when ${title} cannot be looked up: a failure is not a refusal`, async () => {
        const actor = withActor(await actorToken(on.deployment))
        const { subjectToken } = await issue(on.deployment)
        broken.add(who)
        const before = on.deployment.events.length
        const response = await send(subjectToken, actor)
        expect([response.status, response.body.error], response.text).to.deep.equal([500, 'server_error'])
        expect(response.text).not.to.include('private')
        expect(onlyEvent(on.deployment, 'subject_token.refused', before).error).to.equal('server_error')
        broken.clear()
        expect((await send(subjectToken, actor)).status).to.equal(200)
      })
    }

    it('refuses a resource that was disabled, spends nothing, and accepts it when it is enabled again', async () => {
      for (const resource of [API, OPAQUE_API]) {
        const { subjectToken, id } = await issue(on.deployment, { resource })
        disabled.add(resource)
        const before = on.deployment.events.length
        const response = await send(subjectToken, { resource })
        expect([response.status, response.body.error], response.text).to.deep.equal([400, 'invalid_target'])
        expect(onlyEvent(on.deployment, 'subject_token.refused', before)).to.include({
          id,
          error: 'invalid_target',
        })
        disabled.clear()
        expect((await send(subjectToken, { resource })).status).to.equal(200)
      }
    })

    it('fails, and spends nothing, when the description of the resource is malformed', async () => {
      const { subjectToken } = await issue(on.deployment)
      for (const value of [null, 7, 'x', []]) {
        returned.value = value
        const response = await send(subjectToken)
        expect([response.status, response.body.error], response.text).to.deep.equal([500, 'server_error'])
        expect(response.body).not.to.have.property('access_token')
      }
      returned.value = undefined
      expect((await send(subjectToken)).status).to.equal(200)
    })

    for (const resource of [API, OPAQUE_API]) {
      it(`grants no more of ${resource} than the target user has, no matter who acts`, async () => {
        const bob = withActor(await actorToken(on.deployment))
        for (const [userId, expected] of [
          ['alice', 'orders:read'],
          ['dave', 'orders:read orders:write'],
        ] as const) {
          for (const actor of [{}, bob]) {
            const { subjectToken } = await issue(on.deployment, { userId })
            asked.length = 0
            const response = await send(subjectToken, {
              resource,
              scope: 'orders:read orders:write admin',
              ...actor,
            })
            expect([response.status, response.body.scope], response.text).to.deep.equal([200, expected])
            expect(asked).to.deep.equal([{ route: 'token', accountId: userId, resource }])
            if (resource !== OPAQUE_API) continue
            const seen = await introspect(on.deployment, response.body.access_token)
            expect([seen.sub, seen.scope]).to.deep.equal([userId, expected])
          }
        }
      })

      it(`refuses a scope of ${resource} that only the actor has`, async () => {
        const { subjectToken } = await issue(on.deployment, { userId: 'erin' })
        const actor = withActor(await actorToken(on.deployment))
        const response = await send(subjectToken, { resource, scope: 'orders:read', ...actor })
        expect([response.status, response.body.error], response.text).to.deep.equal([400, 'invalid_scope'])
        const plain = await send(subjectToken, { resource, ...actor })
        expect([plain.status, plain.body.scope], plain.text).to.deep.equal([200, undefined])
      })
    }
  })
})
