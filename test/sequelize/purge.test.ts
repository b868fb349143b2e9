import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { QueryTypes } from 'sequelize'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import { onEachKind } from '../../fixtures/on-database.ts'
import { createAdapter, createSubjectTokenStore, type Purged, purge } from '../../src/sequelize/index.ts'
import { earliestId, mintId } from '../../src/subject-tokens/id.ts'
import { hashSecret, mintSecret } from '../../src/subject-tokens/secret.ts'
import type { ActClaim } from '../../src/subject-tokens/subject-token.ts'

const DAY = 24 * 3600
const ISSUER = 'https://id.example.com'

/** What `mintId` would have minted then. */
const idAt = (at: number) => earliestId(at).slice(0, 12) + mintId().slice(12)

onEachKind((kind) => {
  describe('purge', () => {
    let database: Database
    let now: number
    beforeEach(async () => {
      now = Math.floor(Date.now() / 1000)
      database = await openDatabase(kind)
    })
    afterEach(() => database.close())

    const insert = async (expiresAt: number, accessTokenExpiresAt?: number, actor?: ActClaim) => {
      const store = createSubjectTokenStore(database.sequelize)
      const token = {
        id: idAt(expiresAt - 600),
        tokenHash: hashSecret(mintSecret()),
        issuer: ISSUER,
        userId: 'alice',
        context: {},
        createdBy: 'backend',
        createdAt: expiresAt - 600,
        expiresAt,
      }
      await store.insert(token)
      if (accessTokenExpiresAt !== undefined) {
        await store.consume(ISSUER, token.tokenHash, expiresAt - 1, {
          at: expiresAt - 1,
          clientId: 'spa',
          resource: 'https://api.example.com',
          accessToken: { format: 'jwt', expiresAt: accessTokenExpiresAt },
          actor,
        })
      }
      return token.id
    }
    const left = async () => {
      const rows = await database.sequelize.query<{ id: string }>(
        'SELECT id FROM subject_tokens ORDER BY id',
        {
          type: QueryTypes.SELECT,
        },
      )
      return rows.map(({ id }) => id)
    }

    it('deletes what ended before the retention, and keeps the rest', async () => {
      await insert(now - 91 * DAY)
      const recent = await insert(now - 89 * DAY)
      const lived = await insert(now - 91 * DAY, now - 89 * DAY)
      await insert(now - 92 * DAY, now - 91 * DAY)
      const live = await insert(now + 600)
      expect(await purge(database.sequelize)).to.deep.equal({ subjectTokens: 2, models: 0 })
      expect(await left()).to.deep.equal([recent, lived, live].sort())
    })

    it('deletes the actors of a chain with their record, and those without a record', async () => {
      const actor = { sub: 'bob', act: { sub: 'carol', act: { sub: 'dave' } } }
      const gone = await insert(now - 92 * DAY, now - 91 * DAY, actor)
      const lived = await insert(now - 91 * DAY, now - 89 * DAY, actor)
      const longer = await insert(now - 89 * DAY, now - 90 * DAY, actor)
      const orphans = [
        await insert(now - 91 * DAY, now - 91 * DAY, actor),
        await insert(now + 600, now + 60, actor),
      ]
      for (const id of orphans)
        await database.sequelize.query('DELETE FROM subject_tokens WHERE id = $1', { bind: [id] })
      expect(await purge(database.sequelize)).to.deep.equal({ subjectTokens: 1, models: 0 })
      expect(await left()).to.deep.equal([lived, longer].sort())
      const rows = await database.sequelize.query<{ token_id: string }>(
        'SELECT token_id FROM subject_token_actors',
        { type: QueryTypes.SELECT },
      )
      const kept = [lived, longer, orphans[1]].flatMap((id) => [id, id]).sort()
      expect(rows.map(({ token_id }) => token_id).sort()).to.deep.equal(kept)
      expect(kept).not.to.include(gone)
    })

    it('leaves no record without its actors, also where it ends in the middle', async () => {
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

    it('accepts another retention', async () => {
      await insert(now - 10)
      const live = await insert(now + 600)
      await purge(database.sequelize, { retention: 60 })
      expect(await left()).to.have.length(2)
      await purge(database.sequelize, { retention: 0 })
      expect(await left()).to.deep.equal([live])
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

    it('works in batches, twice at the same time, and reports its progress', async () => {
      await insertMany(database, 2500, now - 91 * DAY)
      const live = await insert(now + 600)
      const told: Purged[] = []
      const [one, two] = await Promise.all([
        purge(database.sequelize, { onProgress: (purged) => told.push(purged) }),
        purge(database.connect()),
      ])
      await purge(database.sequelize)
      expect(await left()).to.deep.equal([live])
      expect(one.subjectTokens + two.subjectTokens).to.be.within(1, 2500)
      expect(told.at(-1)?.subjectTokens ?? 0).to.equal(one.subjectTokens)
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
    })

    it('refuses an invalid retention', async () => {
      for (const retention of [-1, 1.5, Number.NaN]) {
        const error = await purge(database.sequelize, { retention }).catch((thrown: unknown) => thrown)
        expect(error).to.be.instanceOf(TypeError).with.property('message').that.includes('retention must be')
      }
    })
  })
})

async function insertMany(database: Database, count: number, expiresAt: number): Promise<void> {
  const rows = Array.from(
    { length: count },
    () =>
      `('${idAt(expiresAt - 600)}', '${randomBytes(32).toString('base64url')}', '${ISSUER}', 'alice', '{}', 'backend', 1, ${expiresAt})`,
  )
  await database.sequelize.query(
    `INSERT INTO subject_tokens (id, token_hash, issuer, user_id, context, created_by, created_at, expires_at)
      VALUES ${rows.join(', ')}`,
    { logging: false },
  )
}
