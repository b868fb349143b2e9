/** On MariaDB several calls share one statement. Each has the outcome that it would have alone. */
import { expect } from 'chai'
import { QueryTypes, type Sequelize } from 'sequelize'
import { ISSUER } from '../../fixtures/cluster.ts'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import { beforeOn } from '../../fixtures/on-database.ts'
import { allOf } from '../../fixtures/revocations.ts'
import { recordRuns } from '../../fixtures/runs.ts'
import { BY_API, NOW, newToken, newUse } from '../../fixtures/subject-tokens.ts'
import {
  findAll,
  insertAll,
  knowIssuer,
  newTokens,
  outcomes,
  sizes,
  spend,
  spendAll,
} from '../../fixtures/together.ts'
import type { Binding, Text } from '../../src/sequelize/database/text.ts'
import { driverOf } from '../../src/sequelize/drivers.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { numberOf } from '../../src/sequelize/tokens/issuers.ts'
import { mintId } from '../../src/subject-tokens/id.ts'
import type { SubjectTokenStore } from '../../src/subject-tokens/store.ts'
import type { NewSubjectToken } from '../../src/subject-tokens/subject-token.ts'

function suite(title: string, tests: (opened: () => Database) => void): void {
  describe(title, () => {
    let database: Database
    beforeOn('mysql', async () => {
      database = await openDatabase('mysql')
    })
    after(() => database?.close())
    tests(() => database)
  })
}

interface Sent {
  readonly sql: string
  readonly values: readonly unknown[]
}
interface Client {
  execute(sql: string, values: readonly unknown[], done: (error: unknown, result: unknown) => void): void
}

/** A pool of one connection, and what it sends. */
function watched({ connect }: Database): { pool: Sequelize; sent: Sent[] } {
  const sent: Sent[] = []
  const watch = (connection: unknown) => {
    const client = connection as Client
    const execute = client.execute.bind(client)
    client.execute = (sql, values, done) => {
      sent.push({ sql, values })
      execute(sql, values, done)
    }
  }
  return { pool: connect({ pool: { max: 1 }, hooks: { afterConnect: watch } }), sent }
}

const verbs = (sent: readonly Sent[]) =>
  sent.map(({ sql }) => sql.split(' ')[0]).filter((verb) => verb !== 'SHOW')

