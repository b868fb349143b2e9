import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { QueryTypes } from 'sequelize'
import { whileStopped } from '../../fixtures/clock.ts'
import type { Database } from '../../fixtures/databases.ts'
import { overtaking } from '../../fixtures/hooks.ts'
import { onEachKind, useDatabase } from '../../fixtures/on-database.ts'
import { around } from '../../fixtures/runs.ts'
import { insertInto } from '../../src/sequelize/database/standard.ts'
import { hexOf } from '../../src/sequelize/database/text.ts'
import { databaseOf, driverOf } from '../../src/sequelize/drivers.ts'
import { createAdapter, createSubjectTokenStore, type Purged, purge } from '../../src/sequelize/index.ts'
import { numberOf } from '../../src/sequelize/tokens/place.ts'
import { stepOf } from '../../src/sequelize/tokens/rows.ts'
import { earliestId, mintId } from '../../src/tokens/id.ts'
import { hashToken, mintToken } from '../../src/tokens/secret.ts'
import {
  type ActClaim,
  type SessionUse,
  type SubjectTokenUse,
  stateOf,
} from '../../src/tokens/subject-token.ts'

const DAY = 24 * 3600
const ISSUER = 'https://id.example.com'

/** What `mintId` would have minted then. */
const idAt = (at: number) => earliestId(at).slice(0, 12) + mintId().slice(12)

