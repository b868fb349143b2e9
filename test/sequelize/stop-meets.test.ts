/** A stop and what happens beside it, in orders that are made by hand. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import { overtaking } from '../../fixtures/hooks.ts'
import { itOn, onEachKind } from '../../fixtures/on-database.ts'
import { allOf } from '../../fixtures/revocations.ts'
import { driverOf } from '../../src/sequelize/drivers.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { numberOf } from '../../src/sequelize/tokens/issuers.ts'
import type { SubjectTokenStore } from '../../src/subject-tokens/store.ts'
import { BY_API, NOW, tokensIn } from '../../src/testing/store/tokens.ts'

onEachKind((kind) => {
  describe('subject token store: a stop', () => {
    let database: Database
    let store: SubjectTokenStore
    let tokens: ReturnType<typeof tokensIn>
    beforeEach(async () => {
      database = await openDatabase(kind)
      store = createSubjectTokenStore(database.sequelize)
      tokens = tokensIn(store)
    })
    afterEach(() => database.close())

    for (const [what, stop] of [
      ['a revocation', (issuer: string, id: string) => store.revoke(issuer, id, NOW, BY_API)],
      [
        'a kill switch',
        (issuer: string) => allOf(store.revokeWhere(issuer, { userId: 'alice' }, NOW, BY_API)),
      ],
    ] as const) {
      it(`by ${what}, answered between the look and the spend, is the end of the token`, async () => {
        const { issuer, insert, newUse, stored } = tokens
        const pool = database.connect()
        const overtake = overtaking(pool)
        const slow = createSubjectTokenStore(pool)
        const { id } = await insert()
        const token = (await slow.find(issuer, id)) ?? expect.fail('not found')
        overtake(/^INSERT INTO subject_token_uses/, () => stop(issuer, id))
        expect(await slow.consume(token, NOW, newUse())).to.equal(false)
        const { use, revokedAt } = await stored(id)
        expect([use, revokedAt]).to.deep.equal([undefined, NOW])
      })

      it(`by ${what} that read before a spend returns what the spend has written`, async () => {
        const { issuer, insert, newUse } = tokens
        const token = await insert()
        const pool = database.connect()
        const overtake = overtaking(pool)
        const late = createSubjectTokenStore(pool)
        await late.find(issuer, token.id)
        const opaque = { format: 'opaque', expiresAt: NOW + 600 } as const
        const use = newUse({ accessToken: opaque, grantId: 'grant', actor: { sub: 'bob' } })
        overtake(/^INSERT INTO subject_token_stops/, async () => {
          expect(await store.consume(token, NOW, use)).to.equal(true)
        })
        const [stopped] =
          what === 'a revocation'
            ? [await late.revoke(issuer, token.id, NOW, BY_API)]
            : await allOf(late.revokeWhere(issuer, { userId: 'alice' }, NOW, BY_API))
        expect(stopped?.unreported).to.equal(true)
        expect(stopped?.token.use).to.deep.equal({
          ...{ clientId: 'spa', actor: { sub: 'bob' }, accessToken: opaque, grantId: 'grant' },
        })
        // It was not spent when it was stopped, and its access token lives.
        const shown = await store.findStopped(issuer, NOW)
        expect(shown.map(({ expiresAt }) => expiresAt)).to.deep.equal([NOW + 600])
      })
    }

    it('of a name with many rows finds what is spent between its two walks', async () => {
      const { issuer, insert, newUse, stored } = tokens
      // So many that what is open and what lives are walked.
      await Promise.all(Array.from({ length: 1000 }, () => insert({ expiresAt: NOW })))
      const token = await insert()
      const pool = database.connect()
      const walks: string[] = []
      const driver = driverOf(pool)
      const { run } = driver
      driver.run = async (connection, text, bindings) => {
        const [, walk] = /AS found FROM .* (open|live) >= /s.exec(text.sql) ?? []
        if (walk !== undefined && !walks.includes(walk)) {
          walks.push(walk)
          if (walks.length === 2) await store.consume(token, NOW, newUse())
        }
        return run(connection, text, bindings)
      }
      await allOf(createSubjectTokenStore(pool).revokeWhere(issuer, { userId: 'alice' }, NOW, BY_API))
      expect(walks).to.have.length(2)
      expect((await stored(token.id)).revokedAt).to.equal(NOW)
    }).timeout(20_000)

    it('is none where there is a replay alone', async () => {
      const { issuer, spend, stored, listed } = tokens
      const accessToken = { format: 'jwt', expiresAt: NOW + 1 } as const
      const token = await spend({ accessToken })
      expect(await store.recordReplay(token, { at: NOW + 1, clientId: 'thief' })).to.equal(false)
      expect(await stored(token.id)).to.deep.equal({ ...token, replay: { at: NOW + 1, clientId: 'thief' } })
      for (const filter of [{ state: 'consumed' }, { replayed: true }, { live: true }] as const)
        expect(await listed(filter), JSON.stringify(filter)).to.deep.equal([token.id])
      expect(await listed({ state: 'revoked' })).to.deep.equal([])
      expect(await store.findStopped(issuer, 0)).to.deep.equal([])
      expect(await store.report(issuer, [token.id])).to.deep.equal([])
      for await (const counts of store.summarize(issuer, NOW, NOW + 1))
        expect(counts).to.include({ exchanged: 1, replayed: 1, revoked: 0, ended: 0 })
      for await (const live of store.countLive(issuer, NOW)) expect(live).to.equal(1)
      // A stop is written beside it, and both stay.
      const stopped = await store.revoke(issuer, token.id, NOW, BY_API)
      expect(stopped).to.have.property('unreported', true)
      expect(await stored(token.id)).to.deep.include({
        revocation: BY_API,
        replay: { at: NOW + 1, clientId: 'thief' },
      })
    })
  })
})

for (const kind of ['postgres', 'mysql'] as const) {
  describe(`subject token store: a spend, on ${kind}`, () => {
    itOn(kind, 'that waits for a stop is refused when the stop commits', async () => {
      const database = await openDatabase(kind)
      try {
        const store = createSubjectTokenStore(database.sequelize)
        const { issuer, insert, newUse, stored } = tokensIn(store)
        const token = await insert()
        const id = kind === 'mysql' ? `X'${token.id}'` : `'${token.id}'`
        const spent: Promise<boolean>[] = []
        await database.connect().transaction(async (transaction) => {
          const write = (sql: string) => database.sequelize.query(sql, { transaction })
          await write(`INSERT INTO subject_token_stops (token_id, issuer, number, stopped_at, cause)
            VALUES (${id}, ${numberOf(issuer)}, ${token.statusIndex}, ${NOW}, 'host')`)
          await write(`INSERT INTO subject_token_uses (token_id, issuer) VALUES (${id}, ${numberOf(issuer)})`)
          spent.push(store.consume(token, NOW, newUse()))
          const first = await Promise.race([spent[0], sleep(300, 'waits')])
          expect(first).to.equal('waits')
        })
        expect(await spent[0]).to.equal(false)
        const { use, revokedAt } = await stored(token.id)
        expect([use, revokedAt]).to.deep.equal([undefined, NOW])
      } finally {
        await database.close()
      }
    })
  })
}