suite('a group of calls on MariaDB', (opened) => {
  it('is one statement', async () => {
    const { pool, sent } = watched(opened())
    const store = createSubjectTokenStore(pool)
    await knowIssuer(store)
    sent.length = 0
    const tokens = newTokens(8)
    await insertAll(store, tokens)
    await findAll(
      store,
      tokens.map(({ id }) => id),
    )
    expect(await spendAll(store, tokens)).to.deep.equal(tokens.map(() => true))
    expect(verbs(sent)).to.deep.equal(['INSERT', 'SELECT', 'INSERT'])
  })

  it('asks once for a token that several calls ask for', async () => {
    const { pool, sent } = watched(opened())
    const store = createSubjectTokenStore(pool)
    const [token] = newTokens(1)
    if (!token) throw new Error('no token')
    await store.insert(token)
    sent.length = 0
    const found = await findAll(store, [token.id, mintId(), token.id])
    expect(found.map((one) => one?.id)).to.deep.equal([token.id, undefined, token.id])
    expect(verbs(sent)).to.deep.equal(['SELECT'])
  })

  // On a cluster, what finds and writes nothing is sent again.
  it('says of each call whether it has written, and has no rows for it', async () => {
    const pool = opened().connect({ pool: { max: 1 } })
    await pool.query('CREATE TABLE numbers (id INT PRIMARY KEY, used INT)')
    const insert: Text = {
      sql: 'INSERT INTO numbers (id, used) VALUES ($1, $2)',
      intent: { to: 'insert', table: 'numbers', columns: ['id', 'used'] },
    }
    const { connectionManager } = pool
    const connection = await connectionManager.getConnection({ type: 'write', useMaster: true })
    try {
      const run = (text: Text, bindings: Binding[]) => driverOf(pool).run(connection, text, bindings)
      const WRITTEN = { rows: [], affected: 1 }
      expect(await run(insert, [[1, null]])).to.deep.equal([WRITTEN])
      expect(
        await run(insert, [
          [2, null],
          [3, null],
        ]),
      ).to.deep.equal([WRITTEN, WRITTEN])
    } finally {
      connectionManager.releaseConnection(connection)
    }
  })

  it('writes to each row what its own call says, and finds each row with its own issuer', async () => {
    const store = createSubjectTokenStore(opened().sequelize)
    const tokens = newTokens(5).map((token, index) => ({ ...token, issuer: `${ISSUER}/${index}` }))
    await insertAll(store, tokens)
    const uses = tokens.map((_, index) =>
      newUse({
        at: NOW + index,
        clientId: `client-${index} é\u0000`.slice(0, -1),
        ...(index % 2 && { actor: { sub: `actor-${index}`, clientId: 'crm' }, scope: `read ${index}` }),
        ...(index % 3 && { grantId: `grant-${index}` }),
        resource: `https://api-${index}.example.com`,
        accessToken: { format: index % 3 ? 'opaque' : 'jwt', expiresAt: NOW + 600 + index },
      }),
    )
    const spent = tokens.map((token, index) => store.consume(token, NOW, uses[index] ?? newUse()))
    expect(await Promise.all(spent)).to.deep.equal([true, true, true, true, true])
    const asked = tokens.map(({ issuer, id }) => store.find(issuer, id))
    const others = tokens.map(({ id }) => store.find(ISSUER, id))
    expect((await Promise.all(asked)).map((token) => token?.use)).to.deep.equal(uses)
    expect(await Promise.all(others)).to.deep.equal(tokens.map(() => undefined))
  })

  it('spends those that can be spent, and no other', async () => {
    const { pool, sent } = watched(opened())
    const store = createSubjectTokenStore(pool)
    const tokens = newTokens(8).map((token, index) => ({
      ...token,
      expiresAt: NOW + ([600, 600, 0, 1][index] ?? 600),
    }))
    const [spent, revoked] = tokens
    if (!spent || !revoked) throw new Error('no tokens')
    await insertAll(store, tokens)
    await spend(store, spent)
    await store.revoke(ISSUER, revoked.id, NOW, BY_API)
    sent.length = 0
    const calls = tokens.map((token, index) =>
      // Each is judged by its own time.
      store.consume(token, index === 3 ? NOW + 1 : NOW, newUse({ clientId: `client-${index}` })),
    )
    expect(await Promise.all(calls)).to.deep.equal([false, false, false, false, true, true, true, true])
    // What has expired is not sent; the other six are sent together, and then each again alone.
    expect(verbs(sent)).to.deep.equal(Array.from({ length: 1 + 6 }, () => 'INSERT'))
    const found = await findAll(
      store,
      tokens.map(({ id }) => id),
    )
    expect(found.map((token) => token?.use?.clientId)).to.deep.equal([
      'spa',
      ...[undefined, undefined, undefined],
      ...['client-4', 'client-5', 'client-6', 'client-7'],
    ])
  })

  it('of sixteen, of which one was spent before, spends fifteen, each once', async () => {
    const { pool, sent } = watched(opened())
    const store = createSubjectTokenStore(pool)
    for (const position of [0, 7, 15]) {
      const tokens = newTokens(16)
      await insertAll(store, tokens)
      await spend(store, tokens[position] as NewSubjectToken)
      sent.length = 0
      const expected = tokens.map((_, index) => index !== position)
      expect(await spendAll(store, tokens)).to.deep.equal(expected)
      // The statement wrote nothing, and each is sent again alone.
      expect(sent.map(({ values }) => values.length / 13)).to.deep.equal([16, ...tokens.map(() => 1)])
      expect(await spendAll(store, tokens)).to.deep.equal(tokens.map(() => false))
    }
  })

  it('has one winner for each token, however often a token is in it', async () => {
    const store = createSubjectTokenStore(opened().sequelize)
    for (let round = 0; round < 10; round += 1) {
      const tokens = newTokens(5)
      await insertAll(store, tokens)
      const uses = [...tokens, ...tokens.slice(0, 3), ...tokens.slice(2, 4), ...tokens]
      const spent = await spendAll(store, uses)
      const winners = tokens.map((token) => spent.filter((won, index) => won && uses[index] === token).length)
      expect(winners).to.deep.equal([1, 1, 1, 1, 1])
    }
  })

  it('judges each of two calls for one token', async () => {
    const store = createSubjectTokenStore(opened().sequelize)
    const [first, good] = newTokens(2)
    if (!first || !good) throw new Error('no tokens')
    const soon = { ...first, expiresAt: NOW + 1 }
    await insertAll(store, [soon, good])
    const spent = [NOW + 1, NOW, NOW].map((now, index) =>
      store.consume(index < 2 ? soon : good, now, newUse()),
    )
    expect(await Promise.all(spent)).to.deep.equal([false, true, true])
  })

  it('has one winner for each token among pools that spend the same ones', async () => {
    const stores = Array.from({ length: 4 }, () => createSubjectTokenStore(opened().connect()))
    for (let round = 0; round < 20; round += 1) {
      const tokens = newTokens(16)
      await insertAll(createSubjectTokenStore(opened().sequelize), tokens)
      const spent = await Promise.all(
        stores.map((store, index) => {
          // Groups that overlap, of several sizes, in several orders.
          const some = tokens.slice(index, 16 - index)
          return spendAll(store, index % 2 ? some.toReversed() : some).then((won) =>
            index % 2 ? won.toReversed() : won,
          )
        }),
      )
      const winners = tokens.map(
        (_, position) => spent.filter((won, index) => won[position - index] === true).length,
      )
      expect(winners).to.deep.equal(tokens.map(() => 1))
    }
  })

  it('fails for the one call whose key exists', async () => {
    const store = createSubjectTokenStore(opened().sequelize)
    const tokens = newTokens(4)
    const [, second, , last] = tokens
    if (!second || !last) throw new Error('no tokens')
    await store.insert(last)
    const rest = newTokens(3)
    const inserted = [...tokens.slice(0, 3), { ...newToken(), id: last.id }, ...rest]
    expect(await outcomes(inserted.map((token) => store.insert(token)))).to.deep.equal([
      ...['fulfilled', 'fulfilled', 'fulfilled', 'rejected'],
      ...['fulfilled', 'fulfilled', 'fulfilled'],
    ])
    const found = await findAll(
      store,
      [...tokens, ...rest].map(({ id }) => id),
    )
    expect(found.map((token) => token?.id)).to.deep.equal([...tokens, ...rest].map(({ id }) => id))
  })
})

