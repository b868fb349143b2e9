/** A Galera cluster of three MariaDB nodes, with the processes of one deployment on different nodes. */

import { expect } from 'chai'
import { errors } from 'oidc-provider'
import { type Cluster, ISSUER, startCluster } from '../../../fixtures/cluster.ts'
import { type Galera, startGalera } from '../../../fixtures/galera.ts'
import { allOf } from '../../../fixtures/revocations.ts'
import { BY_API, newToken, newUse } from '../../../fixtures/subject-tokens.ts'
import { findAll, insertAll, newTokens, spendAll } from '../../../fixtures/together.ts'
import { connect } from '../../../src/cli/connect.ts'
import { createAdapter, createSubjectTokenStore, migrate } from '../../../src/sequelize/index.ts'
import { mintId } from '../../../src/tokens/id.ts'
import type { SubjectTokenUse } from '../../../src/tokens/subject-token.ts'
import { LONG, race, tell } from '../race/race.ts'

const TOKENS = LONG ? 2000 : 100
const PAIRS = LONG ? 5000 : 300

describe('a Galera cluster', function () {
  this.timeout(LONG ? 900_000 : 180_000)
  let galera: Galera | undefined
  const urls = () => (galera?.nodes ?? []).map(({ url }) => url)

  before(async function () {
    galera = await startGalera()
    if (!galera) {
      if (process.env.CI === 'true') throw new Error('no Galera: with CI=true no test is skipped')
      console.warn('no Galera (mariadb-server, galera-4, rsync): its tests are skipped')
      this.skip()
    }
    const sequelize = connect(urls()[0] ?? '')
    await migrate(sequelize)
    await sequelize.close()
  })
  after(() => galera?.stop())

  const use = newUse()

  it('never refuses a token on one node that was issued a moment ago on another', async () => {
    const pools = urls().map(connect)
    try {
      const stores = pools.map((pool) => createSubjectTokenStore(pool))
      for (let pair = 0; pair < PAIRS; pair += 1) {
        const [here, there] = [stores[pair % 3], stores[(pair + 1) % 3]]
        const token = newToken()
        await here?.insert(token)
        if (pair % 2) expect(await there?.find(ISSUER, token.id)).to.have.property('id', token.id)
        expect(await there?.consume(token, token.createdAt, use)).to.equal(true)
        expect(await here?.consume(token, token.createdAt, use)).to.equal(false)
      }
    } finally {
      await Promise.all(pools.map((pool) => pool.close()))
    }
  })

  it('ends on one node what was written a moment ago on another', async () => {
    const pools = urls().map(connect)
    try {
      for (let pair = 0; pair < PAIRS / 3; pair += 1) {
        const [here, there] = [pools[pair % 3], pools[(pair + 1) % 3]]
        if (!here || !there) throw new Error('no node')
        const token = { ...newToken(), userId: `user-${pair}` }
        await createSubjectTokenStore(here).insert(token)
        const ended = await allOf(
          createSubjectTokenStore(there).revokeWhere(
            ISSUER,
            { userId: token.userId },
            token.createdAt,
            BY_API,
          ),
        )
        expect(ended.map((revocation) => revocation.token.id)).to.deep.equal([token.id])
        const further = { ...newToken(), userId: `user-${pair}` }
        const actor = { sub: 'bob', act: { sub: `actor-${pair}` } }
        await createSubjectTokenStore(here).insert(further)
        const { createdAt } = further
        const spent = { ...use, actor, accessToken: { format: 'jwt', expiresAt: createdAt + 60 } as const }
        expect(await createSubjectTokenStore(there).consume(further, createdAt, spent)).to.equal(true)
        const found = await allOf(
          createSubjectTokenStore(here).revokeWhere(ISSUER, { actorId: actor.act.sub }, createdAt, BY_API),
        )
        expect(found.map((revocation) => revocation.token.id)).to.deep.equal([further.id])
        const grantId = `grant-${pair}`
        await createAdapter(here)('AccessToken').upsert(grantId, { jti: grantId, grantId }, 60)
        await createAdapter(there)('AccessToken').revokeByGrantId(grantId)
        expect(await createAdapter(there)('AccessToken').find(grantId)).to.equal(undefined)
      }
    } finally {
      await Promise.all(pools.map((pool) => pool.close()))
    }
  })

  it('never refuses one of several tokens in one statement, of which some were issued a moment ago', async () => {
    const pools = urls().map(connect)
    try {
      const stores = pools.map((pool) => createSubjectTokenStore(pool))
      for (let round = 0; round < PAIRS / 3; round += 1) {
        const [here, there] = [stores[round % 3], stores[(round + 1) % 3]]
        if (!here || !there) throw new Error('no node')
        const [old, recent] = [newTokens(4), newTokens(4)]
        await insertAll(there, old)
        await insertAll(here, recent)
        const tokens = [...old, ...recent]
        const ids = [...tokens.map(({ id }) => id), mintId()]
        if (round % 2) {
          const found = await findAll(there, ids)
          expect(found.map((token) => token?.id)).to.deep.equal([...tokens.map(({ id }) => id), undefined])
        }
        expect(await spendAll(there, tokens)).to.deep.equal(tokens.map(() => true))
        expect(await spendAll(here, tokens)).to.deep.equal(tokens.map(() => false))
      }
    } finally {
      await Promise.all(pools.map((pool) => pool.close()))
    }
  })

  it('has one winner for each token among groups on all nodes at once', async () => {
    const pools = urls().map(connect)
    try {
      const stores = pools.map((pool) => createSubjectTokenStore(pool))
      const [first] = stores
      if (!first) throw new Error('no node')
      for (let round = 0; round < PAIRS / 3; round += 1) {
        const tokens = newTokens(12)
        await insertAll(first, tokens)
        const spent = await Promise.all(stores.map((store, node) => spendAll(store, tokens.slice(node * 2))))
        const winners = tokens.map((_, index) => spent.filter((won, node) => won[index - node * 2]).length)
        expect(winners).to.deep.equal(tokens.map(() => 1))
      }
    } finally {
      await Promise.all(pools.map((pool) => pool.close()))
    }
  })

  it('has one winner for each session that is to be ended, and ends none twice that is settled', async () => {
    const pools = urls().map(connect)
    try {
      const stores = pools.map((pool) => createSubjectTokenStore(pool))
      for (let round = 0; round < PAIRS / 3; round += 1) {
        const [here, there, elsewhere] = [0, 1, 2].map((node) => stores[(round + node) % 3]?.sessions)
        const token = newToken({ purpose: 'session', clientId: 'shop', actorId: 'bob' })
        const { id, createdAt: at } = token
        const endsAt = at + 600
        const opened: SubjectTokenUse = {
          ...{ at, clientId: 'shop', actor: { sub: 'bob' } },
          ...{ accessToken: { format: 'session', expiresAt: endsAt }, session: { logout: 'pending' } },
        }
        await stores[round % 3]?.insert(token)
        expect(await stores[round % 3]?.consume(token, at, opened)).to.equal(true)
        const claims = [here, there, elsewhere].map((on, node) =>
          on?.claim(ISSUER, id, endsAt, at + 5 + node),
        )
        const won = await Promise.all(claims)
        expect(won.filter(Boolean), 'claims that were granted').to.have.length(1)
        const mark = at + 5 + won.indexOf(true)
        expect(await elsewhere?.claim(ISSUER, id, mark, at + 30), 'a claim on another node').to.equal(true)
        await there?.settle(ISSUER, id, { mark: null, logout: 'confirmed', at })
        expect(await here?.claim(ISSUER, id, at + 30, at + 40), 'a claim of what is settled').to.equal(false)
        const found = await stores[round % 3]?.find(ISSUER, id)
        expect(found?.use?.session?.logout).to.equal('confirmed')
      }
    } finally {
      await Promise.all(pools.map((pool) => pool.close()))
    }
  })

  it('is migrated from all nodes at once, where the lock of one node is unknown to the others', async () => {
    for (let round = 0; round < (LONG ? 60 : 10); round += 1) {
      const nodes = urls().map((url) => connect(url))
      await nodes[0]?.query(`CREATE DATABASE migrated_${round}`)
      // The other nodes know it once they have applied what was committed before this.
      for (const node of nodes)
        await node.query(
          'SET STATEMENT wsrep_sync_wait=15 FOR SELECT COUNT(*) FROM information_schema.schemata',
        )
      await Promise.all(nodes.map((node) => node.close()))
      const pools = Array.from({ length: 5 }, (_, index) => {
        const url = new URL(urls()[index % 3] ?? '')
        url.pathname = `/migrated_${round}`
        return connect(url.href)
      })
      try {
        const outcomes = await Promise.allSettled(pools.map((pool) => migrate(pool)))
        expect(outcomes.filter(({ status }) => status === 'rejected')).to.deep.equal([])
        for (const pool of pools)
          expect(await createSubjectTokenStore(pool).find(ISSUER, mintId())).to.equal(undefined)
      } finally {
        await Promise.all(pools.map((pool) => pool.close()))
      }
    }
  })

  it('records once what reaches all nodes at once, even if an expired record is replaced', async () => {
    const pools = urls().map(connect)
    try {
      const uses = Array.from({ length: 9 }, (_, index) => pools[index % 3]).filter(
        (pool) => pool !== undefined,
      )
      for (let round = 0; round < PAIRS / 3; round += 1) {
        const id = `record-${round}`
        const [first] = pools
        // Expired for longer than records can be found after their expiry.
        if (round % 2 && first) await createAdapter(first)('ReplayDetection').upsert(id, { jti: id }, -60)
        const refusals = await Promise.all(
          uses.map((pool) =>
            createAdapter(pool)('ReplayDetection')
              .upsert(id, { jti: id }, 60)
              .then(
                () => undefined,
                (error: unknown) => error,
              ),
          ),
        )
        const losers = refusals.filter((refusal) => refusal !== undefined)
        expect(losers).to.have.length(uses.length - 1)
        for (const refusal of losers) expect(refusal).to.be.instanceOf(errors.InvalidGrant)
      }
    } finally {
      await Promise.all(pools.map((pool) => pool.close()))
    }
  })

  describe('with a process on each node', () => {
    let cluster: Cluster
    before(async () => {
      cluster = await startCluster(urls())
    })
    after(() => cluster?.close())

    it('spends every token exactly once', async () => {
      const report = await race(cluster, { tokens: TOKENS })
      tell('galera', report)
      expect(report.statuses).to.deep.equal({ 200: TOKENS, 400: TOKENS * 5 })
    })
  })

  // Last: it takes the cluster apart.
  describe('with two nodes gone', () => {
    it('treats a node that lost quorum as an outage, never as an invalid token', async () => {
      const [first, second, third] = galera?.nodes ?? []
      if (!first || !second || !third) throw new Error('no node')
      const pool = connect(first.url)
      try {
        const store = createSubjectTokenStore(pool)
        const token = newToken()
        await store.insert(token)
        await Promise.all([second.kill(), third.kill()])
        await untilLost(() => store.find(ISSUER, token.id))
        for (const call of [
          () => store.find(ISSUER, token.id),
          () => store.consume(token, token.createdAt, use),
          () => store.insert(newToken()),
        ]) {
          const error = await call().catch((thrown: unknown) => thrown)
          expect(error).to.be.an('error').with.property('name', 'StorageError')
        }
      } finally {
        await pool.close()
      }
    })
  })
})

/** Waits until the node itself has noticed that it is alone. */
async function untilLost(ask: () => Promise<unknown>): Promise<void> {
  const givenUp = Date.now() + 30_000
  while (Date.now() < givenUp) {
    try {
      await ask()
    } catch {
      return
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('the node does not notice that it is alone')
}
