import { expect } from 'chai'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import { losingResults } from '../../fixtures/lost-results.ts'
import { onEachKind } from '../../fixtures/on-database.ts'
import { allOf } from '../../fixtures/revocations.ts'
import { recordRuns } from '../../fixtures/runs.ts'
import { text } from '../../src/sequelize/database/values.ts'
import { databaseOf } from '../../src/sequelize/database-of.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { numberOf } from '../../src/sequelize/tokens/issuers.ts'
import type { Revoked, SubjectTokenStore } from '../../src/subject-tokens/store.ts'
import { BY_API, chainOf, NOW, tokensIn } from '../../src/testing/store/tokens.ts'

/** What the store over Sequelize does beyond the contract of every store: how much it reads, and in which statements. */
onEachKind((kind) => {
  describe('subject token store', () => {
    let database: Database
    let store: SubjectTokenStore
    before(async () => {
      database = await openDatabase(kind)
      store = createSubjectTokenStore(database.sequelize)
    })
    after(() => database.close())

    const idsOf = (revocations: readonly Revoked[]) => revocations.map(({ token }) => token.id).sort()

    it('blames no missing table where an id exists', async () => {
      const { insert } = tokensIn(store)
      const { id } = await insert()
      const error = await insert({ id }).catch((thrown: unknown) => thrown)
      expect(error).to.be.an('error').with.property('message').that.does.not.include('migrate')
    })

    it('costs one statement to insert, to find and to consume, and one more for what is rare', async () => {
      const { issuer, insert, newToken, newUse, stored, spent } = tokensIn(store)
      // The issuer is new to the database.
      await insert()
      const token = newToken()
      const costs = async (work: () => Promise<unknown>) => {
        const runs = await recordRuns(database, work)
        return runs.filter(({ sql }) => !sql.startsWith('SHOW')).length
      }
      expect(await costs(() => store.insert(token))).to.equal(1)
      expect(await costs(() => store.find(issuer, token.id))).to.equal(1)
      const found = await stored(token.id)
      expect(await costs(() => store.consume(found, NOW, newUse()))).to.equal(1)
      expect(await costs(() => store.consume(found, NOW, newUse()))).to.equal(1)
      const replay = { at: NOW, clientId: 'thief' }
      const subject = await spent(token.id)
      expect(await costs(() => store.recordReplay(subject, replay))).to.equal(2)
      // As long for one id as for another: what was said of its alarms is not decided by.
      expect(await costs(() => store.find(issuer, token.id))).to.equal(1)
      const page = { limit: 1, now: NOW }
      expect(await costs(() => store.list(issuer, { id: token.id }, page))).to.equal(4)
      expect(await costs(() => store.report(issuer, [token.id]))).to.equal(1)
      const { id } = await insert()
      expect(await costs(() => store.revoke(issuer, id, NOW, BY_API))).to.equal(4)
    })

    it('rejects, and reveals no values, when the database is gone', async () => {
      const { issuer, newToken, newUse, stored, insert } = tokensIn(store)
      const old = await stored((await insert()).id)
      const pool = database.connect()
      const broken = createSubjectTokenStore(pool)
      await pool.close()
      const token = newToken()
      for (const call of [
        () => broken.insert(token),
        () => broken.find(issuer, token.id),
        () => broken.consume(old, NOW, newUse()),
      ]) {
        const error = await call().catch((thrown: unknown) => thrown)
        expect(error).to.be.an('error')
        expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.to.include(token.tokenHash)
      }
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

      it('is an unknown cause, where a later version has written one', async () => {
        const { issuer, spend, stored } = tokensIn(store)
        const { id } = await spend()
        await store.revoke(issuer, id, NOW, BY_API)
        await spoil(`UPDATE subject_token_stops SET cause = 'later' WHERE token_id = $1`, id)
        expect((await stored(id)).revocation).to.deep.equal({ cause: 'unknown' })
      })
    })

    it('keeps a list of resources apart from one', async () => {
      const { insert, stored } = tokensIn(store)
      for (const resource of ['https://a.example.com', ['https://a.example.com'], ['urn:a', 'urn:b']]) {
        const { id } = await insert({ resource })
        expect((await stored(id)).resource).to.deep.equal(resource)
      }
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

    describe('list', () => {
      it('takes a statement for each index that has its names, three for the records, and one for what was said of alarms', async () => {
        const { issuer, insert, spend } = tokensIn(store)
        await insert()
        await spend({ actor: { sub: 'carol' } }, { userId: 'bob' })
        const costs: [filter: object, statements: number][] = [
          ...[{}, { userId: ['bob'] }, { createdBy: 'backend' }, { createdAfter: NOW - 9 }].map(
            (filter): [object, number] => [filter, 4],
          ),
          [{ actorId: ['carol', 'dave'] }, 6 + 3],
          [{ clientId: 'spa' }, 2 + 3],
          // A walk through the stops as well, and the uses are at hand.
          [{ live: true }, 4],
          [{ live: true, userId: undefined, state: undefined }, 4],
          [{ live: true, userId: ['bob'] }, 4],
          [{ userId: ['bob'], clientId: 'spa' }, 4],
          [{ state: 'active' }, 4],
          // Where an index finds none.
          ...[{ replayed: true }, { withoutActor: true }, { state: 'revoked' }].map(
            (filter): [object, number] => [filter, 1],
          ),
        ]
        for (const [filter, statements] of costs) {
          const runs = await recordRuns(database, () => store.list(issuer, filter, { limit: 50, now: NOW }))
          // MariaDB is asked once whether it has other nodes.
          const asked = runs.filter(({ sql }) => sql.startsWith('SELECT'))
          expect(asked, JSON.stringify(filter)).to.have.length(statements)
        }
      })
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
        for (let index = 0; index < 1003; index += 1) {
          const { id } = await tokens.insert(index < 2 ? { clientId: 'web' } : {})
          ids.push(id)
        }
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

      it('goes on after the last row shown when a page is full before', async () => {
        const { tokens, next } = await list({ userId: ['alice'], createdBy: 'backend' })
        expect(tokens).to.have.length(50)
        expect(next).to.equal(tokens.at(-1)?.id)
      })

      it('finds a client past any number of others', async () => {
        expect((await list({ clientId: 'web' })).tokens.map(({ id }) => id)).to.deep.equal([ids[1], ids[0]])
      })

      for (const limit of [50, 51, 100, 101, 200]) {
        it(`fills a page of ${limit}, and says where it ends`, async () => {
          const { tokens, next } = await store.list(issuer, {}, { limit, now: NOW })
          expect(tokens.map(({ id }) => id)).to.deep.equal([...ids].reverse().slice(0, limit))
          expect(next).to.equal(ids.at(-limit))
        })
      }

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
      describe('of many tokens', () => {
        const TOKENS = 1001
        const insertMany = async () => {
          const tokens = tokensIn(store)
          const context = { much: 'text' }
          const many = await Promise.all(Array.from({ length: TOKENS }, () => tokens.insert({ context })))
          const kill = () => store.revokeWhere(tokens.issuer, { userId: 'alice' }, NOW, BY_API)
          return { ...tokens, many, kill }
        }

        it('marks them in batches', async () => {
          const { many, kill } = await insertMany()
          const batches: (readonly Revoked[])[] = []
          const runs = await recordRuns(database, async () => {
            for await (const batch of kill()) batches.push(batch)
          })
          for (const { length } of batches) expect(length).to.be.within(1, 500)
          expect(idsOf(batches.flat())).to.deep.equal(many.map(({ id }) => id).sort())
          expect(batches.flat().every(({ unreported }) => unreported)).to.equal(true)
          expect(batches.flat()[0]?.token).to.have.all.keys('id', 'userId', 'revocation')
          // Of the name, of what is open and of what lives: once, and once more for what others commit meanwhile.
          expect(runs.filter(({ sql }) => / AS found FROM /.test(sql))).to.have.length(2 * 3)
        })

        it('marks no batch before it is asked for, and the next call the rest', async () => {
          const { kill } = await insertMany()
          let first = 0
          for await (const batch of kill()) {
            first = batch.length
            break
          }
          expect(first).to.be.within(1, 500)
          expect(await allOf(kill())).to.have.length(TOKENS - first)
        })

        it('ends what others commit meanwhile', async () => {
          const { kill, newToken, stored } = await insertMany()
          const late = newToken()
          const ids = new Set<string>()
          for await (const batch of kill()) {
            if (ids.size === 0) await store.insert(late)
            for (const { token } of batch) ids.add(token.id)
          }
          expect(ids.size).to.equal(TOKENS + 1)
          expect((await stored(late.id)).revokedAt).to.equal(NOW)
        })
      })

      it('names what the token was bound to and who used it, without the rest of the record', async () => {
        const { issuer, insert, spend, newUse } = tokensIn(store)
        const userId = 'judy'
        const bound = { userId, clientId: 'spa', actorId: 'carol' }
        const accessToken = { format: 'opaque', expiresAt: NOW + 3600 } as const
        const actor = { sub: 'carol', clientId: 'phone', act: { sub: 'dave' } }
        const unspent = await insert(bound)
        const acted = await spend({ actor, accessToken, grantId: 'grant' }, bound)
        const alone = await spend({ scope: 'orders:read' }, { userId })
        const marked = await allOf(store.revokeWhere(issuer, { userId }, NOW, BY_API))
        expect(marked.map(({ token }) => token)).to.have.deep.members([
          { id: unspent.id, ...bound, revocation: BY_API },
          {
            id: acted.id,
            ...bound,
            revocation: BY_API,
            use: { clientId: 'spa', actor: { sub: 'carol' }, accessToken, grantId: 'grant' },
          },
          {
            id: alone.id,
            userId,
            revocation: BY_API,
            use: { clientId: 'spa', accessToken: newUse().accessToken },
          },
        ])
      })

      it('finds what lives behind any number that has ended', async () => {
        const { issuer, insert } = tokensIn(store)
        const { id } = await insert()
        for (const count of [1000, 1001])
          await Promise.all(Array.from({ length: count }, () => insert({ expiresAt: NOW })))
        expect(idsOf(await allOf(store.revokeWhere(issuer, { userId: 'alice' }, NOW, BY_API)))).to.deep.equal(
          [id],
        )
      }).timeout(20_000)

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

      it('asks once where there is nothing to end', async () => {
        const { issuer, insert } = tokensIn(store)
        // The issuer is new to the database.
        await insert()
        const runs = await recordRuns(database, async () => {
          expect(await allOf(store.revokeWhere(issuer, { userId: 'no one' }, NOW, BY_API))).to.deep.equal([])
        })
        expect(runs.filter(({ sql }) => sql.startsWith('SELECT'))).to.have.length(1)
      })

      it('has few texts, whatever the number of tokens', async () => {
        const texts = new Set<string>()
        for (const count of [1, 3, 9, 21, 38, 130]) {
          const { issuer, insert } = tokensIn(store)
          await Promise.all(Array.from({ length: count }, () => insert()))
          const runs = await recordRuns(database, () =>
            allOf(store.revokeWhere(issuer, { userId: 'alice' }, NOW, BY_API)),
          )
          for (const { sql } of runs) texts.add(sql)
        }
        // One that finds; of each size two that write; three that read, of each of four sizes, and one for a token alone.
        expect(texts.size).to.be.at.most(1 + 2 * 5 + 3 * 4 + 1)
      })

      it('finds what lives of a name with any number of rows, and what a stop that died has left', async () => {
        const { issuer, insert, spend, stored } = tokensIn(store)
        const many = Array.from({ length: 1000 }, () => insert({ expiresAt: NOW }))
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
        const { newUse, insert, listed } = tokensIn(store)
        const token = await insert({ expiresAt: NOW })
        const late = newUse({ actor: chainOf(['mallory', 'niaj']) })
        expect(await store.consume(token, NOW, late)).to.equal(false)
        expect(await rowsOf(token.id)).to.equal(0)
        expect(await listed({ actorId: ['niaj'] })).to.deep.equal([])
      })

      it('is neither shown nor ended by what a use that did not win has left', async () => {
        const { issuer, insert, newUse, listed } = tokensIn(store)
        const token = await insert({ userId: 'raced' })
        expect(await store.consume(token, NOW, newUse({ actor: chainOf(['bob', 'quinn']) }))).to.equal(true)
        expect(await store.consume(token, NOW, newUse({ actor: chainOf(['bob', 'rupert']) }))).to.equal(false)
        expect(await rowsOf(token.id)).to.equal(2)
        expect(await listed({ actorId: ['rupert'] })).to.deep.equal([])
        expect(await listed({ actorId: ['rupert'], userId: ['raced'] })).to.deep.equal([])
        const ended = async (actorId: string) =>
          idsOf(await allOf(store.revokeWhere(issuer, { actorId }, NOW, BY_API)))
        expect(await ended('rupert')).to.deep.equal([])
        expect(await ended('quinn')).to.deep.equal([token.id])
      })

      it('costs one more statement to consume, however long it is', async () => {
        const { newUse, insert } = tokensIn(store)
        for (const [chain, statements] of [
          [['bob'], 1],
          [['bob', 'carol'], 2],
          [Array.from({ length: 10 }, (_, index) => `actor-${index}`), 2],
        ] as const) {
          const token = await insert()
          database.statements.length = 0
          await store.consume(token, NOW, newUse({ actor: chainOf(chain) }))
          expect(database.statements).to.have.length(statements)
        }
      })
    })
  })
})