suite('the statements of groups on MariaDB', (opened) => {
  it('are few: the server keeps sixteen texts prepared to insert, five to find, and sixteen to spend', async () => {
    const pool = opened().connect({ pool: { max: 1 } })
    const store = createSubjectTokenStore(pool)
    for (let count = 1; count <= 20; count += 1) {
      const tokens = newTokens(count)
      await insertAll(store, tokens)
      await findAll(
        store,
        tokens.map(({ id }) => id),
      )
      await Promise.all(tokens.slice(1).map((token) => spend(store, token)))
      const [first = false] = await spendAll(store, tokens)
      expect(first).to.equal(true)
    }
    const rows = await pool.query<{ Variable_name: string; Value: string }>(
      "SHOW SESSION STATUS WHERE Variable_name IN ('Com_stmt_prepare', 'Com_stmt_close')",
      { type: QueryTypes.SELECT },
    )
    const count = (name: string) => Number(rows.find((row) => row.Variable_name === name)?.Value)
    expect(count('Com_stmt_prepare') - count('Com_stmt_close')).to.equal(16 + 5 + 16)
  })

  for (const [rows, analyzed] of [
    [0, false],
    [3000, false],
    [3000, true],
  ] as const) {
    it(`use the primary keys, on ${rows} other rows${analyzed ? ' that were analyzed' : ''}`, async () => {
      const database = opened()
      await insertMany(createSubjectTokenStore(database.sequelize), rows)
      if (analyzed) await database.sequelize.query('ANALYZE TABLE subject_tokens')
      const { pool, sent } = watched(database)
      const store = createSubjectTokenStore(pool)
      const tokens = newTokens(16)
      await insertAll(store, tokens)
      sent.length = 0
      await findAll(
        store,
        tokens.map(({ id }) => id),
      )
      const [found] = sent
      if (!found) throw new Error('nothing was sent')
      const plan = await explain(pool, found.sql, found.values)
      expect(plan.map(({ table, type, key }) => [table, type, key])).to.deep.equal([
        ['t', 'range', 'PRIMARY'],
        ['u', 'eq_ref', 'PRIMARY'],
        ['s', 'eq_ref', 'PRIMARY'],
      ])
    })
  }
})

async function insertMany(store: SubjectTokenStore, count: number): Promise<void> {
  for (let from = 0; from < count; from += 500) await insertAll(store, newTokens(500))
}

interface Plan {
  readonly table: string
  readonly key: string
  readonly type: string
}

async function explain(pool: Sequelize, sql: string, values: readonly unknown[]): Promise<Plan[]> {
  const { connectionManager } = pool
  const connection = await connectionManager.getConnection({ type: 'write', useMaster: true })
  try {
    return await new Promise((resolve, reject) => {
      ;(connection as Client).execute(`EXPLAIN ${sql}`, values, (error, plan) =>
        error ? reject(error) : resolve(plan as Plan[]),
      )
    })
  } finally {
    connectionManager.releaseConnection(connection)
  }
}

