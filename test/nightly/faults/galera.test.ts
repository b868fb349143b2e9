/** A Galera cluster of three MariaDB nodes, with the processes of one deployment on different nodes. */

import { expect } from 'chai'
import { errors } from 'oidc-provider'
import type { Sequelize } from 'sequelize'
import { type Cluster, ISSUER, startCluster } from '../../../fixtures/cluster.ts'
import { type Galera, startGalera } from '../../../fixtures/galera.ts'
import { allOf } from '../../../fixtures/revocations.ts'
import { BY_API, newToken, newUse } from '../../../fixtures/subject-tokens.ts'
import { findAll, insertAll, newTokens, spendAll } from '../../../fixtures/together.ts'
import { until } from '../../../fixtures/until.ts'
import { connect } from '../../../src/cli/connect.ts'
import { createAdapter, createSubjectTokenStore, migrate } from '../../../src/sequelize/index.ts'
import { mintId } from '../../../src/tokens/id.ts'
import type { SubjectTokenStore } from '../../../src/tokens/store.ts'
import type { SubjectTokenUse } from '../../../src/tokens/subject-token.ts'
import { itSpendsEach, LONG } from '../race/race.ts'

const TOKENS = LONG ? 2000 : 100
const PAIRS = LONG ? 5000 : 300

