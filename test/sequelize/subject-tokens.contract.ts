import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { type Database, type DatabaseKind, openDatabase } from '../../fixtures/databases.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { mintId } from '../../src/subject-tokens/id.ts'
import { hashSecret, mintSecret } from '../../src/subject-tokens/secret.ts'
import type { Revocation, SubjectTokenStore } from '../../src/subject-tokens/store.ts'
import type { NewSubjectToken, SubjectTokenUse } from '../../src/subject-tokens/subject-token.ts'

const ISSUER = 'https://id.example.com/oidc'
const NOW = 1_800_000_000

const newToken = (changes: Partial<NewSubjectToken> = {}): NewSubjectToken => ({
  id: mintId(),
  tokenHash: hashSecret(mintSecret()),
  issuer: ISSUER,
  userId: 'alice',
  context: {},
  createdBy: 'backend',
  createdAt: NOW,
  expiresAt: NOW + 600,
  ...changes,
})

const use = (changes: Partial<SubjectTokenUse> = {}): SubjectTokenUse => ({
  at: NOW,
  clientId: 'spa',
  resource: 'https://api.example.com',
  accessToken: { format: 'jwt', expiresAt: NOW + 3600 },
  ...changes,
})

/** What every `SubjectTokenStore` over Sequelize promises, whatever the database. */
export function subjectTokenContract(kind: DatabaseKind): void {
  describe('subject token store', () => {
    let database: Database
    let store: SubjectTokenStore
    before(async () => {
      database = await openDatabase(kind)
      store = createSubjectTokenStore(database.sequelize)
    })
    after(() => database.close())

    const insert = async (changes?: Partial<NewSubjectToken>) => {
      const { tokenHash, ...token } = newToken(changes)
      await store.insert({ ...token, tokenHash })
      return { token, hash: tokenHash }
    }

    it('answers a token as it was written, with every constraint', async () => {
      const { token, hash } = await insert({
        userId: 'ålice 👩‍💻 ',
        context: JSON.parse('{"__proto__": {"a": [1, null, "ü\\u2028"]}, "n": 1.5}'),
        clientId: 'spa',
        actorId: 'bob',
        resource: 'https://api.example.com/ü',
        scope: 'orders:read orders:write',
      })
      expect(await store.findByHash(ISSUER, hash)).to.deep.equal(token)
      expect(JSON.stringify((await store.get(ISSUER, token.id))?.context)).to.equal(
        JSON.stringify(token.context),
      )
    })

    it('keeps names of 255 four-byte characters', async () => {
      const { token, hash } = await insert({ userId: '👩'.repeat(255), actorId: '👩'.repeat(255) })
      expect(await store.findByHash(ISSUER, hash)).to.deep.equal(token)
    })

    it('tells an absent constraint from an empty context', async () => {
      const { token, hash } = await insert()
      expect(await store.findByHash(ISSUER, hash)).to.deep.equal(token)
    })

    it('keeps issuers apart', async () => {
      const { token, hash } = await insert()
      const other = 'https://other.example.com'
      expect(await store.findByHash(other, hash)).to.equal(undefined)
      expect(await store.get(other, token.id)).to.equal(undefined)
      expect(await store.consume(other, hash, NOW, use())).to.equal(false)
      expect(await store.revoke(other, token.id, NOW)).to.equal(undefined)
      expect(await store.revokeWhere(other, { userId: 'alice' }, NOW)).to.deep.equal([])
      expect(await store.list(other, {}, { limit: 100, now: NOW })).to.deep.equal([])
    })

    it('refuses a second token with the same hash, and names no value in the error', async () => {
      const { hash } = await insert()
      const error = await store.insert(newToken({ tokenHash: hash })).catch((thrown: unknown) => thrown)
      expect(error).to.be.an('error')
      expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.to.include(hash)
    })

    it('spends a token once, and writes who used it for what', async () => {
      const { token, hash } = await insert()
      const spent = use({
        actor: { sub: 'bob', clientId: 'spa', act: { sub: 'carol' } },
        scope: 'orders:read',
        accessToken: { format: 'opaque', expiresAt: NOW + 60 },
        grantId: randomBytes(32).toString('base64url'),
      })
      expect(await store.consume(ISSUER, hash, NOW, spent)).to.equal(true)
      expect(await store.consume(ISSUER, hash, NOW, use())).to.equal(false)
      expect(await store.findByHash(ISSUER, hash)).to.deep.equal({ ...token, use: spent })
    })

    it('spends nothing that has expired, to the second', async () => {
      const { hash } = await insert({ expiresAt: NOW + 10 })
      expect(await store.consume(ISSUER, hash, NOW + 10, use())).to.equal(false)
      expect(await store.consume(ISSUER, hash, NOW + 9, use())).to.equal(true)
    })

    it('spends nothing that was revoked', async () => {
      const { token, hash } = await insert()
      expect(await store.revoke(ISSUER, token.id, NOW)).to.deep.equal({
        token: { ...token, revokedAt: NOW },
        marked: true,
      })
      expect(await store.consume(ISSUER, hash, NOW, use())).to.equal(false)
    })

    it('revokes once, and answers what the use produced', async () => {
      const { token, hash } = await insert()
      await store.consume(ISSUER, hash, NOW, use({ grantId: 'grant' }))
      const first = await store.revoke(ISSUER, token.id, NOW)
      expect(first?.token.use?.grantId).to.equal('grant')
      expect(await store.revoke(ISSUER, token.id, NOW + 1)).to.deep.equal({
        token: first?.token,
        marked: false,
      })
      expect((await store.get(ISSUER, token.id))?.revokedAt).to.equal(NOW)
      expect(await store.revoke(ISSUER, mintId(), NOW)).to.equal(undefined)
    })

    it('compares names byte by byte', async () => {
      const userId = 'Zoë '
      await insert({ userId })
      for (const other of ['zoë ', 'Zoë', 'Zoe ', 'Zoë  ']) {
        expect(await store.list(ISSUER, { userId: other }, { limit: 1, now: NOW }), other).to.deep.equal([])
      }
      expect(await store.list(ISSUER, { userId }, { limit: 9, now: NOW })).to.have.length(1)
    })

    it('lets exactly one of 50 simultaneous uses win, in every of 20 rounds', async () => {
      const pools = [database.sequelize, database.connect(), database.connect()]
      const stores = pools.map((pool) => createSubjectTokenStore(pool))
      for (let round = 0; round < 20; round += 1) {
        const { hash } = await insert()
        const uses = Array.from({ length: 50 }, (_, index) => {
          const racer = stores[index % stores.length] ?? store
          return racer.consume(ISSUER, hash, NOW, use({ clientId: `client-${index}` }))
        })
        const winners = (await Promise.all(uses)).flatMap((won, index) => (won ? [index] : []))
        expect(winners).to.have.length(1)
        expect((await store.findByHash(ISSUER, hash))?.use?.clientId).to.equal(`client-${winners[0]}`)
      }
    })

    describe('list', () => {
      const issuer = 'https://list.example.com'
      const ids: string[] = []
      const list = async (filter: object, page: { limit?: number; cursor?: string } = {}) =>
        (await store.list(issuer, filter, { limit: 100, now: NOW + 100, ...page })).map(({ id }) =>
          ids.indexOf(id),
        )

      before(async () => {
        const add = async (changes: Partial<NewSubjectToken>) => {
          const { token, hash } = await insert({ issuer, ...changes })
          ids.push(token.id)
          return { id: token.id, hash }
        }
        await add({ expiresAt: NOW + 100 }) // 0: expired
        await add({ userId: 'bob', clientId: 'web' }) // 1: active
        const used = await add({ userId: 'bob' }) // 2: consumed
        await store.consume(issuer, used.hash, NOW, use({ actor: { sub: 'carol', clientId: 'spa' } }))
        const both = await add({ actorId: 'carol' }) // 3: consumed and revoked
        await store.consume(issuer, both.hash, NOW, use())
        await store.revoke(issuer, both.id, NOW)
      })

      it('answers the newest first', async () => expect(await list({})).to.deep.equal([3, 2, 1, 0]))

      it('filters by user', async () => expect(await list({ userId: 'bob' })).to.deep.equal([2, 1]))

      it('filters by actor, constraint or actual', async () =>
        expect(await list({ actorId: 'carol' })).to.deep.equal([3, 2]))

      it('filters by client, constraint or actual', async () => {
        expect(await list({ clientId: 'web' })).to.deep.equal([1])
        expect(await list({ clientId: 'spa' })).to.deep.equal([3, 2])
      })

      for (const [state, expected] of Object.entries({
        revoked: [3],
        consumed: [2],
        active: [1],
        expired: [0],
      })) {
        it(`filters by the state ${state}`, async () => expect(await list({ state })).to.deep.equal(expected))
      }

      it('joins filters', async () =>
        expect(await list({ userId: 'bob', state: 'active' })).to.deep.equal([1]))

      it('goes on after a cursor, whose row need not exist', async () => {
        expect(await list({}, { limit: 2 })).to.deep.equal([3, 2])
        expect(await list({}, { limit: 2, cursor: ids[2] })).to.deep.equal([1, 0])
        expect(await list({}, { cursor: `${ids[1]?.slice(0, -1)}!` })).to.be.an('array')
      })
    })

    describe('revokeWhere', () => {
      const issuer = 'https://kill.example.com'
      const idsOf = (revocations: readonly Revocation[]) => revocations.map(({ token }) => token.id).sort()

      it('marks what is active or whose access token lives, and answers just that', async () => {
        const later = NOW + 700
        const dead = await insert({ issuer, userId: 'alice' })
        const live = await insert({ issuer, userId: 'alice', expiresAt: NOW + 1000 })
        const used = await insert({ issuer, userId: 'alice' })
        const over = await insert({ issuer, userId: 'alice' })
        const other = await insert({ issuer, userId: 'bob', expiresAt: NOW + 1000 })
        await store.consume(issuer, used.hash, NOW, use({ grantId: 'grant' }))
        await store.consume(
          issuer,
          over.hash,
          NOW,
          use({ accessToken: { format: 'opaque', expiresAt: later } }),
        )
        const marked = await store.revokeWhere(issuer, { userId: 'alice' }, later)
        expect(idsOf(marked)).to.deep.equal([live.token.id, used.token.id].sort())
        expect(
          marked.every((revocation) => revocation.marked && revocation.token.revokedAt === later),
        ).to.equal(true)
        // Again: what could still live is answered, so that a request that died is made good.
        const again = await store.revokeWhere(issuer, { userId: 'alice' }, later + 1)
        expect(idsOf(again)).to.deep.equal([used.token.id])
        expect(again[0]?.marked).to.equal(false)
        expect(again[0]?.token.use?.grantId).to.equal('grant')
        expect(again[0]?.token.revokedAt).to.equal(later)
        expect((await store.get(issuer, dead.token.id))?.revokedAt).to.equal(undefined)
        expect((await store.get(issuer, other.token.id))?.revokedAt).to.equal(undefined)
      })

      it('finds the actor, constraint or actual', async () => {
        const bound = await insert({ issuer, actorId: 'erin' })
        const used = await insert({ issuer })
        await store.consume(issuer, used.hash, NOW, use({ actor: { sub: 'erin' } }))
        const marked = await store.revokeWhere(issuer, { actorId: 'erin' }, NOW)
        expect(idsOf(marked)).to.deep.equal([bound.token.id, used.token.id].sort())
      })
    })

    it('costs one statement each to insert, find and consume', async () => {
      database.statements.length = 0
      const { hash } = await insert()
      expect(database.statements).to.have.length(1)
      await store.findByHash(ISSUER, hash)
      expect(database.statements).to.have.length(2)
      await store.consume(ISSUER, hash, NOW, use())
      expect(database.statements).to.have.length(3)
    })

    it('rejects, and says nothing of the values, when the database is gone', async () => {
      const pool = database.connect()
      const broken = createSubjectTokenStore(pool)
      await pool.close()
      const token = newToken()
      for (const call of [
        () => broken.insert(token),
        () => broken.findByHash(ISSUER, token.tokenHash),
        () => broken.consume(ISSUER, token.tokenHash, NOW, use()),
      ]) {
        const error = await call().catch((thrown: unknown) => thrown)
        expect(error).to.be.an('error')
        expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.to.include(token.tokenHash)
      }
    })
  })
}