onEachKind((kind) => {
  describe('purge', () => {
    const database = useDatabase(kind, { each: true })
    let now: number
    beforeEach(() => {
      now = Math.floor(Date.now() / 1000)
    })

    const insert = async (
      expiresAt: number,
      accessTokenExpiresAt?: number,
      actor?: ActClaim,
      mintedAt = expiresAt - 600,
    ) => {
      const store = createSubjectTokenStore(database.sequelize)
      const id = idAt(mintedAt)
      const token = {
        id,
        tokenHash: hashToken(mintToken(id)),
        issuer: ISSUER,
        purpose: 'exchange' as const,
        userId: 'alice',
        context: {},
        createdBy: 'backend',
        createdAt: expiresAt - 600,
        expiresAt,
      }
      await store.insert(token)
      if (accessTokenExpiresAt !== undefined) {
        const found = (await store.find(ISSUER, id)) ?? expect.fail('not found')
        await store.consume(found, expiresAt - 1, {
          at: expiresAt - 1,
          clientId: 'spa',
          resource: 'https://api.example.com',
          accessToken: { format: 'jwt', expiresAt: accessTokenExpiresAt },
          actor,
        })
      }
      return token.id
    }
    const idsIn = async (table: string, column = 'token_id') => {
      const rows = await database.sequelize.query<{ id: unknown }>(
        `SELECT ${column} AS id FROM ${table} ORDER BY ${column}`,
        { type: QueryTypes.SELECT },
      )
      return rows.map(({ id }) => hexOf(id))
    }
    const left = () => idsIn('subject_tokens', 'id')

    it('keeps what has not ended, also where it came between the look and the deletion, by a clock that is behind', async () => {
      await insert(now - 91 * DAY)
      await insert(now - 91 * DAY + 60)
      const pool = database.connect()
      let late: string | undefined
      overtaking(pool)(/^DELETE FROM subject_tokens /, async () => {
        late = await insert(now + 600, now + 900, undefined, now - 91 * DAY - 570)
      })
      expect(await purge(pool)).to.include({ subjectTokens: 2 })
      expect(await left()).to.deep.equal([late])
      expect(await idsIn('subject_token_uses')).to.deep.equal([late])
    })

    it('deletes what ended before the retention, and keeps the rest', async () => {
      await insert(now - 91 * DAY)
      const recent = await insert(now - 89 * DAY)
      const lived = await insert(now - 91 * DAY, now - 89 * DAY)
      await insert(now - 92 * DAY, now - 91 * DAY)
      const [ended, live] = [await insert(now - 310), await insert(now + 600)]
      expect(await purge(database.sequelize)).to.deep.equal({ subjectTokens: 2, models: 0 })
      expect(await left()).to.deep.equal([recent, lived, ended, live].sort())
      await purge(database.sequelize, { retention: 360 })
      expect(await left()).to.deep.equal([ended, live].sort())
      await purge(database.sequelize, { retention: 0 })
      expect(await left()).to.deep.equal([live])
    })

    it('keeps a session whose application has not answered, but no longer than a day after its end', async () => {
      const store = createSubjectTokenStore(database.sequelize)
      const sessions = store.sessions ?? expect.fail('no sessions')
      const open = async (endsAt: number, logout: SessionUse['logout'] = 'pending') => {
        const id = await insert(endsAt)
        const token = (await store.find(ISSUER, id)) ?? expect.fail('not found')
        const use: SubjectTokenUse = {
          ...{ at: endsAt - 60, clientId: 'shop', actor: { sub: 'bob' } },
          ...{ accessToken: { format: 'session', expiresAt: endsAt } as const, session: { logout } },
        }
        expect(await store.consume(token, endsAt - 60, use)).to.equal(true)
        return id
      }
      const late = now - 1000
      const pending = [await open(now - DAY + 60), await open(late)]
      await open(now - DAY - 60)
      await open(late, 'unsupported')
      for (const logout of ['confirmed', 'gaveUp'] as const)
        await sessions.settle(ISSUER, await open(late), { mark: null, logout, at: late + 1 })
      const recent = await open(now - 60, 'unsupported')
      expect(await purge(database.sequelize, { retention: 0 })).to.include({ subjectTokens: 4 })
      expect(await left()).to.deep.equal([...pending, recent].sort())
      expect(await idsIn('subject_token_uses')).to.deep.equal([...pending, recent].sort())
      const [, answered = ''] = pending
      await sessions.settle(ISSUER, answered, { mark: null, logout: 'confirmed', at: now })
      await purge(database.sequelize, { retention: 0 })
      expect(await left()).to.not.include(answered)
    })

    it('deletes every row of a record with it, and what an interrupted purge has left', async () => {
      const store = createSubjectTokenStore(database.sequelize)
      const actor = { sub: 'bob', act: { sub: 'carol', act: { sub: 'dave' } } }
      const stopped = async (...times: [number, number]) => {
        const id = await insert(...times, actor)
        const { use, ...token } = (await store.find(ISSUER, id)) ?? expect.fail('not found')
        if (!use) return expect.fail('not spent')
        await store.recordReplay({ ...token, use }, { at: times[1] - 1, clientId: 'thief' })
        const said = { at: now, by: 'dora', note: 'seen', coversReplay: true }
        await store.acknowledge(token, said)
        return id
      }
      await stopped(now - 92 * DAY, now - 91 * DAY)
      const kept = [
        await stopped(now - 91 * DAY, now - 89 * DAY),
        await stopped(now - 89 * DAY, now - 89 * DAY + 600),
      ]
      const interrupted = await stopped(now - 93 * DAY, now - 93 * DAY + 600)
      const { dialect } = driverOf(database.sequelize)
      await database.sequelize.query('DELETE FROM subject_tokens WHERE id = $1', {
        bind: [dialect.bindId(interrupted)],
      })
      expect(await purge(database.sequelize)).to.deep.equal({ subjectTokens: 1, models: 0 })
      expect(await left()).to.deep.equal([...kept].sort())
      for (const table of ['uses', 'stops', 'acknowledgements'])
        expect(await idsIn(`subject_token_${table}`), table).to.deep.equal([...kept].sort())
      expect(await idsIn('subject_token_actors')).to.deep.equal(kept.flatMap((id) => [id, id]).sort())
    })

    it('leaves no record without its parts, also where it ends in the middle', async () => {
      await insertMany(database, 1000, now - 92 * DAY)
      const id = await insert(now - 91 * DAY, now - 91 * DAY, { sub: 'bob', act: { sub: 'carol' } })
      const onProgress = () => {
        throw new Error('ended')
      }
      const ended = await purge(database.sequelize, { onProgress }).catch(({ message }: Error) => message)
      expect(ended).to.equal('ended')
      expect(await left()).to.deep.equal([id])
      const store = createSubjectTokenStore(database.sequelize)
      const { tokens } = await store.list(ISSUER, { actorId: ['carol'] }, { limit: 2, now })
      expect(tokens.map((token) => token.id)).to.deep.equal([id])
    })

    it('never shows a record that was spent as one that expired', async () => {
      const id = await insert(now - 92 * DAY, now - 91 * DAY)
      const store = createSubjectTokenStore(database.sequelize)
      const pool = database.connect()
      const seen: string[] = []
      const look = async () => {
        const token = await store.find(ISSUER, id)
        seen.push(token ? stateOf(token, now) : 'none')
      }
      around(pool, { before: look })
      await purge(pool)
      expect([...new Set(seen)]).to.deep.equal(['consumed', 'none'])
    })

    it('leaves every row for 300 seconds after its end, whatever the retention: a slow exchange may be on its way', async () => {
      const store = createSubjectTokenStore(database.sequelize)
      const unspent = await insert(now + 600)
      const slow = (await store.find(ISSUER, unspent)) ?? expect.fail('not found')
      await store.revoke(ISSUER, unspent, now, { cause: 'host' })
      await whileStopped(
        async (clock) => {
          await purge(database.sequelize, { retention: 0 })
          const late = { at: now, clientId: 'spa', resource: 'https://api.example.com' }
          const accessToken = { format: 'jwt', expiresAt: now + 1200 } as const
          expect(await store.consume(slow, now, { ...late, accessToken })).to.equal(false)
          clock.tick(300)
          await purge(database.sequelize, { retention: 0 })
          expect(await left()).to.deep.equal([])
        },
        (now + 601) * 1000,
      )
    })

    it('deletes models of the provider as soon as they can no longer be found', async () => {
      const adapter = createAdapter(database.sequelize)
      await adapter('Session').upsert('gone', { jti: 'gone' }, -61)
      await adapter('Session').upsert('in grace', { jti: 'in grace' }, -50)
      await adapter('Session').upsert('live', { jti: 'live' }, 60)
      await adapter('Client').upsert('forever', { client_id: 'forever' })
      expect(await purge(database.sequelize)).to.deep.equal({ subjectTokens: 0, models: 1 })
      expect(await adapter('Session').find('in grace')).to.deep.equal({ jti: 'in grace' })
    })

    it('reports each batch that deleted something, with the total, and leaves nothing behind', async () => {
      await insertMany(database, 2500, now - 91 * DAY)
      await createAdapter(database.sequelize)('Session').upsert('gone', { jti: 'gone' }, -61)
      const told: Purged[] = []
      const onProgress = (purged: Purged) => void told.push(purged)
      const all = { subjectTokens: 2500, models: 1 }
      expect(await purge(database.sequelize, { onProgress })).to.deep.equal(all)
      expect(told).to.deep.equal([
        { subjectTokens: 1000, models: 0 },
        { subjectTokens: 2000, models: 0 },
        { subjectTokens: 2500, models: 0 },
        all,
      ])
      told.length = 0
      expect(await purge(database.sequelize, { onProgress })).to.deep.equal({ subjectTokens: 0, models: 0 })
      expect(told).to.deep.equal([])
      // Twice at the same time.
      await insertMany(database, 1500, now - 91 * DAY)
      const live = await insert(now + 600)
      await Promise.all([purge(database.sequelize), purge(database.connect())])
      await purge(database.sequelize)
      expect(await left()).to.deep.equal([live])
    })
  })
})

async function insertMany(database: Database, count: number, expiresAt: number): Promise<void> {
  const { dialect } = driverOf(database.sequelize)
  // So that the issuer is known.
  await createSubjectTokenStore(database.sequelize).findByStatusIndex(ISSUER, 0)
  const columns = ['id', 'issuer', 'open', 'purpose', 'secret_hash', 'user_id', 'created_by', 'context']
  const row = { table: 'subject_tokens', columns: [...columns, 'created_at', 'expires_at'], rows: 500 }
  for (let left = count; left > 0; left -= 500) {
    const rows = Array.from({ length: 500 }, () => [
      ...[dialect.bindId(idAt(expiresAt - 600)), numberOf(ISSUER), stepOf(expiresAt), 0, randomBytes(32)],
      ...[dialect.bindName('alice') ?? '', dialect.bindName('backend') ?? '', '{}', 1, expiresAt],
    ])
    await databaseOf(database.sequelize).write(insertInto(row), rows.flat())
  }
}
