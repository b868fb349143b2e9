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
  newTokens,
  outcomes,
  sizes,
  spend,
  spendAll,
  unknownHash,
} from '../../fixtures/together.ts'
import { unique } from '../../fixtures/unique.ts'
import type { Binding, Text } from '../../src/sequelize/database/text.ts'
import { driverOf } from '../../src/sequelize/drivers.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
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
    const tokens = newTokens(8)
    await insertAll(store, tokens)
    await findAll(
      store,
      tokens.map(({ tokenHash }) => tokenHash),
    )
    expect(await spendAll(store, tokens)).to.deep.equal(tokens.map(() => true))
    expect(verbs(sent)).to.deep.equal(['INSERT', 'SELECT', 'UPDATE'])
    expect(await spendAll(store, tokens)).to.deep.equal(tokens.map(() => false))
    expect(verbs(sent)).to.deep.equal(['INSERT', 'SELECT', 'UPDATE', 'UPDATE'])
  })

  it('asks once for a token that several calls ask for', async () => {
    const { pool, sent } = watched(opened())
    const store = createSubjectTokenStore(pool)
    const [token] = newTokens(1)
    if (!token) throw new Error('no token')
    await store.insert(token)
    sent.length = 0
    const found = await findAll(store, [token.tokenHash, unknownHash(), token.tokenHash])
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
        accessToken: { format: index % 2 ? 'opaque' : 'jwt', expiresAt: NOW + 600 + index },
      }),
    )
    const spent = tokens.map(({ issuer, tokenHash }, index) =>
      store.consume(issuer, tokenHash, NOW, uses[index] ?? newUse()),
    )
    expect(await Promise.all(spent)).to.deep.equal([true, true, true, true, true])
    const asked = tokens.map(({ issuer, tokenHash }) => store.findByHash(issuer, tokenHash))
    const others = tokens.map(({ tokenHash }) => store.findByHash(ISSUER, tokenHash))
    expect((await Promise.all(asked)).map((token) => token?.use)).to.deep.equal(uses)
    expect(await Promise.all(others)).to.deep.equal(tokens.map(() => undefined))
  })

  it('spends those that can be spent, and no other', async () => {
    const { pool, sent } = watched(opened())
    const store = createSubjectTokenStore(pool)
    const tokens = newTokens(8)
    const [spent, revoked, expired, foreign, expiresNow, ...good] = tokens
    if (!spent || !revoked || !expired || !foreign || !expiresNow) throw new Error('no tokens')
    await insertAll(store, [
      ...[spent, revoked, ...good],
      { ...expired, expiresAt: NOW },
      { ...foreign, issuer: 'https://other.example.com' },
      { ...expiresNow, expiresAt: NOW + 1 },
    ])
    await spend(store, spent.tokenHash)
    await store.revoke(ISSUER, revoked.id, NOW, BY_API)
    sent.length = 0
    const calls = tokens.map(({ tokenHash }, index) =>
      // Each is judged by its own time.
      store.consume(ISSUER, tokenHash, index === 4 ? NOW + 1 : NOW, newUse({ clientId: `client-${index}` })),
    )
    expect(await Promise.all(calls)).to.deep.equal([false, false, false, false, false, true, true, true])
    expect(verbs(sent)).to.deep.equal(['UPDATE', 'SELECT'])
    const found = await findAll(
      store,
      tokens.map(({ tokenHash }) => tokenHash),
    )
    expect(found.map((token) => token?.use?.clientId)).to.deep.equal([
      'spa',
      ...[undefined, undefined, undefined, undefined],
      ...['client-5', 'client-6', 'client-7'],
    ])
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
    const [expired, good] = newTokens(2)
    if (!expired || !good) throw new Error('no tokens')
    await insertAll(store, [{ ...expired, expiresAt: NOW + 1 }, good])
    const spent = [NOW + 1, NOW, NOW].map((now, index) =>
      store.consume(ISSUER, (index < 2 ? expired : good).tokenHash, now, newUse()),
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
    const inserted = [...tokens.slice(0, 3), { ...newToken(), tokenHash: last.tokenHash }, ...rest]
    expect(await outcomes(inserted.map((token) => store.insert(token)))).to.deep.equal([
      ...['fulfilled', 'fulfilled', 'fulfilled', 'rejected'],
      ...['fulfilled', 'fulfilled', 'fulfilled'],
    ])
    const found = await findAll(
      store,
      [...tokens, ...rest].map(({ tokenHash }) => tokenHash),
    )
    expect(found.map((token) => token?.id)).to.deep.equal([...tokens, ...rest].map(({ id }) => id))
  })

  it('is left out for a store without batches', async () => {
    const { pool, sent } = watched(opened())
    const store = createSubjectTokenStore(pool, { batch: false })
    const tokens = newTokens(2)
    await insertAll(store, tokens)
    await findAll(
      store,
      tokens.map(({ tokenHash }) => tokenHash),
    )
    expect(await spendAll(store, tokens)).to.deep.equal([true, true])
    expect(verbs(sent)).to.deep.equal(['INSERT', 'INSERT', 'SELECT', 'SELECT', 'UPDATE', 'UPDATE'])
  })
})