describe('a Galera cluster', function () {
  this.timeout(LONG ? 900_000 : 180_000)
  let galera: Galera | undefined
  const urls = () => (galera?.nodes ?? []).map(({ url }) => url)
  /** Of the nodes. */
  const pools: Sequelize[] = []
  const stores: SubjectTokenStore[] = []

  before(async function () {
    galera = await startGalera()
    if (!galera) return this.skip()
    pools.push(...urls().map(connect))
    const [first] = nodesOf(pools)
    await migrate(first)
    stores.push(...pools.map((pool) => createSubjectTokenStore(pool)))
  })
  after(async () => {
    await Promise.all(pools.map((pool) => pool.close()))
    await galera?.stop()
  })

  const use = newUse()

  it('never refuses a token on one node that was issued a moment ago on another', async () => {
    for (let pair = 0; pair < PAIRS; pair += 1) {
      const [here, there] = nodesOf(stores, pair)
      const token = newToken()
      await here.insert(token)
      if (pair % 2) expect(await there.find(ISSUER, token.id)).to.have.property('id', token.id)
      expect(await there.consume(token, token.createdAt, use)).to.equal(true)
      expect(await here.consume(token, token.createdAt, use)).to.equal(false)
    }
  })

  it('ends on one node what was written a moment ago on another', async () => {
    for (let pair = 0; pair < PAIRS / 3; pair += 1) {
      const [here, there] = nodesOf(pools, pair)
      const [storeHere, storeThere] = nodesOf(stores, pair)
      const token = { ...newToken(), userId: `user-${pair}` }
      await storeHere.insert(token)
      const ended = await allOf(
        storeThere.revokeWhere(ISSUER, { userId: token.userId }, token.createdAt, BY_API),
      )
      expect(ended.map((revocation) => revocation.token.id)).to.deep.equal([token.id])
      const further = { ...newToken(), userId: `user-${pair}` }
      const actor = { sub: 'bob', act: { sub: `actor-${pair}` } }
      await storeHere.insert(further)
      const { createdAt } = further
      const spent = { ...use, actor, accessToken: { format: 'jwt', expiresAt: createdAt + 60 } as const }
      expect(await storeThere.consume(further, createdAt, spent)).to.equal(true)
      const found = await allOf(storeHere.revokeWhere(ISSUER, { actorId: actor.act.sub }, createdAt, BY_API))
      expect(found.map((revocation) => revocation.token.id)).to.deep.equal([further.id])
      const grantId = `grant-${pair}`
      await createAdapter(here)('AccessToken').upsert(grantId, { jti: grantId, grantId }, 60)
      await createAdapter(there)('AccessToken').revokeByGrantId(grantId)
      expect(await createAdapter(there)('AccessToken').find(grantId)).to.equal(undefined)
    }
  })

  it('never refuses one of several tokens in one statement, of which some were issued a moment ago', async () => {
    for (let round = 0; round < PAIRS / 3; round += 1) {
      const [here, there] = nodesOf(stores, round)
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
  })

  it('has one winner for each token among groups on all nodes at once', async () => {
    const [first] = nodesOf(stores)
    for (let round = 0; round < PAIRS / 3; round += 1) {
      const tokens = newTokens(12)
      await insertAll(first, tokens)
      const spent = await Promise.all(stores.map((store, node) => spendAll(store, tokens.slice(node * 2))))
      const winners = tokens.map((_, index) => spent.filter((won, node) => won[index - node * 2]).length)
      expect(winners).to.deep.equal(tokens.map(() => 1))
    }
  })

  it('has one winner for each session that is to be ended, and ends none twice that is settled', async () => {
    for (let round = 0; round < PAIRS / 3; round += 1) {
      const [store] = nodesOf(stores, round)
      const [here, there, elsewhere] = nodesOf(stores, round).map(({ sessions }) => sessions)
      const token = newToken({ purpose: 'session', clientId: 'shop', actorId: 'bob' })
      const { id, createdAt: at } = token
      const endsAt = at + 600
      const opened: SubjectTokenUse = {
        ...{ at, clientId: 'shop', actor: { sub: 'bob' } },
        ...{ accessToken: { format: 'session', expiresAt: endsAt }, session: { logout: 'pending' } },
      }
      await store.insert(token)
      expect(await store.consume(token, at, opened)).to.equal(true)
      const claims = [here, there, elsewhere].map((on, node) => on?.claim(ISSUER, id, endsAt, at + 5 + node))
      const won = await Promise.all(claims)
      expect(won.filter(Boolean), 'claims that were granted').to.have.length(1)
      const mark = at + 5 + won.indexOf(true)
      expect(await elsewhere?.claim(ISSUER, id, mark, at + 30), 'a claim on another node').to.equal(true)
      await there?.settle(ISSUER, id, { mark: null, logout: 'confirmed', at })
      expect(await here?.claim(ISSUER, id, at + 30, at + 40), 'a claim of what is settled').to.equal(false)
      const found = await store.find(ISSUER, id)
      expect(found?.use?.session?.logout).to.equal('confirmed')
    }
  })

  it('is migrated from all nodes at once, where the lock of one node is unknown to the others', async () => {
    for (let round = 0; round < (LONG ? 60 : 10); round += 1) {
      await pools[0]?.query(`CREATE DATABASE migrated_${round}`)
      // The other nodes know it once they have applied what was committed before this.
      for (const pool of pools)
        await pool.query(
          'SET STATEMENT wsrep_sync_wait=15 FOR SELECT COUNT(*) FROM information_schema.schemata',
        )
      const processes = Array.from({ length: 5 }, (_, index) => {
        const url = new URL(urls()[index % 3] ?? '')
        url.pathname = `/migrated_${round}`
        return connect(url.href)
      })
      try {
        const outcomes = await Promise.allSettled(processes.map((pool) => migrate(pool)))
        expect(outcomes.filter(({ status }) => status === 'rejected')).to.deep.equal([])
        for (const pool of processes)
          expect(await createSubjectTokenStore(pool).find(ISSUER, mintId())).to.equal(undefined)
      } finally {
        await Promise.all(processes.map((pool) => pool.close()))
      }
    }
  })

  it('records once what reaches all nodes at once, even if an expired record is replaced', async () => {
    const uses = Array.from({ length: 3 }, () => pools).flat()
    for (let round = 0; round < PAIRS / 3; round += 1) {
      const id = `record-${round}`
      const [first] = nodesOf(pools)
      // Expired for longer than records can be found after their expiry.
      if (round % 2) await createAdapter(first)('ReplayDetection').upsert(id, { jti: id }, -60)
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
  })

  describe('with a process on each node', () => {
    let cluster: Cluster
    before(async () => {
      cluster = await startCluster(urls())
    })
    after(() => cluster?.close())

    itSpendsEach('galera', () => cluster, TOKENS)
  })

  // Last: it takes the cluster apart.
  describe('with two nodes gone', () => {
    it('treats a node that lost quorum as an outage, never as an invalid token', async () => {
      const [store] = nodesOf(stores)
      const token = newToken()
      await store.insert(token)
      await Promise.all(galera?.nodes.slice(1).map((node) => node.kill()) ?? [])
      // The node itself notices that it is alone.
      const find = () => store.find(ISSUER, token.id)
      await until(() =>
        find().then(
          () => false,
          () => true,
        ),
      )
      for (const call of [
        find,
        () => store.consume(token, token.createdAt, use),
        () => store.insert(newToken()),
      ]) {
        const error = await call().catch((thrown: unknown) => thrown)
        expect(error).to.be.an('error').with.property('name', 'StorageError')
      }
    })
  })
})

/** The node of a round, and those beside it. */
function nodesOf<One>(all: readonly One[], round = 0): [One, One, One] {
  return [0, 1, 2].map((node) => all[(round + node) % 3] ?? expect.fail('no node')) as [One, One, One]
}
