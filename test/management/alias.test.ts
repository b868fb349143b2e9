/** Names that `findAccount` knows accounts by, in the list and in the kill switch (protocol.md §2.2). */
import { expect } from 'chai'
import type { Account } from 'oidc-provider'
import { accounts } from '../../fixtures/accounts.ts'
import { actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { tooLate } from '../../fixtures/clock.ts'
import type { Deployment } from '../../fixtures/deployment.ts'
import { onEachDatabase } from '../../fixtures/each-database.ts'
import { idsOf, list, revokeWhere, show } from '../../fixtures/management.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import { emptyTables } from '../../fixtures/tables.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

type FindAccount = (ctx: unknown, id: string) => Promise<Account | undefined>

describe('management: aliases of accounts', () => {
  onEachDatabase({}, (on) => {
    const known = accounts().findAccount
    const state: { findAccount: FindAccount } = { findAccount: known }
    let deployment: Deployment
    before(async function () {
      if (!on.database) this.skip()
      deployment = await on.start({
        configuration: { findAccount: (ctx, id) => state.findAccount(ctx, id) },
        options: { customClaimsTimeout: 1 },
      })
    })
    beforeEach(async () => {
      state.findAccount = known
      deployment.errors.length = 0
      await emptyTables(on.database)
    })
    const account = (accountId: string): Account => ({ accountId, claims: () => ({ sub: accountId }) })

    it('a page has what both names find, newest first, and the next page continues', async () => {
      const ids: string[] = []
      for (const actorId of ['alias:bob', 'bob', 'alias:bob', undefined, 'alias:bob', 'bob']) {
        const { id, subjectToken } = await issue(deployment, { actorId })
        ids.unshift(id)
        if (actorId === undefined) {
          const actor = withActor(await actorToken(deployment))
          const response = await exchange(deployment, { subject_token: subjectToken, ...actor })
          expect(response.status, response.text).to.equal(200)
        }
        await issue(deployment, { actorId: 'carol' })
      }
      for (const limit of [1, 2, 4, 5, 6, 7]) {
        const read: string[] = []
        let cursor: string | undefined
        do {
          const page = await list(deployment, { actorId: 'alias:bob', limit: String(limit), cursor })
          read.push(...idsOf(page))
          cursor = page.body.nextCursor
          expect(cursor, `${read.length} of ${limit}`).to.equal(read.length < 6 ? read.at(-1) : undefined)
        } while (cursor)
        expect(read).to.deep.equal(ids)
      }
    })

    it('the kill switch ends what matches the name as given before it looks the account up', async () => {
      const given = await issue(deployment, { actorId: 'alias:bob' })
      const found = await issue(deployment, { actorId: 'bob' })
      const states: string[] = []
      state.findAccount = async (ctx, id) => {
        for (const one of [given, found]) {
          const record = await createSubjectTokenStore(on.database.sequelize).find(deployment.issuer, one.id)
          states.push(record?.revokedAt === undefined ? 'active' : 'revoked')
        }
        return known(ctx, id)
      }
      const response = await revokeWhere(deployment, { actorId: 'alias:bob' })
      expect([response.status, response.body]).to.deep.equal([200, { revoked: 2 }])
      expect(states).to.deep.equal(['revoked', 'active'])
    })

    it('the kill switch ends what the account has when the name as given fails, and reports the failure', async () => {
      const store = createSubjectTokenStore(on.database.sequelize)
      const failing = await on.start({
        options: {
          store: {
            ...store,
            revokeWhere: (issuer, filter, now, revocation) => {
              if ('actorId' in filter && filter.actorId === 'alias:bob') throw new Error('private: down')
              return store.revokeWhere(issuer, filter, now, revocation)
            },
          },
        },
      })
      const { id } = await issue(failing, { actorId: 'bob' })
      const response = await revokeWhere(failing, { actorId: 'alias:bob' })
      expect([response.status, response.body.error], response.text).to.deep.equal([
        503,
        'temporarily_unavailable',
      ])
      expect((await show(failing, id)).body.state).to.equal('revoked')
    })

    it('calls findAccount with the context of the management API, once for each name, and not for clients', async () => {
      const asked: unknown[] = []
      state.findAccount = async (ctx, id) => {
        asked.push([id, Reflect.get(Reflect.get(Object(ctx), 'oidc'), 'client').clientId])
        return known(ctx, id)
      }
      await list(deployment, { userId: 'alice', actorId: 'bob', clientId: 'spa' })
      await list(deployment, { clientId: 'spa' })
      await revokeWhere(deployment, { userId: 'carol' })
      await list(deployment, { createdBy: 'backend' })
      await revokeWhere(deployment, { createdBy: 'backend' })
      expect(asked).to.deep.equal([
        ['alice', 'backend'],
        ['bob', 'backend'],
        ['carol', 'backend'],
      ])
    })

    const ignorant: [title: string, findAccount: FindAccount, told: RegExp | undefined][] = [
      ['knows nothing', async () => undefined, undefined],
      ['rejects', () => Promise.reject(new Error('private: no directory')), /^findAccount failed$/],
      [
        'throws',
        () => {
          throw new Error('private: no directory')
        },
        /^findAccount failed$/,
      ],
      ['takes too long', () => tooLate(1), /^findAccount took more than 1 s$/],
      ['returns something else', async () => ({ accountId: 7 }) as never, /^findAccount failed$/],
      ['returns an id that no row can have', async () => account('alice\0'), undefined],
      ['returns the same id', async (_ctx, id) => account(id), undefined],
    ]
    for (const [title, findAccount, told] of ignorant) {
      it(`a findAccount that ${title} reduces the list and the kill switch to what the name finds`, async () => {
        const { id } = await issue(deployment, { actorId: 'alias:bob' })
        const other = await issue(deployment, { actorId: 'bob' })
        state.findAccount = findAccount
        const listed = await list(deployment, { actorId: 'alias:bob', userId: 'alice' })
        expect([listed.status, idsOf(listed)], listed.text).to.deep.equal([200, [id]])
        const response = await revokeWhere(deployment, { actorId: 'alias:bob' })
        expect([response.status, response.body], response.text).to.deep.equal([200, { revoked: 1 }])
        expect((await show(deployment, other.id)).body.state).to.equal('active')
        // The operator learns of it, the caller does not.
        const messages = deployment.errors.map((error) => (error instanceof Error ? error.message : ''))
        expect(messages).to.have.length(told ? 3 : 0)
        for (const message of messages) expect(message).to.match(told ?? /^$/)
        expect(listed.text + response.text).not.to.include('private')
      })
    }
  })
})