suite('the statements of groups on MariaDB', (opened) => {
  it('are few: the server keeps five texts of each kind prepared', async () => {
    const pool = opened().connect({ pool: { max: 1 } })
    const store = createSubjectTokenStore(pool)
    for (let count = 1; count <= 20; count += 1) {
      const tokens = newTokens(count)
      await insertAll(store, tokens)
      await findAll(
        store,
        tokens.map(({ tokenHash }) => tokenHash),
      )
      await Promise.all(tokens.slice(1).map(({ tokenHash }) => spend(store, tokenHash)))
      const [first = false] = await spendAll(store, tokens)
      expect(first).to.equal(true)
    }
    const rows = await pool.query<{ Variable_name: string; Value: string }>(
      "SHOW SESSION STATUS WHERE Variable_name IN ('Com_stmt_prepare', 'Com_stmt_close')",
      { type: QueryTypes.SELECT },
    )
    const count = (name: string) => Number(rows.find((row) => row.Variable_name === name)?.Value)
    expect(count('Com_stmt_prepare') - count('Com_stmt_close')).to.equal(15)
  })

  for (const [rows, analyzed] of [
    [0, false],
    [3000, false],
    [3000, true],
  ] as const) {
    it(`use the index of the hash, on ${rows} other rows${analyzed ? ' that were analyzed' : ''}`, async () => {
      const database = opened()
      await insertMany(createSubjectTokenStore(database.sequelize), rows)
      if (analyzed) await database.sequelize.query('ANALYZE TABLE subject_tokens')
      const { pool, sent } = watched(database)
      const store = createSubjectTokenStore(pool)
      const tokens = newTokens(16)
      await insertAll(store, tokens)
      const hashes = tokens.map(({ tokenHash }) => tokenHash)
      await Promise.all(hashes.slice(1).map((hash) => spend(store, hash)))
      await findAll(store, hashes)
      await spendAll(store, tokens)
      await allOf(store.revokeWhere(ISSUER, { userId: 'user-1' }, NOW, BY_API))
      const grouped = sent.filter(({ sql }) => /FORCE INDEX \(token_hash\)/.test(sql))
      expect(verbs(grouped)).to.deep.equal(['UPDATE', 'SELECT', 'UPDATE', 'SELECT', 'UPDATE'])
      for (const { sql, values } of grouped) {
        const plan = await explain(pool, sql, values)
        expect(plan, sql).to.have.length(1)
        expect(plan[0], sql).to.include({ key: 'token_hash', type: 'range' })
      }
    })
  }
})

async function insertMany(store: SubjectTokenStore, count: number): Promise<void> {
  for (let from = 0; from < count; from += 500) await insertAll(store, newTokens(500))
}

