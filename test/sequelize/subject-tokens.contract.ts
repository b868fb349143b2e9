import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { type Database, type DatabaseKind, openDatabase } from '../../fixtures/databases.ts'
import { allOf } from '../../fixtures/revocations.ts'
import { recordRuns } from '../../fixtures/runs.ts'
import { BY_API } from '../../fixtures/subject-tokens.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { earliestId, mintId } from '../../src/subject-tokens/id.ts'
import { hashSecret, mintSecret } from '../../src/subject-tokens/secret.ts'
import type { Revoked, SubjectTokenStore } from '../../src/subject-tokens/store.ts'
import {
  type ActClaim,
  LONGEST_LIFE,
  type NewSubjectToken,
  type SubjectTokenUse,
} from '../../src/subject-tokens/subject-token.ts'

const ISSUER = 'https://id.example.com/oidc'
const NOW = 1_800_000_000

/** What `mintId` would have minted then. */
let minted = 0
const mintIdAt = (at: number) => {
  minted += 1
  return earliestId(at).slice(0, 12) + minted.toString(16).padStart(4, '0') + mintId().slice(16)
}

const newToken = (changes: Partial<NewSubjectToken> = {}): NewSubjectToken => ({
  id: mintIdAt(changes.createdAt ?? NOW),
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

/** A chain of actors, newest first. */
function chainOf([sub = '', ...further]: readonly string[]): ActClaim {
  return { sub, ...(further.length > 0 && { act: chainOf(further) }) }
}

/** What every `SubjectTokenStore` over Sequelize promises, on every database. */
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
      const { statusIndex } = (await store.get(token.issuer, token.id)) ?? expect.fail('not found')
      return { token: { ...token, statusIndex }, hash: tokenHash }
    }

    it('returns a token as it was written, with every constraint', async () => {
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

    it('distinguishes an absent constraint from an empty context', async () => {
      const { token, hash } = await insert()
      expect(await store.findByHash(ISSUER, hash)).to.deep.equal(token)
    })

    it('keeps issuers apart', async () => {
      const { token, hash } = await insert()
      const other = 'https://other.example.com'
      expect(await store.findByHash(other, hash)).to.equal(undefined)
      expect(await store.get(other, token.id)).to.equal(undefined)
      expect(await store.consume(other, hash, NOW, use())).to.equal(false)
      expect(await store.revoke(other, token.id, NOW, BY_API)).to.equal(undefined)
      expect(await allOf(store.revokeWhere(other, { userId: 'alice' }, NOW, BY_API))).to.deep.equal([])
      expect(await store.list(other, {}, { limit: 100, now: NOW })).to.deep.equal({ tokens: [] })
    })

    it('refuses a second token with the same hash, and names no value in the error', async () => {
      const { hash } = await insert()
      const error = await store.insert(newToken({ tokenHash: hash })).catch((thrown: unknown) => thrown)
      expect(error).to.be.an('error').with.property('message').that.does.not.include('migrate')
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
      expect(await store.revoke(ISSUER, token.id, NOW, BY_API)).to.deep.equal({
        token: { ...token, revokedAt: NOW, revocation: BY_API },
        marked: true,
      })
      expect(await store.consume(ISSUER, hash, NOW, use())).to.equal(false)
    })

    it('revokes once, and returns what the use produced', async () => {
      const { token, hash } = await insert()
      await store.consume(ISSUER, hash, NOW, use({ grantId: 'grant' }))
      const why = { cause: 'console', by: 'carol@example.com', reason: 'The customer asked. 👩' } as const
      const first = await store.revoke(ISSUER, token.id, NOW, why)
      expect(first?.token.use?.grantId).to.equal('grant')
      expect((await store.get(ISSUER, token.id))?.revocation).to.deep.equal(why)
      expect(await store.revoke(ISSUER, token.id, NOW + 1, BY_API)).to.deep.equal({
        token: first?.token,
        marked: false,
      })
      expect((await store.get(ISSUER, token.id))?.revokedAt).to.equal(NOW)
      expect(await store.revoke(ISSUER, mintId(), NOW, BY_API)).to.equal(undefined)
    })

    it('leaves a token with nothing left to stop as it is', async () => {
      const expired = await insert({ expiresAt: NOW })
      const over = await insert()
      await store.consume(
        ISSUER,
        over.hash,
        NOW - 100,
        use({ accessToken: { format: 'jwt', expiresAt: NOW } }),
      )
      for (const { token } of [expired, over]) {
        expect((await store.revoke(ISSUER, token.id, NOW, BY_API))?.marked).to.equal(false)
        expect((await store.get(ISSUER, token.id))?.revokedAt).to.equal(undefined)
      }
      expect((await store.revoke(ISSUER, over.token.id, NOW - 1, BY_API))?.marked).to.equal(true)
    })

    it('keeps the id of a JWT', async () => {
      const { token, hash } = await insert()
      const accessToken = { format: 'jwt', jti: 'Zk3-_9', expiresAt: NOW + 60 } as const
      await store.consume(ISSUER, hash, NOW, use({ accessToken }))
      expect((await store.get(ISSUER, token.id))?.use?.accessToken).to.deep.equal(accessToken)
    })

    it('compares names byte by byte', async () => {
      const userId = 'Zoë '
      await insert({ userId })
      for (const other of ['zoë ', 'Zoë', 'Zoe ', 'Zoë  ']) {
        expect(await store.list(ISSUER, { userId: [other] }, { limit: 1, now: NOW }), other).to.deep.equal({
          tokens: [],
        })
      }
      expect((await store.list(ISSUER, { userId: [userId] }, { limit: 9, now: NOW })).tokens).to.have.length(
        1,
      )
    })

    it('lets exactly one of 50 simultaneous uses win, in each of 20 rounds', async () => {
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
        (await store.list(issuer, filter, { limit: 100, now: NOW + 100, ...page })).tokens.map(({ id }) =>
          ids.indexOf(id),
        )

      before(async () => {
        ids.length = 0
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
        await store.revoke(issuer, both.id, NOW, BY_API)
      })

      it('returns the newest first', async () => expect(await list({})).to.deep.equal([3, 2, 1, 0]))

      it('filters by user', async () => expect(await list({ userId: ['bob'] })).to.deep.equal([2, 1]))

      it('filters by actor, constraint or actual', async () =>
        expect(await list({ actorId: ['carol'] })).to.deep.equal([3, 2]))

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

      it('filters by the backend that issued', async () => {
        const { token } = await insert({ issuer: 'https://backends.example.com', createdBy: 'other' })
        const found = async (filter: object) =>
          (await store.list(token.issuer, filter, { limit: 9, now: NOW })).tokens.map(({ id }) => id)
        await insert({ issuer: token.issuer })
        expect(await found({ createdBy: 'other' })).to.deep.equal([token.id])
        expect(await found({ createdBy: 'other', userId: ['alice'] })).to.deep.equal([token.id])
        expect(await found({ createdBy: 'other', actorId: ['alice'] })).to.deep.equal([])
        expect(await found({ createdBy: 'Other' })).to.deep.equal([])
        expect(await list({ createdBy: 'other' })).to.deep.equal([])
      })

      it('combines filters', async () =>
        expect(await list({ userId: ['bob'], state: 'active' })).to.deep.equal([1]))

      it('continues after a cursor, whose row need not exist', async () => {
        expect(await list({}, { limit: 2 })).to.deep.equal([3, 2])
        expect(await list({}, { limit: 2, cursor: ids[2] })).to.deep.equal([1, 0])
        expect(await list({}, { cursor: `${ids[1]?.slice(0, -1)}!` })).to.be.an('array')
      })
    })

    describe('list, of what no index finds', () => {
      const issuer = 'https://bounded.example.com'
      const ids: string[] = []
      const list = async (filter: object, cursor?: string) =>
        store.list(issuer, filter, { limit: 50, now: NOW, ...(cursor !== undefined && { cursor }) })

      before(async () => {
        ids.length = 0
        for (let index = 0; index < 1003; index += 1) {
          const clientId = index < 2 ? { clientId: 'web' } : {}
          ids.push((await insert({ issuer, ...clientId })).token.id)
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

      it('finds a client, as the constraint and as the one that used it, past any number of others', async () => {
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

      it('goes on when the row where it stopped is gone', async () => {
        await database.sequelize.query('DELETE FROM subject_tokens WHERE id = $1', { bind: [ids[3]] })
        expect((await list({ state: 'revoked' }, ids[3])).tokens).to.have.length(2)
      })
    })

    describe('revokeWhere', () => {
      const issuer = 'https://kill.example.com'
      const idsOf = (revocations: readonly Revoked[]) => revocations.map(({ token }) => token.id).sort()

      it('marks what is active or whose access token is live, and returns just that', async () => {
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
        const marked = await allOf(store.revokeWhere(issuer, { userId: 'alice' }, later, BY_API))
        expect(idsOf(marked)).to.deep.equal([live.token.id, used.token.id].sort())
        expect(marked.every((revocation) => revocation.marked)).to.equal(true)
        for (const { token } of marked) expect((await store.get(issuer, token.id))?.revokedAt).to.equal(later)
        // Again: what may still be live is returned, so that an interrupted request can be completed.
        const again = await allOf(store.revokeWhere(issuer, { userId: 'alice' }, later + 1, BY_API))
        expect(idsOf(again)).to.deep.equal([used.token.id])
        expect(again[0]?.marked).to.equal(false)
        expect(again[0]?.token.use?.grantId).to.equal('grant')
        expect((await store.get(issuer, used.token.id))?.revokedAt).to.equal(later)
        expect((await store.get(issuer, dead.token.id))?.revokedAt).to.equal(undefined)
        expect((await store.get(issuer, other.token.id))?.revokedAt).to.equal(undefined)
      })

      it('ends what a backend issued, as long as an access token can live', async () => {
        const createdBy = 'stolen'
        const life = LONGEST_LIFE
        const start = NOW + 1000
        const unspent = await insert({ issuer, createdBy, expiresAt: start + life + 1 })
        const dead = await insert({ issuer, createdBy, expiresAt: start + life })
        const outlived = await insert({ issuer, createdBy, expiresAt: start + 1 })
        const over = await insert({ issuer, createdBy, expiresAt: start + 1 })
        const other = await insert({ issuer, expiresAt: start + life + 1 })
        for (const [{ hash }, expiresAt] of [
          [outlived, start + life + 1],
          [over, start + life],
        ] as const) {
          const accessToken = { format: 'jwt', expiresAt } as const
          expect(await store.consume(issuer, hash, start, use({ accessToken }))).to.equal(true)
        }
        const ended = await allOf(store.revokeWhere(issuer, { createdBy }, start + life, BY_API))
        expect(idsOf(ended)).to.deep.equal([unspent.token.id, outlived.token.id].sort())
        expect(ended.every(({ marked }) => marked)).to.equal(true)
        for (const { token } of [dead, over, other])
          expect((await store.get(issuer, token.id))?.revokedAt).to.equal(undefined)
        expect(await allOf(store.revokeWhere(ISSUER, { createdBy }, start + life, BY_API))).to.deep.equal([])
      })

      it('ends an access token of the longest life that came of a subject token of the longest life', async () => {
        const createdAt = NOW - 2 * LONGEST_LIFE
        const born = { issuer, userId: 'methuselah', createdAt, expiresAt: createdAt + LONGEST_LIFE }
        const { token, hash } = await insert(born)
        const at = born.expiresAt - 1
        const accessToken = { format: 'jwt', expiresAt: at + LONGEST_LIFE } as const
        expect(await store.consume(issuer, hash, at, use({ at, accessToken }))).to.equal(true)
        const ended = await allOf(store.revokeWhere(issuer, { userId: 'methuselah' }, NOW - 2, BY_API))
        expect(idsOf(ended)).to.deep.equal([token.id])
      })

      describe('of many tokens', () => {
        const TOKENS = 1001
        const insertMany = (userId: string) =>
          Promise.all(
            Array.from({ length: TOKENS }, () => insert({ issuer, userId, context: { much: 'text' } })),
          )

        it('marks them in batches, and reads only what their end needs', async () => {
          const many = await insertMany('many')
          const batches: (readonly Revoked[])[] = []
          const runs = await recordRuns(database, async () => {
            for await (const batch of store.revokeWhere(issuer, { userId: 'many' }, NOW, BY_API))
              batches.push(batch)
          })
          for (const { length } of batches) expect(length).to.be.within(1, 500)
          expect(idsOf(batches.flat())).to.deep.equal(many.map(({ token }) => token.id).sort())
          expect(batches.flat().every(({ marked }) => marked)).to.equal(true)
          expect(batches.flat()[0]?.token).to.have.all.keys('id', 'userId')
          for (const { sql } of runs) expect(sql).not.to.match(/context|SELECT \*/)
        })

        it('marks no batch before it is asked for, and the next call the rest', async () => {
          await insertMany('left')
          let first = 0
          for await (const batch of store.revokeWhere(issuer, { userId: 'left' }, NOW, BY_API)) {
            first = batch.length
            break
          }
          expect(first).to.be.within(1, 500)
          const rest = await allOf(store.revokeWhere(issuer, { userId: 'left' }, NOW, BY_API))
          expect(rest).to.have.length(TOKENS - first)
        })

        it('ends what others commit meanwhile', async () => {
          await insertMany('meanwhile')
          const late = newToken({ issuer, userId: 'meanwhile' })
          const ids = new Set<string>()
          for await (const batch of store.revokeWhere(issuer, { userId: 'meanwhile' }, NOW, BY_API)) {
            if (ids.size === 0) await store.insert(late)
            for (const { token } of batch) ids.add(token.id)
          }
          expect(ids.size).to.equal(TOKENS + 1)
          expect((await store.get(issuer, late.id))?.revokedAt).to.equal(NOW)
        })
      })

      it('names what the token was bound to and who used it, without the rest of the record', async () => {
        const userId = 'judy'
        const bound = { userId, clientId: 'spa', actorId: 'carol' }
        const [unspent, acted] = [await insert({ issuer, ...bound }), await insert({ issuer, ...bound })]
        const alone = await insert({ issuer, userId })
        const accessToken = { format: 'opaque', expiresAt: NOW + 3600 } as const
        const actor = { sub: 'carol', clientId: 'phone', act: { sub: 'dave' } }
        await store.consume(issuer, acted.hash, NOW, use({ actor, accessToken, grantId: 'grant' }))
        await store.consume(issuer, alone.hash, NOW, use({ scope: 'orders:read' }))
        const marked = await allOf(store.revokeWhere(issuer, { userId }, NOW, BY_API))
        expect(marked.map(({ token }) => token)).to.have.deep.members([
          { id: unspent.token.id, ...bound },
          {
            id: acted.token.id,
            ...bound,
            use: { clientId: 'spa', actor: { sub: 'carol' }, accessToken, grantId: 'grant' },
          },
          { id: alone.token.id, userId, use: { clientId: 'spa', accessToken: use().accessToken } },
        ])
      })

      it('finds what lives behind any number that has ended', async () => {
        const userId = 'behind'
        const { token } = await insert({ issuer, userId })
        const ended = Array.from({ length: 2001 }, () => newToken({ issuer, userId, expiresAt: NOW }))
        for (const some of [ended.slice(0, 1000), ended.slice(1000)])
          await Promise.all(some.map((one) => store.insert(one)))
        expect(idsOf(await allOf(store.revokeWhere(issuer, { userId }, NOW, BY_API)))).to.deep.equal([
          token.id,
        ])
      }).timeout(20_000)

      it('ends, though others commit for as long as it runs', async () => {
        const userId = 'endless'
        await insert({ issuer, userId })
        let batches = 0
        for await (const _batch of store.revokeWhere(issuer, { userId }, NOW, BY_API)) {
          batches += 1
          if (batches > 5) break
          await insert({ issuer, userId })
        }
        expect(batches).to.equal(5)
      })

      it('asks twice where there is nothing to end', async () => {
        const runs = await recordRuns(database, async () => {
          expect(await allOf(store.revokeWhere(issuer, { userId: 'no one' }, NOW, BY_API))).to.deep.equal([])
        })
        expect(runs.filter(({ sql }) => sql.startsWith('SELECT'))).to.have.length(2)
      })

      it('has two texts, one for up to twenty tokens', async () => {
        const textsOf = async (count: number) => {
          const userId = `texts-${count}`
          await Promise.all(Array.from({ length: count }, () => insert({ issuer, userId })))
          const runs = await recordRuns(database, () =>
            allOf(store.revokeWhere(issuer, { userId }, NOW, BY_API)),
          )
          return runs.map(({ sql }) => sql)
        }
        expect(await textsOf(1)).to.deep.equal(await textsOf(20))
        expect(await textsOf(21)).to.deep.equal(await textsOf(22))
      })

      it('finds the actor, constraint or actual', async () => {
        const bound = await insert({ issuer, actorId: 'erin' })
        const used = await insert({ issuer })
        await store.consume(issuer, used.hash, NOW, use({ actor: { sub: 'erin' } }))
        const marked = await allOf(store.revokeWhere(issuer, { actorId: 'erin' }, NOW, BY_API))
        expect(idsOf(marked)).to.deep.equal([bound.token.id, used.token.id].sort())
      })
    })

    describe('a chain of several actors', () => {
      const issuer = 'https://chain.example.com'
      const LONG = '👩'.repeat(255)
      const listed = async (actorId: string) =>
        (await store.list(issuer, { actorId: [actorId] }, { limit: 100, now: NOW })).tokens.map(
          ({ id }) => id,
        )
      const spend = async (chain: readonly string[], changes: Partial<NewSubjectToken> = {}) => {
        const { token, hash } = await insert({ issuer, ...changes })
        expect(await store.consume(issuer, hash, NOW, use({ actor: chainOf(chain) }))).to.equal(true)
        return token.id
      }
      const rowsOf = async (id: string) => {
        const sql = `SELECT chain FROM subject_token_actors WHERE token_id = '${id}'`
        return (await database.sequelize.query(sql))[0].length
      }

      it('is found by each of its links, and by no other name', async () => {
        const older = await spend(['bob', 'carol', LONG])
        const newer = await spend(['carol', 'dave'])
        const bound = await insert({ issuer, actorId: 'carol' })
        expect(await listed('bob')).to.deep.equal([older])
        expect(await listed('carol')).to.deep.equal([bound.token.id, newer, older])
        expect(await listed('dave')).to.deep.equal([newer])
        expect(await listed(LONG)).to.deep.equal([older])
        for (const other of ['Carol', 'carol ', LONG.slice(2), 'alice'])
          expect(await listed(other), other).to.deep.equal([])
      })

      it('is found once by an actor who is constraint and link, page by page, with the other filters', async () => {
        const [first, second] = [
          await spend(['erin', 'frank'], { userId: 'bob', actorId: 'frank' }),
          await spend(['grace', 'frank'], { userId: 'carol' }),
        ]
        const page = async (filter: object, cursor?: string) =>
          (
            await store.list(issuer, { actorId: ['frank'], ...filter }, { limit: 1, cursor, now: NOW })
          ).tokens.map(({ id }) => id)
        expect(await page({})).to.deep.equal([second])
        expect(await page({}, second)).to.deep.equal([first])
        expect(await page({}, first)).to.deep.equal([])
        expect(await page({ userId: ['bob'] })).to.deep.equal([first])
        expect(await page({ userId: ['carol'], state: 'consumed', clientId: 'spa' })).to.deep.equal([second])
        expect(await page({ userId: ['dave'] })).to.deep.equal([])
        expect(await store.list(ISSUER, { actorId: ['frank'] }, { limit: 9, now: NOW })).to.deep.equal({
          tokens: [],
        })
      })

      it('is ended by each of its links, once', async () => {
        const ids = [await spend(['heidi', 'ivan']), await spend(['judy', 'ivan'])]
        const [ended, again] = [
          await allOf(store.revokeWhere(issuer, { actorId: 'ivan' }, NOW + 1, BY_API)),
          await allOf(store.revokeWhere(issuer, { actorId: 'heidi' }, NOW + 2, BY_API)),
        ]
        expect(ended.map(({ token, marked }) => [token.id, marked]).sort()).to.deep.equal(
          ids.map((id) => [id, true]).sort(),
        )
        for (const id of ids) expect((await store.get(issuer, id))?.revokedAt).to.equal(NOW + 1)
        expect(again).to.deep.equal([])
      })

      it('of another issuer is neither shown nor ended', async () => {
        const id = await spend(['kim', 'leo'])
        expect(await store.list(ISSUER, { actorId: ['leo'] }, { limit: 9, now: NOW })).to.deep.equal({
          tokens: [],
        })
        expect(await allOf(store.revokeWhere(ISSUER, { actorId: 'leo' }, NOW, BY_API))).to.deep.equal([])
        expect((await store.get(issuer, id))?.revokedAt).to.equal(undefined)
      })

      it('whose use was refused cannot be found', async () => {
        const expired = await insert({ issuer, expiresAt: NOW })
        const revoked = await insert({ issuer })
        await store.revoke(issuer, revoked.token.id, NOW, BY_API)
        const spent = await insert({ issuer })
        await store.consume(issuer, spent.hash, NOW, use({ actor: { sub: 'bob' } }))
        const late = use({ actor: chainOf(['mallory', 'niaj']) })
        for (const { hash } of [expired, revoked, spent, { hash: hashSecret(mintSecret()) }])
          expect(await store.consume(issuer, hash, NOW, late)).to.equal(false)
        expect(await store.consume('https://other.example.com', spent.hash, NOW, late)).to.equal(false)
        expect(await listed('niaj')).to.deep.equal([])
        for (const { token } of [expired, revoked, spent]) expect(await rowsOf(token.id)).to.equal(0)
      })

      if (kind === 'sqlite') {
        it('is not spent if its links were not written', async () => {
          const { hash } = await insert({ issuer })
          await database.sequelize.query(
            'CREATE TRIGGER lossy BEFORE INSERT ON subject_token_actors BEGIN SELECT RAISE(IGNORE); END',
          )
          const chain = use({ actor: chainOf(['olivia', 'peggy']) })
          const spent = await store.consume(issuer, hash, NOW, chain)
          await database.sequelize.query('DROP TRIGGER lossy')
          expect(spent).to.equal(false)
          expect(await store.consume(issuer, hash, NOW, chain)).to.equal(true)
          expect(await listed('peggy')).to.have.length(1)
        })
      }

      it("is the winner's alone when uses by different chains race", async () => {
        const stores = [database.sequelize, database.connect()].map((pool) => createSubjectTokenStore(pool))
        const userId = 'raced'
        let left = 0
        for (let round = 0; round < 10; round += 1) {
          const { token, hash } = await insert({ issuer, userId })
          const chains = Array.from({ length: 8 }, (_, index) => [
            `front-${index % 2}`,
            `middle-${index}`,
            'everybody',
            `back-${index % 3}`,
          ])
          const uses = chains.map((chain, index) => {
            const racer = stores[index % stores.length] ?? store
            return racer.consume(issuer, hash, NOW, use({ actor: chainOf(chain) }))
          })
          const won = chains[(await Promise.all(uses)).indexOf(true)] ?? []
          expect(won).to.have.length(4)
          left += (await rowsOf(token.id)) - (won.length - 1)
          for (const actor of new Set(chains.flat())) {
            const expected = won.includes(actor) ? [token.id] : []
            expect(
              (await listed(actor)).filter((id) => id === token.id),
              actor,
            ).to.deep.equal(expected)
            const filter = { actorId: [actor], userId: [userId] } as const
            const { tokens } = await store.list(issuer, filter, { limit: 1, now: NOW })
            expect(tokens[0]?.id === token.id, actor).to.equal(won.includes(actor))
          }
          for (const actor of new Set(chains.flat().filter((name) => !won.includes(name)))) {
            const ended = await allOf(store.revokeWhere(issuer, { actorId: actor }, NOW, BY_API))
            expect(ended.map(({ token: { id } }) => id)).not.to.include(token.id)
          }
          const ended = await allOf(store.revokeWhere(issuer, { actorId: won.at(-1) ?? '' }, NOW, BY_API))
          expect(ended.filter(({ marked }) => marked).map(({ token: { id } }) => id)).to.deep.equal([
            token.id,
          ])
        }
        // Otherwise none of the above was tested.
        expect(left).to.be.greaterThan(0)
      })

      it('costs one more statement to consume, however long it is', async () => {
        for (const [chain, statements] of [
          [['bob'], 1],
          [['bob', 'carol'], 2],
          [Array.from({ length: 10 }, (_, index) => `actor-${index}`), 2],
        ] as const) {
          const { hash } = await insert({ issuer })
          database.statements.length = 0
          await store.consume(issuer, hash, NOW, use({ actor: chainOf(chain) }))
          expect(database.statements).to.have.length(statements)
        }
      })
    })

    it('costs one statement each to insert, find and consume', async () => {
      database.statements.length = 0
      const token = newToken()
      await store.insert(token)
      expect(database.statements).to.have.length(1)
      await store.findByHash(ISSUER, token.tokenHash)
      expect(database.statements).to.have.length(2)
      await store.consume(ISSUER, token.tokenHash, NOW, use())
      expect(database.statements).to.have.length(3)
    })

    it('rejects, and reveals no values, when the database is gone', async () => {
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
