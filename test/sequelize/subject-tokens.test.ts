import { expect } from 'chai'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import { onEachKind } from '../../fixtures/on-database.ts'
import { allOf } from '../../fixtures/revocations.ts'
import { recordRuns } from '../../fixtures/runs.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { hashSecret, mintSecret } from '../../src/subject-tokens/secret.ts'
import type { Revoked, SubjectTokenStore } from '../../src/subject-tokens/store.ts'
import { BY_API, chainOf, NOW, tokensIn } from '../../src/testing/store/tokens.ts'

const one = (filter: object): [filter: object, statements: number] => [filter, 1]

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

    it('blames no missing table where a hash exists', async () => {
      const { insert } = tokensIn(store)
      const { tokenHash } = await insert()
      const error = await insert({ tokenHash }).catch((thrown: unknown) => thrown)
      expect(error).to.be.an('error').with.property('message').that.does.not.include('migrate')
    })

    it('costs one statement each to insert, find, consume and record a replay', async () => {
      const { issuer, newToken, newUse } = tokensIn(store)
      const token = newToken()
      database.statements.length = 0
      await store.insert(token)
      expect(database.statements).to.have.length(1)
      await store.findByHash(issuer, token.tokenHash)
      expect(database.statements).to.have.length(2)
      await store.consume(issuer, token.tokenHash, NOW, newUse())
      expect(database.statements).to.have.length(3)
      await store.recordReplay(issuer, token.id, { at: NOW, clientId: 'thief' })
      expect(database.statements).to.have.length(4)
    })

    it('rejects, and reveals no values, when the database is gone', async () => {
      const { issuer, newToken, newUse } = tokensIn(store)
      const pool = database.connect()
      const broken = createSubjectTokenStore(pool)
      await pool.close()
      const token = newToken()
      for (const call of [
        () => broken.insert(token),
        () => broken.findByHash(issuer, token.tokenHash),
        () => broken.consume(issuer, token.tokenHash, NOW, newUse()),
      ]) {
        const error = await call().catch((thrown: unknown) => thrown)
        expect(error).to.be.an('error')
        expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.to.include(token.tokenHash)
      }
    })

    describe('list', () => {
      it('takes one statement where an index finds the page alone, and one more elsewhere', async () => {
        const { issuer, insert, spend } = tokensIn(store)
        await insert()
        await spend({ actor: { sub: 'carol' } }, { userId: 'bob' })
        const costs: [filter: object, statements: number][] = [
          ...[{}, { userId: ['bob'] }, { actorId: ['carol', 'dave'] }, { createdBy: 'backend' }].map(one),
          ...[{ clientId: 'spa' }, { replayed: true }, { withoutActor: true }, { live: true }].map(one),
          ...[{ live: true, userId: undefined, state: undefined }, { createdAfter: NOW - 9 }].map(one),
          [{ userId: ['bob'], clientId: 'spa' }, 2],
          [{ live: true, userId: ['bob'] }, 2],
        ]
        for (const [filter, statements] of costs) {
          const runs = await recordRuns(database, () => store.list(issuer, filter, { limit: 50, now: NOW }))
          // MariaDB is asked once whether it has other nodes.
          const asked = runs.filter(({ sql }) => sql.startsWith('SELECT'))
          expect(asked, JSON.stringify(filter)).to.have.length(statements)
        }
      })
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

      for (const filter of [
        { state: 'revoked' },
        { userId: ['alice'], state: 'revoked' },
        { userId: ['alice'], clientId: 'web' },
        { createdBy: 'backend', clientId: 'web' },
        { live: false, state: 'revoked' },
        { replayed: false, withoutActor: false, state: 'revoked' },
        { createdAfter: NOW, createdBefore: NOW + 1, state: 'revoked' },
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
          return runs.map(({ sql }) => sql)
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

        it('marks them in batches, and reads only what their end needs', async () => {
          const { many, kill } = await insertMany()
          const batches: (readonly Revoked[])[] = []
          const runs = await recordRuns(database, async () => {
            for await (const batch of kill()) batches.push(batch)
          })
          for (const { length } of batches) expect(length).to.be.within(1, 500)
          expect(idsOf(batches.flat())).to.deep.equal(many.map(({ id }) => id).sort())
          expect(batches.flat().every(({ marked }) => marked)).to.equal(true)
          expect(batches.flat()[0]?.token).to.have.all.keys('id', 'userId')
          for (const { sql } of runs) expect(sql).not.to.match(/context|SELECT \*/)
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
          { id: unspent.id, ...bound },
          {
            id: acted.id,
            ...bound,
            use: { clientId: 'spa', actor: { sub: 'carol' }, accessToken, grantId: 'grant' },
          },
          { id: alone.id, userId, use: { clientId: 'spa', accessToken: newUse().accessToken } },
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

      it('asks twice where there is nothing to end', async () => {
        const { issuer } = tokensIn(store)
        const runs = await recordRuns(database, async () => {
          expect(await allOf(store.revokeWhere(issuer, { userId: 'no one' }, NOW, BY_API))).to.deep.equal([])
        })
        expect(runs.filter(({ sql }) => sql.startsWith('SELECT'))).to.have.length(2)
      })

      it('has two texts, one for up to twenty tokens', async () => {
        const textsOf = async (count: number) => {
          const { issuer, insert } = tokensIn(store)
          await Promise.all(Array.from({ length: count }, () => insert()))
          const runs = await recordRuns(database, () =>
            allOf(store.revokeWhere(issuer, { userId: 'alice' }, NOW, BY_API)),
          )
          return runs.map(({ sql }) => sql)
        }
        expect(await textsOf(1)).to.deep.equal(await textsOf(20))
        expect(await textsOf(21)).to.deep.equal(await textsOf(22))
      })
    })

    describe('a chain of several actors', () => {
      const rowsOf = async (id: string) => {
        const sql = `SELECT chain FROM subject_token_actors WHERE token_id = '${id}'`
        return (await database.sequelize.query(sql))[0].length
      }

      it('whose use was refused leaves no rows', async () => {
        const { issuer, newUse, insert, spend, listed } = tokensIn(store)
        const expired = await insert({ expiresAt: NOW })
        const revoked = await insert()
        await store.revoke(issuer, revoked.id, NOW, BY_API)
        const spent = await spend({ actor: { sub: 'bob' } })
        const late = newUse({ actor: chainOf(['mallory', 'niaj']) })
        for (const { tokenHash } of [expired, revoked, spent, { tokenHash: hashSecret(mintSecret()) }])
          expect(await store.consume(issuer, tokenHash, NOW, late)).to.equal(false)
        expect(await store.consume('https://other.example.com', spent.tokenHash, NOW, late)).to.equal(false)
        expect(await listed({ actorId: ['niaj'] })).to.deep.equal([])
        for (const { id } of [expired, revoked, spent]) expect(await rowsOf(id)).to.equal(0)
      })

      if (kind === 'sqlite') {
        it('is not spent if its links were not written', async () => {
          const { issuer, newUse, insert, listed } = tokensIn(store)
          const { tokenHash } = await insert()
          await database.sequelize.query(
            'CREATE TRIGGER lossy BEFORE INSERT ON subject_token_actors BEGIN SELECT RAISE(IGNORE); END',
          )
          const chain = newUse({ actor: chainOf(['olivia', 'peggy']) })
          const spent = await store.consume(issuer, tokenHash, NOW, chain)
          await database.sequelize.query('DROP TRIGGER lossy')
          expect(spent).to.equal(false)
          expect(await store.consume(issuer, tokenHash, NOW, chain)).to.equal(true)
          expect(await listed({ actorId: ['peggy'] })).to.have.length(1)
        })
      }

      it('is neither shown nor ended by what a use that did not win has left', async () => {
        const { issuer, spend, listed } = tokensIn(store)
        const { id } = await spend({ actor: chainOf(['bob', 'quinn']) }, { userId: 'raced' })
        expect(await rowsOf(id)).to.equal(1)
        await database.sequelize.query(
          `INSERT INTO subject_token_actors (actor_id, token_id, chain, expires_at)
            SELECT ${kind === 'mysql' ? "CAST('rupert' AS BINARY)" : "'rupert'"}, id, 'of-a-loser', expires_at
            FROM subject_tokens WHERE id = '${id}'`,
        )
        expect(await rowsOf(id)).to.equal(2)
        expect(await listed({ actorId: ['rupert'] })).to.deep.equal([])
        expect(await listed({ actorId: ['rupert'], userId: ['raced'] })).to.deep.equal([])
        const ended = async (actorId: string) =>
          idsOf(await allOf(store.revokeWhere(issuer, { actorId }, NOW, BY_API)))
        expect(await ended('rupert')).to.deep.equal([])
        expect(await ended('quinn')).to.deep.equal([id])
      })

      it('costs one more statement to consume, however long it is', async () => {
        const { issuer, newUse, insert } = tokensIn(store)
        for (const [chain, statements] of [
          [['bob'], 1],
          [['bob', 'carol'], 2],
          [Array.from({ length: 10 }, (_, index) => `actor-${index}`), 2],
        ] as const) {
          const { tokenHash } = await insert()
          database.statements.length = 0
          await store.consume(issuer, tokenHash, NOW, newUse({ actor: chainOf(chain) }))
          expect(database.statements).to.have.length(statements)
        }
      })
    })
  })
})