interface Plan {
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
  /** Holds the row of a token, as a revocation would, while `work` runs. */
  async function holding({ id }: NewSubjectToken, work: (hold: Hold) => Promise<unknown>): Promise<void> {
    const { sequelize } = opened()
    await sequelize.transaction(async (transaction) => {
      const hold: Hold = async (other) => {
        await sequelize.query(`SELECT 1 FROM subject_tokens WHERE id = '${other.id}' FOR UPDATE`, {
          transaction,
        })
      }
      // The server rolls back the transaction that has written less: not this one.
      for (let index = 0; index < 20; index += 1) {
        const { id: newId, tokenHash } = newToken()
        await sequelize.query(
          `INSERT INTO subject_tokens (id, token_hash, issuer, user_id, context, created_by, created_at, expires_at)
            VALUES ('${newId}', '${tokenHash}', 'other', 'other', '{}', 'b', 1, 1)`,
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
  before(() => {
    one = createSubjectTokenStore(opened().connect({ pool: { max: 1 } }))
    other = createSubjectTokenStore(opened().connect({ pool: { max: 1 } }))
  })

  for (const [index, which] of ['first', 'last'].entries()) {
    it(`lock their rows in the order that a kill switch uses, when the ${which} row is locked`, async () => {
      // Written, and numbered, in the reverse order of their hashes.
      const [small, large] = newTokens(2)
      if (!small || !large) throw new Error('no tokens')
      const [older = '', newer = ''] = [small.id, large.id].sort()
      const userId = `user-${which}`
      const tokens = [
        { ...small, id: newer, userId },
        { ...large, id: older, userId },
      ] as const
      await one.insert(tokens[1])
      await one.insert(tokens[0])
      const pending: Promise<unknown>[] = []
      const runs = await recordRuns(opened(), async () => {
        await holding(tokens[index] ?? small, async () => {
          pending.push(spendAll(one, tokens))
          await waiting(1)
          pending.push(allOf(other.revokeWhere(ISSUER, { userId }, NOW, BY_API)))
          await waiting(2)
        })
        await Promise.all(pending)
      })
      const [spent, revoked] = await Promise.all(pending)
      expect(spent).to.deep.equal([true, true])
      expect(revoked).to.have.length(2)
      expect(sizes(runs.filter(({ sql }) => sql.startsWith('UPDATE')))).to.deep.equal([2, 1])
    })
  }

  it('are repeated one by one when the database has rolled them back', async () => {
    const tokens = newTokens(3)
    const [first, , last] = tokens
    if (!first || !last) throw new Error('no tokens')
    await insertAll(one, tokens)
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
    expect(await spent[0]).to.deep.equal([true, true, true])
    expect(sizes(runs)).to.deep.equal([3, 1, 1, 1])
  })

  it('are not sent again when their connection is lost: they may have taken effect', async () => {
    const tokens = newTokens(3)
    const [, second] = tokens
    if (!second) throw new Error('no token')
    await insertAll(one, tokens)
    const spent: Promise<PromiseSettledResult<boolean>[]>[] = []
    const runs = await recordRuns(opened(), async () => {
      await holding(second, async () => {
        spent.push(Promise.allSettled(tokens.map(({ tokenHash }) => spend(one, tokenHash))))
        for (const id of await waiting(1)) await opened().sequelize.query(`KILL ${id}`)
        await Promise.all(spent)
      })
    })
    const settled = (await spent[0]) ?? []
    expect(settled.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected', 'rejected'])
    for (const outcome of settled)
      expect(Reflect.get(outcome, 'reason')).to.include({ name: 'StorageError', tookEffect: undefined })
    expect(sizes(runs)).to.deep.equal([3])
    expect(await spendAll(other, tokens)).to.deep.equal([true, true, true])
  })
})

suite('a group of which some have been spent, on MariaDB', (opened) => {
  /** Three tokens, of which the first has been spent. */
  async function partlySpent(store: SubjectTokenStore): Promise<NewSubjectToken[]> {
    const tokens = newTokens(3)
    await insertAll(store, tokens)
    await spendAll(store, tokens.slice(0, 1))
    return tokens
  }

  async function expectUnknown(store: SubjectTokenStore, tokens: readonly NewSubjectToken[]): Promise<void> {
    const runs = await recordRuns(opened(), async () => {
      const settled = await Promise.allSettled(tokens.map(({ tokenHash }) => spend(store, tokenHash)))
      for (const outcome of settled) {
        const unread = { name: 'StorageError', code: 'UnreadMarks', tookEffect: undefined }
        expect(Reflect.get(outcome, 'reason')).to.include(unread)
      }
    })
    expect(sizes(runs)).to.deep.equal([3])
    const found = await findAll(
      createSubjectTokenStore(opened().sequelize),
      tokens.map(({ tokenHash }) => tokenHash),
    )
    expect(found.map((token) => token?.use?.clientId)).to.deep.equal(['spa', 'spa', 'spa'])
  }

  it('has an unknown outcome when no one may read who spent them', async () => {
    const { sequelize, connect, url } = opened()
    const tokens = await partlySpent(createSubjectTokenStore(sequelize))
    const name = unique('blind').replaceAll('-', '_')
    const [user, table] = [`'${name}'@'%'`, `${new URL(url).pathname.slice(1)}.subject_tokens`]
    await sequelize.query(`CREATE USER ${user} IDENTIFIED BY 'blind'`)
    try {
      const rights = 'UPDATE, SELECT (token_hash, issuer, consumed_at, revoked_at, expires_at)'
      await sequelize.query(`GRANT ${rights} ON ${table} TO ${user}`)
      const blind = connect({ username: name, password: 'blind' })
      await expectUnknown(createSubjectTokenStore(blind), tokens)
    } finally {
      await sequelize.query(`DROP USER ${user}`)
    }
  })

  it('has an unknown outcome when fewer marks are found than rows were written', async () => {
    const { sequelize } = opened()
    const store = createSubjectTokenStore(sequelize)
    const tokens = await partlySpent(store)
    await sequelize.query(
      "CREATE TRIGGER forget BEFORE UPDATE ON subject_tokens FOR EACH ROW SET NEW.used_chain = 'another'",
    )
    try {
      await expectUnknown(store, tokens)
    } finally {
      await sequelize.query('DROP TRIGGER forget')
    }
  })

  it('tells the tokens that no one has issued from the others', async () => {
    const store = createSubjectTokenStore(opened().sequelize)
    const tokens = await partlySpent(store)
    const hashes = [...tokens.map(({ tokenHash }) => tokenHash), unknownHash()]
    const spent = await Promise.all(hashes.map((hash) => spend(store, hash)))
    expect(spent).to.deep.equal([false, true, true, false])
  })
})
