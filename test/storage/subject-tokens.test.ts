import { expect } from 'chai'
import { losingResults } from '../../fixtures/hooks.ts'
import { onEachKind, useDatabase } from '../../fixtures/on-database.ts'
import { allOf } from '../../fixtures/revocations.ts'
import { around, recordRuns } from '../../fixtures/runs.ts'
import { sessionsIn, sessionUse } from '../../packages/store-contract/src/store/sessions.ts'
import {
  BY_API,
  chainOf,
  ENDS_AT,
  LATER,
  NOW,
  newUse,
  tokensIn,
} from '../../packages/store-contract/src/store/tokens.ts'
import { text } from '../../src/sequelize/database/text.ts'
import { databaseOf } from '../../src/sequelize/drivers.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { numberOf } from '../../src/sequelize/tokens/place.ts'
import {
  type Revoked,
  SESSION_METHODS,
  type SubjectTokenFilter,
  type SubjectTokenStore,
} from '../../src/tokens/store.ts'

/** What the store over Sequelize does beyond the contract of every store: how much it reads, and in which statements. */
onEachKind((kind) => {
  describe('subject token store', () => {
    const database = useDatabase(kind)
    let store: SubjectTokenStore
    before(() => {
      store = createSubjectTokenStore(database.sequelize)
    })

    const opened = () => sessionsIn(store, store.sessions ?? expect.fail('no sessions'))
    const idsOf = (revocations: readonly Revoked[]) => revocations.map(({ token }) => token.id).sort()

    it('costs as many statements as are said here, each', async () => {
      const { issuer, insert, newToken, spend } = tokensIn(store)
      const lists = tokensIn(store)
      const { issue, open, sessions, due, ...ofSessions } = opened()
      // An issuer that is new to the database costs more.
      await Promise.all([insert(), lists.insert(), ofSessions.insert()])
      await lists.spend({ actor: { sub: 'carol' } }, { userId: 'bob' })
      const [token, acted, long, replayed, stopped] = [
        newToken(),
        await insert(),
        await insert(),
        await spend(),
        await insert(),
      ]
      const [unopened, { id: session }] = [await issue(), await open()]
      const chain = (length: number) => chainOf(Array.from({ length }, (_, index) => `actor-${index}`))
      const list = (filter: SubjectTokenFilter, of = lists.issuer) =>
        store.list(of, filter, { limit: 50, now: NOW })
      const costs: readonly [statements: number, what: string, call: () => Promise<unknown>][] = [
        [1, 'an insertion', () => store.insert(token)],
        [1, 'to find', () => store.find(issuer, token.id)],
        [1, 'a spend', () => store.consume(token, NOW, newUse())],
        [1, 'a spend that loses', () => store.consume(token, NOW, newUse())],
        [2, 'a spend by two actors', () => store.consume(acted, NOW, newUse({ actor: chain(2) }))],
        [2, 'a spend by ten actors', () => store.consume(long, NOW, newUse({ actor: chain(10) }))],
        [2, 'a replay', () => store.recordReplay(replayed, { at: NOW, clientId: 'thief' })],
        // As long for one id as for another: what was said of its alarms is not decided by.
        [1, 'to find what was replayed', () => store.find(issuer, replayed.id)],
        [4, 'to list by id', () => list({ id: token.id }, issuer)],
        [1, 'a report', () => store.report(issuer, [token.id])],
        [4, 'a stop', () => store.revoke(issuer, stopped.id, NOW, BY_API)],
        [
          1,
          'a kill switch of no one',
          () => allOf(store.revokeWhere(issuer, { userId: 'no one' }, NOW, BY_API)),
        ],
        [1, 'to open a session', () => store.consume(unopened, NOW, sessionUse())],
        [1, 'to open it again', () => store.consume(unopened, NOW, sessionUse())],
        [1, 'to find what is due', () => due(LATER)],
        [1, 'a claim', () => sessions.claim(ofSessions.issuer, session, ENDS_AT, ENDS_AT + 1)],
        [1, 'an attempt', () => sessions.settle(ofSessions.issuer, session, { mark: ENDS_AT + 2, at: NOW })],
        [
          1,
          'an answer',
          () => sessions.settle(ofSessions.issuer, session, { mark: null, logout: 'confirmed', at: NOW }),
        ],
        // One for each index that has its names, three for the records, and one for what was said of their alarms.
        ...[
          {},
          { userId: ['bob'] },
          { createdBy: 'backend' },
          { createdAfter: NOW - 9 },
          { live: true },
          { state: 'active' },
          { live: true, userId: undefined, state: undefined },
          { live: true, userId: ['bob'] },
          { userId: ['bob'], clientId: 'spa' },
        ].map((filter): (typeof costs)[0] => [
          4,
          JSON.stringify(filter),
          () => list(filter as SubjectTokenFilter),
        ]),
        [6 + 3, 'to list by two actors', () => list({ actorId: ['carol', 'dave'] })],
        [2 + 3, 'to list by a client', () => list({ clientId: 'spa' })],
        // Where an index finds none.
        [1, 'to list what was replayed', () => list({ replayed: true })],
        [1, 'to list what was without an actor', () => list({ withoutActor: true })],
        [1, 'to list what was stopped', () => list({ state: 'revoked' })],
      ]
      for (const [statements, what, call] of costs) {
        // MariaDB is asked once whether it has other nodes.
        const runs = (await recordRuns(database, call)).filter(({ sql }) => !sql.startsWith('SHOW'))
        expect(runs, what).to.have.length(statements)
        if (what.startsWith('a spend')) expect(JSON.stringify(runs)).not.to.include('session_')
        if (what === 'to open a session') expect(runs[0]?.sql).to.include('session_due, session_logout')
      }
    })

    describe('sessions', () => {
      it('are what the store has', () => {
        expect(store.sessions).to.have.all.keys(...SESSION_METHODS)
      })

      it('are not found, and not written, by another mark, or by what is no id', async () => {
        const { issuer, open, sessions, assertDue } = opened()
        const session = await open()
        for (const mark of [ENDS_AT - 1, ENDS_AT + 1])
          expect(await sessions.claim(issuer, session.id, mark, ENDS_AT + 2)).to.equal(false)
        for (const id of ['', 'x', session.id.toUpperCase(), `${session.id}0`]) {
          expect(await sessions.claim(issuer, id, ENDS_AT, ENDS_AT + 1)).to.equal(false)
          await sessions.settle(issuer, id, { mark: null, at: NOW })
        }
        await assertDue(ENDS_AT, [session], 'an id that is none was found')
      })

      it('are told apart by what their application said first, also where that cannot be read', async () => {
        const { issuer, open, openWith, sessions, stored, due } = opened()
        const { id: answered } = await open()
        for (const logout of ['gaveUp', 'confirmed'] as const)
          await sessions.settle(issuer, answered, { mark: ENDS_AT, logout, at: NOW })
        expect((await stored(answered)).use?.session?.logout).to.equal('gaveUp')
        await sessions.settle(issuer, answered, { mark: null, at: NOW })
        const { id } = await openWith(sessionUse({ grantId: 'imp_grant' }))
        await database.sequelize.query('UPDATE subject_token_uses SET session_logout = 9')
        const { use } = await stored(id)
        expect(use).to.deep.include({ session: { logout: 'pending' }, grantId: 'imp_grant' })
        expect(use?.accessToken.format).to.equal('session')
        expect((await due(ENDS_AT))[0]).to.include({ id, logout: 'pending' })
      })
    })

    describe('issuers', () => {
      it('are written at their first use, compared by every process, and never confused', async () => {
        const { issuer, insert, newToken } = tokensIn(store)
        await insert()
        const other = createSubjectTokenStore(database.connect())
        const { dialect } = databaseOf(database.sequelize)
        await databaseOf(database.sequelize).write(
          'UPDATE impersonation_issuers SET issuer = $1 WHERE number = $2',
          [dialect.bindName('https://forged.example.com'), numberOf(issuer)],
        )
        const calls = [
          () => other.insert(newToken()),
          () => other.find(issuer, newToken().id),
          () => other.list(issuer, {}, { limit: 1, now: NOW }),
        ]
        for (const call of calls) {
          const error = await call().catch((thrown: unknown) => thrown)
          expect(error).to.have.property('forOperators').that.includes('two issuers')
        }
      })

      it('are asked for again after a failure', async () => {
        const { issuer, newToken, insert } = tokensIn(store)
        await insert()
        const pool = database.connect()
        const lose = losingResults(pool)
        const losing = createSubjectTokenStore(pool)
        lose(/^INSERT INTO impersonation_issuers/)
        const fresh = tokensIn(losing)
        const failed = await fresh.insert().catch((thrown: unknown) => thrown)
        expect(failed).to.have.property('name', 'StorageError')
        await fresh.insert()
        expect(await losing.find(issuer, newToken().id)).to.equal(undefined)
      })
    })

    describe('what cannot be read', () => {
      const spoil = (sql: string, id: string) => {
        const { dialect } = databaseOf(database.sequelize)
        return databaseOf(database.sequelize).write(sql, [dialect.bindId(id)])
      }
      const open = () => {
        const lines: string[] = []
        const pool = database.connect({ logging: (line) => void lines.push(line) })
        const told = (id: string) => lines.filter((line) => line.includes(id))
        return { store: createSubjectTokenStore(pool), told }
      }

      it('is left out of a list, and told once, where no one decides by it', async () => {
        const { issuer, insert, spend, stored } = tokensIn(store)
        const { id: context } = await insert({ context: { reason: 'x' } })
        const { id: actor } = await spend({ actor: { sub: 'bob', clientId: 'phone' } })
        const { id: stopped } = await spend()
        await store.revoke(issuer, stopped, NOW, { ...BY_API, reason: 'y' })
        await spoil(`UPDATE subject_tokens SET context = '{"rea' WHERE id = $1`, context)
        await spoil(`UPDATE subject_token_uses SET actor = '"bob"' WHERE token_id = $1`, actor)
        await spoil(`UPDATE subject_token_stops SET revocation = '[' WHERE token_id = $1`, stopped)
        const log = open()
        for (const _ of [1, 2]) {
          const { tokens } = await log.store.list(issuer, {}, { limit: 9, now: NOW })
          expect(tokens.map(({ id }) => id)).to.deep.equal([stopped, actor, context])
          expect(tokens.map((token) => token.context)).to.deep.equal([{}, {}, {}])
          expect(tokens[0]?.revocation).to.deep.equal({ cause: 'unknown' })
          expect(tokens[1]?.use?.actor).to.deep.equal({ sub: 'bob' })
        }
        for (const id of [context, actor, stopped]) expect(log.told(id)).to.have.length(1)
        expect((await stored(stopped)).revocation).to.deep.equal({ cause: 'unknown' })
      })

      it('is an error where someone decides by it', async () => {
        const { issuer, insert, spend } = tokensIn(store)
        const { id: context } = await insert()
        const { id: actor } = await spend({ actor: { sub: 'bob', act: { sub: 'carol' } } })
        await spoil(`UPDATE subject_tokens SET context = '5' WHERE id = $1`, context)
        await spoil(`UPDATE subject_token_uses SET actor = '{' WHERE token_id = $1`, actor)
        for (const id of [context, actor]) {
          const error = await open()
            .store.find(issuer, id)
            .catch((thrown: unknown) => thrown)
          expect(error).to.have.property('forOperators').that.includes('cannot be read')
        }
      })

      it('is no matter of a stop, which tells nothing of it', async () => {
        const { issuer, spend } = tokensIn(store)
        const { id } = await spend()
        await spoil(`UPDATE subject_token_uses SET resource = '["htt' WHERE token_id = $1`, id)
        expect((await store.revoke(issuer, id, NOW, BY_API))?.token).to.include({ id })
      })

      it('is an unknown cause, where a later version has written one', async () => {
        const { issuer, spend, stored } = tokensIn(store)
        const { id } = await spend()
        await store.revoke(issuer, id, NOW, BY_API)
        await spoil(`UPDATE subject_token_stops SET cause = 'later' WHERE token_id = $1`, id)
        expect((await stored(id)).revocation).to.deep.equal({ cause: 'unknown' })
      })
    })

    it('shows people a record as one row, without its hash', async () => {
      const { issuer, spend } = tokensIn(store)
      const { id } = await spend({ actor: { sub: 'bob' } }, { clientId: 'spa' })
      await store.revoke(issuer, id, NOW, BY_API)
      const rows = await databaseOf(database.sequelize).find('SELECT * FROM subject_token_records', [])
      const row = rows.find((one) => text(one.issuer) === issuer) ?? expect.fail('no row')
      expect(String(row.id).replaceAll('-', '').toLowerCase()).to.equal(id)
      const shown = { user_id: 'alice', used_by: 'spa', used_actor_id: 'bob', cause: 'api' }
      for (const [column, value] of Object.entries(shown)) expect(text(row[column])).to.equal(value)
      expect(Object.keys(row).join()).not.to.include('hash')
    })

    it('lists all that lives and was consumed, past the uses that are looked at first', async () => {
      const { issuer, spend } = tokensIn(store)
      await Promise.all(Array.from({ length: 160 }, () => spend()))
      const { tokens } = await store.list(issuer, { live: true, state: 'consumed' }, { limit: 200, now: NOW })
      expect(tokens).to.have.length(160)
    })

    describe('list, of what no index finds', () => {
      let issuer: string
      const ids: string[] = []
      const list = async (filter: object, cursor?: string) =>
        store.list(issuer, filter, { limit: 50, now: NOW, ...(cursor !== undefined && { cursor }) })

      before(async () => {
        const tokens = tokensIn(store)
        issuer = tokens.issuer
        const many = Array.from({ length: 1003 }, (_, index) =>
          tokens.insert(index < 2 ? { clientId: 'web' } : {}),
        )
        ids.push(...(await Promise.all(many)).map(({ id }) => id))
        await store.revoke(issuer, ids[0] ?? '', NOW, BY_API)
        await store.revoke(issuer, ids[1] ?? '', NOW, BY_API)
      })

      it('finds what was revoked past any number of others', async () => {
        const { tokens, next } = await list({ state: 'revoked' })
        expect([tokens.map(({ id }) => id), next]).to.deep.equal([[ids[1], ids[0]], undefined])
      })

      for (const filter of [
        { userId: ['alice'], state: 'revoked' },
        { userId: ['alice'], clientId: 'web' },
        { createdBy: 'backend', clientId: 'web' },
      ]) {
        it(`reads a thousand rows for a page, and says where it stopped: ${Object.keys(filter)}`, async () => {
          expect(await list(filter)).to.deep.equal({ tokens: [], next: ids[3] })
          const { tokens, ...rest } = await list(filter, ids[3])
          expect([tokens.map(({ id }) => id), rest]).to.deep.equal([[ids[1], ids[0]], {}])
        })
      }

      for (const limit of [50, 51, 101]) {
        it(`fills a page of ${limit}, and says where it ends`, async () => {
          const { tokens, next } = await store.list(issuer, {}, { limit, now: NOW })
          expect(tokens.map(({ id }) => id)).to.deep.equal([...ids].reverse().slice(0, limit))
          expect(next).to.equal(ids.at(-limit))
        })
      }

      it('shows every row that it says it has read, though others are issued meanwhile', async () => {
        const { issuer: one, insert } = tokensIn(store)
        const first = await insert({ clientId: 'web' })
        const many = (count: number) => Promise.all(Array.from({ length: count }, () => insert()))
        await many(999)
        const leave = around(database.sequelize, {
          // Between the statement that finds where to stop, and the one that reads.
          after: () => {
            leave()
            return many(50)
          },
        })
        const filter = { createdBy: 'backend', clientId: 'web' }
        const { tokens, next } = await store.list(one, filter, { limit: 100, now: NOW })
        expect([tokens.map(({ id }) => id), next]).to.deep.equal([[first.id], first.id])
      })

      it('has two texts for pages of up to a hundred', async () => {
        const textOf = async (limit: number) => {
          const runs = await recordRuns(database, () => store.list(issuer, {}, { limit, now: NOW }))
          // What finds the page: the records are read by ids, of few sizes.
          return runs[0]?.sql
        }
        expect(await textOf(1)).to.deep.equal(await textOf(50))
        expect(await textOf(51)).to.deep.equal(await textOf(100))
      })
    })

    describe('revokeWhere', () => {
      it('of many tokens marks batch after batch, each when it is asked for, and what others commit meanwhile', async () => {
        const tokens = tokensIn(store)
        const context = { much: 'text' }
        const many = await Promise.all(Array.from({ length: 1001 }, () => tokens.insert({ context })))
        const kill = () => store.revokeWhere(tokens.issuer, { userId: 'alice' }, NOW, BY_API)
        const batches: (readonly Revoked[])[] = []
        for await (const batch of kill()) {
          batches.push(batch)
          await store.report(tokens.issuer, idsOf(batch))
          break
        }
        const late = tokens.newToken()
        const runs = await recordRuns(database, async () => {
          for await (const batch of kill()) if (batches.push(batch) === 2) await store.insert(late)
        })
        for (const { length } of batches) expect(length).to.be.within(1, 500)
        const all = [...many, late].map(({ id }) => id)
        expect(idsOf(batches.flat())).to.deep.equal(all.sort())
        expect(batches.flat().every(({ unreported }) => unreported)).to.equal(true)
        expect(batches.flat()[0]?.token).to.have.all.keys('id', 'userId', 'revocation')
        // Of the name, of what is open and of what lives: again after each look that has found something.
        expect(runs.filter(({ sql }) => / AS found FROM /.test(sql))).to.have.length(3 * 3)
      })

      it('ends, though others commit for as long as it runs', async () => {
        const { issuer, insert } = tokensIn(store)
        await insert()
        let batches = 0
        for await (const _batch of store.revokeWhere(issuer, { userId: 'alice' }, NOW, BY_API)) {
          batches += 1
          if (batches > 5) break
          await insert()
        }
        expect(batches).to.equal(5)
      })

      it('of up to 500 tokens takes as many statements as one of two, on lists of any length', async () => {
        for (const count of [2, 3, 9, 21, 38, 130]) {
          const { issuer, insert } = tokensIn(store)
          await Promise.all(Array.from({ length: count }, () => insert()))
          const runs = await recordRuns(database, () =>
            allOf(store.revokeWhere(issuer, { userId: 'alice' }, NOW, BY_API)),
          )
          // One that finds, three that read, two that write, three that read again; then one that finds, and three that read.
          expect(runs.slice(-13)).to.have.length(runs.length, `${count} tokens`)
        }
      })

      it('finds what lives of a name with any number of rows, and what a stop that died has left', async () => {
        const { issuer, insert, spend, stored } = tokensIn(store)
        const many = Array.from({ length: 1001 }, () => insert({ expiresAt: NOW }))
        const { id: unspent } = await insert()
        const { id: spent } = await spend()
        const { id: left } = await spend()
        const { id: told } = await spend()
        const { id: ended } = await spend({ accessToken: { format: 'jwt', expiresAt: NOW } })
        await Promise.all(many)
        await store.revoke(issuer, left, NOW, BY_API)
        await store.revoke(issuer, told, NOW, BY_API)
        await store.report(issuer, [told])
        const revoked = await allOf(store.revokeWhere(issuer, { createdBy: 'backend' }, NOW, BY_API))
        expect(idsOf(revoked)).to.deep.equal([unspent, spent, left].sort())
        expect((await stored(ended)).revokedAt).to.equal(undefined)
      }).timeout(20_000)
    })

    describe('a chain of several actors', () => {
      const rowsOf = async (id: string) => {
        const { dialect, find } = databaseOf(database.sequelize)
        const sql = 'SELECT chain FROM subject_token_actors WHERE token_id = $1'
        return (await find(sql, [dialect.bindId(id)])).length
      }

      it('leaves no rows where the token has expired', async () => {
        const { insert, listed } = tokensIn(store)
        const token = await insert({ expiresAt: NOW })
        const late = newUse({ actor: chainOf(['mallory', 'niaj']) })
        expect(await store.consume(token, NOW, late)).to.equal(false)
        expect(await rowsOf(token.id)).to.equal(0)
        expect(await listed({ actorId: ['niaj'] })).to.deep.equal([])
      })
    })
  })
})
