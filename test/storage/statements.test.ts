/** How statements reach a database: on a cluster, in which order, and what is told of those that fail. */
import { expect } from 'chai'
import { ConnectionRefusedError } from 'sequelize'
import { ISSUER } from '../../fixtures/cluster.ts'
import { useDatabase } from '../../fixtures/on-database.ts'
import { recordRuns } from '../../fixtures/runs.ts'
import { knowIssuer, newTokens, sizes, spend } from '../../fixtures/together.ts'
import { type Database as Bound, createDatabase } from '../../src/sequelize/database/database.ts'
import type { Driver, Fate } from '../../src/sequelize/database/driver.ts'
import { textOf } from '../../src/sequelize/database/standard.ts'
import { StorageError, withoutEffect } from '../../src/sequelize/database/storage-error.ts'
import type { Binding, Text } from '../../src/sequelize/database/text.ts'
import { driverOf, TIMEOUT } from '../../src/sequelize/drivers.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

describe('a statement', () => {
  const sent: { text: Text; bindings: readonly Binding[] }[] = []
  const database = useDatabase('sqlite', { each: true })
  beforeEach(async () => {
    sent.length = 0
    await database.sequelize.query('CREATE TABLE host (id TEXT, value INTEGER)')
  })

  /** The database by its own driver, with these changes. */
  const using = (changes: Partial<Driver> = {}): Bound => {
    const driver = driverOf(database.sequelize)
    const watched: Driver = {
      ...driver,
      run(connection, text, bindings) {
        sent.push({ text, bindings })
        return driver.run(connection, text, bindings)
      },
      ...changes,
    }
    return createDatabase(database.sequelize, watched, TIMEOUT)
  }

  describe('on a cluster', () => {
    const SELECT = 'SELECT value FROM host WHERE id = $1'
    const UPDATE = 'UPDATE host SET value = value + 1 WHERE id = $1'
    const IN_SYNC = ' /* in sync */'
    let asked: number
    beforeEach(() => {
      asked = 0
    })
    /** A node that catches up, with a row of another one, when it is waited for. */
    const node = () =>
      using({
        async inSync(sql, find) {
          asked += 1
          expect(await find('SELECT 1 AS one')).to.deep.equal([{ one: 1 }])
          expect(sent.at(-1)).to.deep.equal({ text: { sql: 'SELECT 1 AS one', rare: true }, bindings: [[]] })
          const [row] = await find("SELECT id FROM host WHERE id = 'a'")
          if (!row) await database.sequelize.query("INSERT INTO host VALUES ('a', 1)")
          return sql + IN_SYNC
        },
      })
    /** Without what the node was asked for itself. */
    const statements = () =>
      sent
        .filter(({ text }) => text.sql.includes('WHERE id = $1'))
        .map(({ text: { sql, rare = false }, bindings }) => [sql, rare, bindings])

    const CALLS: readonly (readonly [
      what: string,
      call: (bound: Bound, id: string) => Promise<unknown>,
      found: unknown,
      none: unknown,
      sql: string,
      rare: boolean,
    ])[] = [
      ['a row', (bound, id) => bound.findRow({ sql: SELECT }, [id]), { value: 1 }, undefined, SELECT, false],
      [
        'a row to write',
        (bound, id) => bound.writeRow({ sql: UPDATE }, [id], id),
        true,
        false,
        UPDATE,
        false,
      ],
      ['a row to write, alone', (bound, id) => bound.writeAlone({ sql: UPDATE }, [id]), 1, 0, UPDATE, false],
      ['rows', (bound, id) => bound.find(SELECT, [id]), [{ value: 1 }], [], SELECT, true],
      ['rows to write', (bound, id) => bound.write(UPDATE, [id]), 1, 0, UPDATE, true],
    ]
    for (const [what, call, found, none, sql, rare] of CALLS) {
      it(`that finds not ${what} runs once more, when the node has caught up`, async () => {
        expect(await call(node(), 'a')).to.deep.equal(found)
        expect(statements()).to.deep.equal([
          [sql, rare, [['a']]],
          [sql + IN_SYNC, rare, [['a']]],
        ])
        expect(await call(node(), 'b')).to.deep.equal(none)
      })

      it(`that finds ${what} does not`, async () => {
        await database.sequelize.query("INSERT INTO host VALUES ('a', 1)")
        expect(await call(node(), 'a')).to.deep.equal(found)
        expect(statements()).to.deep.equal([[sql, rare, [['a']]]])
        expect(asked).to.equal(0)
      })
    }

    it('that writes all rows waits at once', async () => {
      expect(await node().writeAll(UPDATE, ['a'])).to.equal(1)
      expect(statements()).to.deep.equal([[UPDATE + IN_SYNC, true, [['a']]]])
    })
  })

  it('that claims a key runs once on a cluster, too: who finds it taken need not catch up', async () => {
    await database.sequelize.query('CREATE UNIQUE INDEX host_id ON host (id)')
    const bound = using({
      inSync() {
        throw new Error('asked')
      },
    })
    const claim = textOf(bound.dialect, { to: 'claim', table: 'host', columns: ['id', 'value'] })
    expect(await bound.writeRow(claim, ['a', 1], 'a')).to.equal(true)
    expect(await bound.writeRow(claim, ['a', 2], 'a')).to.equal(false)
    expect(sent).to.have.length(2)
  })

  it('that claims a key goes with others that do, and with no insertion of the same text', async () => {
    const bound = using()
    const row = { table: 'host', columns: ['id', 'value'] }
    const claim = textOf(bound.dialect, { ...row, to: 'claim' })
    const insertion: Text = { sql: claim.sql, intent: { ...row, to: 'insert' } }
    const texts = [claim, insertion, claim, insertion]
    await Promise.all(texts.map((text, value) => bound.writeRow(text, [`${value}`, value], `${value}`)))
    const together = sent.map(({ text, bindings }) => [text, bindings.map(([id]) => id)])
    expect(together).to.deep.equal([
      [claim, ['0', '2']],
      [insertion, ['1', '3']],
    ])
  })

  it('runs once on a server that turns out to be no cluster', async () => {
    const bound = using({ inSync: async () => undefined })
    expect(await bound.find('SELECT id FROM host', [])).to.deep.equal([])
    expect(await bound.writeAll('UPDATE host SET value = 2', [])).to.equal(0)
    expect(sent.map(({ text }) => text)).to.deep.equal([
      { sql: 'SELECT id FROM host', rare: true },
      { sql: 'UPDATE host SET value = 2', rare: true },
    ])
  })

  it('that writes goes with others in the order of their rows', async () => {
    const bound = using()
    const insert = { sql: 'INSERT INTO host VALUES ($1, $2)' }
    const rows: [string, number][] = [
      ['b', 1],
      ['d', 2],
      ['a', 3],
      ['b', 4],
      ['c', 5],
    ]
    await Promise.all(rows.map(([id, value]) => bound.writeRow(insert, [id, value], id)))
    const ids = sent.map(({ bindings }) => bindings.map(([id]) => id))
    expect(ids).to.deep.equal([['a', 'b', 'b', 'c', 'd']])
  })

  it('that reads goes with others in the order in which they came', async () => {
    const bound = using()
    const select = { sql: 'SELECT $1 AS id' }
    const ids = ['b', 'c', 'a']
    const found = await Promise.all(ids.map((id) => bound.findRow(select, [id])))
    expect(found).to.deep.equal(ids.map((id) => ({ id })))
    expect(sent.map(({ bindings }) => bindings)).to.deep.equal([ids.map((id) => [id])])
  })

  it('goes with those of another store on the same Sequelize', async () => {
    const tokens = newTokens(4)
    const stores = tokens.map(() => createSubjectTokenStore(database.sequelize))
    await Promise.all(stores.map(knowIssuer))
    const runs = await recordRuns(database, () =>
      Promise.all(tokens.map((token, index) => stores[index]?.insert(token))),
    )
    expect(sizes(runs)).to.deep.equal([4])
    const spends = await recordRuns(database, () =>
      Promise.all(stores.map((store, index) => spend(store, tokens[index] ?? expect.fail()))),
    )
    expect(sizes(spends)).to.deep.equal([4])
  })

  it('does not go with those of a store that has another time limit', async () => {
    const tokens = newTokens(2)
    const stores = [5, 6].map((timeout) => createSubjectTokenStore(database.sequelize, { timeout }))
    await Promise.all(stores.map(knowIssuer))
    const runs = await recordRuns(database, () =>
      Promise.all(tokens.map((token, index) => stores[index]?.insert(token))),
    )
    expect(sizes(runs)).to.deep.equal([1, 1])
  })

  it('has each of its values where it is named, in any order and more than once', async () => {
    const values = Array.from({ length: 11 }, (_, index) => `value ${index + 1}`)
    // A text that no statement has had before: what was made of one is kept.
    const fresh = `c${Math.random().toString(36).slice(2)}`
    const sql = `SELECT $11 AS last, $2 AS second, $1 AS first, $2 AS again, $12 AS ${fresh}`
    const expected = {
      last: 'value 11',
      second: 'value 2',
      first: 'value 1',
      again: 'value 2',
      [fresh]: null,
    }
    for (let time = 0; time < 2; time += 1) expect(await using().find(sql, values)).to.deep.equal([expected])
  })

  describe('that fails', () => {
    /** What is told when the driver throws this, and says that it means `fate`. */
    const told = async (thrown: unknown, fate: Fate): Promise<StorageError> => {
      const bound = using({ run: () => Promise.reject(thrown), fateOf: () => fate })
      const error: unknown = await bound.write('UPDATE', []).catch((rejected: unknown) => rejected)
      if (!(error instanceof StorageError)) throw new Error('not a storage error', { cause: error })
      expect(error.schemaIsBehind).to.equal(false)
      return error
    }

    const coded = (members: object) => Object.assign(new RangeError('secret'), members)
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    const wrapped = 'storage failed: SequelizeConnectionRefusedError: connect ECONNREFUSED'
    for (const [what, thrown, message, code] of [
      ['the class and the code of its error', coded({ code: 'X1' }), 'storage failed: RangeError: X1', 'X1'],
      ['the class alone where there is no code', coded({}), 'storage failed: RangeError', 'RangeError'],
      ['the class alone where it is no text', coded({ code: 7 }), 'storage failed: RangeError', 'RangeError'],
      ['the code of the system', new ConnectionRefusedError(refused), wrapped, 'ECONNREFUSED'],
      ['nothing of what is no error', 'secret', 'storage failed', undefined],
      ['nothing of undefined', undefined, 'storage failed', undefined],
    ] as const)
      it(`reports ${what}, and its effect by its fate`, async () => {
        const error = await told(thrown, 'refused')
        expect(error).to.include({ message, tookEffect: false, forOperators: undefined })
        if (code !== undefined) expect(error).to.have.property('code', code)
        expect(await told(thrown, 'unknown')).to.have.property('tookEffect', undefined)
      })

    it('reports a missing table, and that nothing was written', async () => {
      const error: unknown = await using()
        .find('SELECT 1 FROM nowhere', [])
        .catch((thrown: unknown) => thrown)
      expect(error).to.include({ schemaIsBehind: true, tookEffect: false })
      const coded = Object.assign(new Error('no such table: x'), { code: 'SQLITE_ERROR', errcode: 1 })
      const bound = using({ run: () => Promise.reject(coded) })
      expect(await bound.find('SELECT', []).catch((thrown: unknown) => thrown)).to.include({
        schemaIsBehind: true,
        code: 'SQLITE_ERROR',
      })
    })

    it('is no success when the driver has fewer results than it was given statements', async () => {
      const bound = using({ run: async () => [] })
      const error: unknown = await bound.find('SELECT 1', []).catch((thrown: unknown) => thrown)
      expect(error).to.be.instanceOf(StorageError).with.property('tookEffect', undefined)
      expect(error).to.have.property('message', 'storage failed: Error')
    })

    it('before it is sent, by a mistake of ours, may have had any effect', async () => {
      const bound = using({
        most() {
          throw new RangeError('a mistake')
        },
      })
      const error: unknown = await bound.findRow({ sql: 'SELECT 1' }, []).catch((thrown: unknown) => thrown)
      expect(error).to.include({ message: 'storage failed: RangeError' })
      expect(error).to.have.property('tookEffect', undefined)
    })

    it('with an error of ours, not of the database, fails with that error itself', async () => {
      const mistake = new RangeError('a mistake')
      expect(await withoutEffect(Promise.reject(mistake)).catch((thrown: unknown) => thrown)).to.equal(
        mistake,
      )
    })
  })

  it('is served on the next call when a store has told of a failure', async () => {
    const [token] = newTokens(1)
    if (!token) throw new Error('no token')
    const driver = driverOf(database.sequelize)
    const { run } = driver
    const store = createSubjectTokenStore(database.sequelize)
    driver.run = () => Promise.reject(new Error('broken'))
    expect(await store.insert(token).catch((thrown: unknown) => thrown)).to.have.property('code', 'Error')
    driver.run = run
    await store.insert(token)
    expect(await store.find(ISSUER, token.id)).to.have.property('id', token.id)
  })
})