suite('groups of two processes on MariaDB', (opened) => {
  /** Holds the place of a token's use while `work` runs. */
  async function holding({ id }: NewSubjectToken, work: (hold: Hold) => Promise<unknown>): Promise<void> {
    const { sequelize } = opened()
    await sequelize.transaction(async (transaction) => {
      const hold: Hold = async (other) => {
        await sequelize.query(
          `SELECT 1 FROM subject_token_uses
            WHERE issuer = ${numberOf(ISSUER)} AND token_id = X'${other.id}' FOR UPDATE`,
          { transaction },
        )
      }
      // The server rolls back the transaction that has written less: not this one.
      for (let index = 0; index < 20; index += 1) {
        await sequelize.query(
          `INSERT INTO subject_token_actors (token_id, issuer, actor_id, chain)
            VALUES (X'${mintId()}', 1, 'other', X'${mintId()}')`,
          { transaction },
        )
      }
      await hold({ id })
      await work(hold)
    })
  }
  type Hold = (token: Pick<NewSubjectToken, 'id'>) => Promise<void>

  /** The connections of this database that wait for a row, once there are so many. */
  async function waiting(count: number): Promise<number[]> {
    for (;;) {
      const rows = await opened().sequelize.query<{ id: number }>(
        `SELECT p.id FROM information_schema.innodb_trx x JOIN information_schema.processlist p
          ON p.id = x.trx_mysql_thread_id WHERE p.db = DATABASE() AND x.trx_state = 'LOCK WAIT'`,
        { type: QueryTypes.SELECT },
      )
      if (rows.length === count) return rows.map(({ id }) => id)
      // The server renews this table when it was not read for a tenth of a second.
      await new Promise((resolve) => setTimeout(resolve, 120))
    }
  }

  let one: SubjectTokenStore
  let other: SubjectTokenStore
  before(async () => {
    one = createSubjectTokenStore(opened().connect({ pool: { max: 1 } }))
    other = createSubjectTokenStore(opened().connect({ pool: { max: 1 } }))
    await knowIssuer(other)
  })

  /** Tokens between whose places there are uses, so that the place of one can be held alone. */
  async function tokensApart(count: number, userId: string): Promise<NewSubjectToken[]> {
    const all = newTokens(2 * count + 1).map((token, index) => (index % 2 ? { ...token, userId } : token))
    await insertAll(one, all)
    await spendAll(
      one,
      all.filter((_, index) => index % 2 === 0),
    )
    return all.filter((_, index) => index % 2 === 1)
  }

  it('lock their rows in the order that a kill switch uses', async () => {
    // In another order, two that meet wait for each other in one of two rounds.
    for (let round = 0; round < 6; round += 1) {
      const userId = `round-${round}`
      const tokens = await tokensApart(2, userId)
      const held = tokens.at(-1) as NewSubjectToken
      const pending: Promise<unknown>[] = []
      const runs = await recordRuns(opened(), async () => {
        await holding(held, async () => {
          pending.push(spendAll(one, tokens.toReversed()))
          await waiting(1)
          pending.push(allOf(other.revokeWhere(ISSUER, { userId }, NOW, BY_API)))
          await waiting(2)
        })
        await Promise.all(pending)
      })
      const [spent, revoked] = await Promise.all(pending)
      expect(spent).to.deep.equal([true, true])
      expect(revoked).to.have.length(2)
      expect(sizes(runs.filter(({ sql }) => sql.startsWith('INSERT INTO subject_token_uses')))).to.deep.equal(
        [2, 1],
      )
    }
  })

  it('are repeated one by one when the database has rolled them back', async () => {
    const tokens = await tokensApart(4, 'alice')
    const [first, , , last] = tokens
    if (!first || !last) throw new Error('no tokens')
    const spent: Promise<boolean[]>[] = []
    const runs = await recordRuns(opened(), async () => {
      await holding(last, async (hold) => {
        spent.push(spendAll(one, tokens))
        await waiting(1)
        // The group holds the first and waits for the last: a deadlock.
        await hold(first)
      })
      await Promise.all(spent)
    })
    expect(await spent[0]).to.deep.equal([true, true, true, true])
    expect(sizes(runs)).to.deep.equal([4, 1, 1, 1, 1])
  })

  it('are not sent again when their connection is lost: they may have taken effect', async () => {
    const tokens = await tokensApart(4, 'bob')
    const [, second] = tokens
    if (!second) throw new Error('no token')
    const spent: Promise<PromiseSettledResult<boolean>[]>[] = []
    const runs = await recordRuns(opened(), async () => {
      await holding(second, async () => {
        spent.push(Promise.allSettled(tokens.map((token) => spend(one, token))))
        for (const id of await waiting(1)) await opened().sequelize.query(`KILL ${id}`)
        await Promise.all(spent)
      })
    })
    const settled = (await spent[0]) ?? []
    expect(settled.map(({ status }) => status)).to.deep.equal(tokens.map(() => 'rejected'))
    for (const outcome of settled)
      expect(Reflect.get(outcome, 'reason')).to.include({ name: 'StorageError', tookEffect: undefined })
    expect(sizes(runs)).to.deep.equal([4])
    expect(await spendAll(other, tokens)).to.deep.equal(tokens.map(() => true))
  })
})
