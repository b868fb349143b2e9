/** What statements do with rows, alike on each database: types, claims of a key, joins, several rows at once. */
import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { DATABASES } from '../../fixtures/databases.ts'
import { useDatabase } from '../../fixtures/on-database.ts'
import type { Database as Bound } from '../../src/sequelize/database/database.ts'
import { insertInto, textOf } from '../../src/sequelize/database/standard.ts'
import { StorageError } from '../../src/sequelize/database/storage-error.ts'
import { type Binding, bytesOf, hexOf, type Intent } from '../../src/sequelize/database/text.ts'
import { databaseOf } from '../../src/sequelize/drivers.ts'

/** What each database says of a key that exists, and of a value that is missing. */
const TAKEN = { postgres: '23505', mysql: 'ER_DUP_ENTRY', sqlite: 'SQLITE_CONSTRAINT' }
const MISSING = { postgres: '23502', mysql: 'ER_BAD_NULL_ERROR', sqlite: 'SQLITE_CONSTRAINT' }

const newId = () => randomBytes(16).toString('hex')
const ISSUER = 7
const OTHER = 8

for (const kind of DATABASES) {
  describe(`rows on ${kind}`, () => {
    const database = useDatabase(kind, { migrated: false })
    let bound: Bound
    before(async () => {
      bound = databaseOf(database.sequelize)
      const { types, tableOptions } = bound.dialect
      const query = (sql: string) => database.sequelize.query(`${sql}${tableOptions}`)
      await query(`CREATE TABLE tokens (id ${types.id} NOT NULL, issuer ${types.int} NOT NULL, hash ${types.hash},
        step ${types.small}, number ${types.big}, user_id ${types.name}, PRIMARY KEY (issuer, id))`)
      await query(`CREATE TABLE uses (token_id ${types.id} NOT NULL, issuer ${types.int} NOT NULL,
        used_by ${types.name}, PRIMARY KEY (issuer, token_id))`)
      await query(`CREATE TABLE stops (token_id ${types.id} NOT NULL, issuer ${types.int} NOT NULL, number ${types.big} NOT NULL,
        stopped_at ${types.big}, reason ${types.text}, replayed_at ${types.big}, replayed_by ${types.name},
        PRIMARY KEY (issuer, token_id))`)
    })

    const id = (hex: string) => bound.dialect.bindId(hex)
    const TOKEN = ['id', 'issuer', 'hash', 'step', 'number', 'user_id'] as const
    const insertToken = (hex: string, { issuer = ISSUER, hash = randomBytes(32) } = {}) =>
      bound.writeRow(
        textOf(bound.dialect, { to: 'insert', table: 'tokens', columns: TOKEN }),
        [id(hex), issuer, hash, -300, 2 ** 53 - 1, bound.dialect.bindName('Zoë ')],
        hex,
      )

    describe('have columns', () => {
      it('of ids, hashes and numbers, which come back as they were bound', async () => {
        for (const [hex, hash] of [
          [newId(), randomBytes(32)],
          ['00000000000000000000000000000000', Buffer.alloc(32)],
          ['ffffffffffffffffffffffffffffffff', Buffer.alloc(32, 0xff)],
          ['0a5c5c780000272022097f80c3a9ff5c', Buffer.from('\\x5c\\\\00\'"\0é'.repeat(3)).subarray(0, 32)],
        ] as const) {
          await insertToken(hex, { hash })
          const [row = {}] = await bound.find('SELECT * FROM tokens WHERE issuer = $1 AND id = $2', [
            ISSUER,
            id(hex),
          ])
          expect(hexOf(row.id)).to.equal(hex)
          expect(bytesOf(row.hash).equals(hash)).to.equal(true)
          expect([row.step, row.number].map(Number)).to.deep.equal([-300, 2 ** 53 - 1])
          const found = await bound.find('SELECT id FROM tokens WHERE hash = $1', [hash])
          expect(found.map((one) => hexOf(one.id))).to.deep.equal([hex])
        }
      })

      it('of ids, in the order of their digits', async () => {
        const ids = Array.from({ length: 50 }, newId)
        const issuer = 9
        await Promise.all(ids.map((hex) => insertToken(hex, { issuer })))
        const rows = await bound.find('SELECT id FROM tokens WHERE issuer = $1 ORDER BY id', [issuer])
        expect(rows.map((row) => hexOf(row.id))).to.deep.equal(ids.toSorted())
        const [first = '', middle = ''] = [ids.toSorted()[0], ids.toSorted()[25]]
        const below = await bound.find('SELECT id FROM tokens WHERE issuer = $1 AND id >= $2 AND id < $3', [
          issuer,
          id(first),
          id(middle),
        ])
        expect(below).to.have.length(25)
      })
    })

    describe('that are found with what belongs to them', () => {
      const FIND: Intent = {
        to: 'find',
        table: 'tokens t',
        join: 'LEFT JOIN uses u ON u.issuer = t.issuer AND u.token_id = t.id',
        columns: 't.id, t.user_id, u.used_by, u.token_id AS ended',
        key: 't.id',
        equal: ['t.issuer'],
        index: 'PRIMARY',
      }
      const shown = (row: Readonly<Record<string, unknown>> | undefined) =>
        row && [hexOf(row.id), row.ended === null ? undefined : hexOf(row.ended)]

      it('are those of each call, alone and together', async () => {
        const [used = '', unused = '', none = '', foreign = ''] = Array.from({ length: 4 }, newId)
        await Promise.all([used, unused].map((hex) => insertToken(hex)))
        await insertToken(foreign, { issuer: OTHER })
        await bound.write(insertInto({ table: 'uses', columns: ['token_id', 'issuer', 'used_by'] }), [
          id(used),
          ISSUER,
          bound.dialect.bindName('spa'),
        ])
        const text = textOf(bound.dialect, FIND)
        const asked: [hex: string, issuer: number][] = [
          [used, ISSUER],
          [none, ISSUER],
          [unused, ISSUER],
          [foreign, ISSUER],
          [foreign, OTHER],
          [used, OTHER],
          [used, ISSUER],
        ]
        const expected = [
          [used, used],
          undefined,
          [unused, undefined],
          undefined,
          [foreign, undefined],
          undefined,
          [used, used],
        ]
        const found = await Promise.all(asked.map(([hex, issuer]) => bound.findRow(text, [id(hex), issuer])))
        expect(found.map(shown)).to.deep.equal(expected)
        for (const [index, [hex, issuer]] of asked.entries())
          expect(shown(await bound.findRow(text, [id(hex), issuer]))).to.deep.equal(expected[index])
      })
    })

    describe('that are claimed', () => {
      const CLAIM: Intent = { to: 'claim', table: 'uses', columns: ['token_id', 'issuer', 'used_by'] }
      const claim = (way: Bound, hex: string, by: string) =>
        way.writeRow(textOf(way.dialect, CLAIM), [id(hex), ISSUER, way.dialect.bindName(by)], hex)
      const usedBy = async (hex: string) =>
        (
          await bound.find('SELECT used_by FROM uses WHERE issuer = $1 AND token_id = $2', [ISSUER, id(hex)])
        ).map(({ used_by }) => String(used_by))

      for (const batched of [true, false]) {
        it(`have one winner each among any number of calls${batched ? '' : ', each sent alone'}`, async () => {
          const pools = Array.from({ length: 5 }, () => databaseOf(database.connect()))
          const alone = (pool: (typeof pools)[number]) => ({
            ...pool,
            writeRow: async (...[text, bind]: Parameters<typeof pool.writeAlone>) =>
              (await pool.writeAlone(text, bind)) === 1,
          })
          const ways = batched ? pools : pools.map(alone)
          const ids = Array.from({ length: 200 }, newId)
          // Each process makes each claim twice.
          const racers = ways.flatMap((way, number) =>
            [`${number}`, `${number} again`].map((name) => [way, name] as const),
          )
          const won = await Promise.all(
            racers.map(([way, name]) => Promise.all(ids.map((hex) => claim(way, hex, name)))),
          )
          for (const [index, hex] of ids.entries()) {
            const winners = racers.flatMap(([, name], racer) => (won[racer]?.[index] ? [name] : []))
            expect(winners).to.have.length(1)
            expect(await usedBy(hex)).to.deep.equal(winners)
          }
        })
      }

      it('are left as they are by who comes later, whose call does not fail the others', async () => {
        const ids = Array.from({ length: 16 }, newId)
        const [, , taken = ''] = ids
        expect(await claim(bound, taken, 'first')).to.equal(true)
        const won = await Promise.all(ids.map((hex) => claim(bound, hex, 'later')))
        expect(won).to.deep.equal(ids.map((hex) => hex !== taken))
        expect(await usedBy(taken)).to.deep.equal(['first'])
        expect(await bound.writeAlone(textOf(bound.dialect, CLAIM), [id(taken), ISSUER, null])).to.equal(0)
      })

      it('fail for any other reason, each alone', async () => {
        const good = Array.from({ length: 3 }, newId)
        const text = textOf(bound.dialect, CLAIM)
        const outcomes = await Promise.allSettled([
          ...good.map((hex) => claim(bound, hex, 'good')),
          bound.writeRow(text, [id(newId()), null, null], 'wrong'),
        ])
        expect(outcomes.map(({ status }) => status)).to.deep.equal([
          ...good.map(() => 'fulfilled'),
          'rejected',
        ])
        const [error] = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
        expect(error).to.be.instanceOf(StorageError).with.property('code', MISSING[kind])
      })

      it('do not go with those that are inserted, which fail where the key exists', async () => {
        const hex = newId()
        const bind: Binding = [id(hex), ISSUER, null]
        const insert = textOf(bound.dialect, { ...CLAIM, to: 'insert' } as Intent)
        expect(await claim(bound, hex, 'first')).to.equal(true)
        const [inserted, claimed] = await Promise.allSettled([
          bound.writeRow(insert, bind, hex),
          claim(bound, hex, 'second'),
        ])
        expect(claimed).to.deep.equal({ status: 'fulfilled', value: false })
        expect(inserted).to.have.property('status', 'rejected')
        const error: unknown = Reflect.get(Object(inserted), 'reason')
        expect(error).to.be.instanceOf(StorageError).with.property('code', TAKEN[kind])
        expect(error).to.have.property('tookEffect', false)
      })
    })

    describe('that are written several at once', () => {
      const COLUMNS = ['token_id', 'issuer', 'number', 'stopped_at', 'reason', 'replayed_at', 'replayed_by']
      const KEY = ['issuer', 'token_id']
      const stop = (
        hex: string,
        at: number | null,
        reason: string | null,
        replayed: number | null = null,
      ): Binding => [
        ...[id(hex), ISSUER, 5, at, reason],
        ...[replayed, replayed === null ? null : bound.dialect.bindName(`at ${replayed}`)],
      ]
      const write = (
        sql: (rows: { table: string; columns: string[]; rows: number }) => string,
        rows: Binding[],
      ) => bound.write(sql({ table: 'stops', columns: COLUMNS, rows: rows.length }), rows.flat())
      const kept = async (hex: string) => {
        const [row] = await bound.find('SELECT * FROM stops WHERE issuer = $1 AND token_id = $2', [
          ISSUER,
          id(hex),
        ])
        const { stopped_at, reason, replayed_at, replayed_by } = row ?? {}
        const number = (value: unknown) => (value === null ? null : Number(value))
        const string = (value: unknown) => (value === null ? null : String(value))
        return row && [number(stopped_at), string(reason), number(replayed_at), string(replayed_by)]
      }

      it('are all there, or none where a key exists', async () => {
        const [one = '', two = '', three = ''] = Array.from({ length: 3 }, newId)
        await write(insertInto, [stop(one, 1, 'a'), stop(two, 2, 'b')])
        expect(await kept(one)).to.deep.equal([1, 'a', null, null])
        expect(await kept(two)).to.deep.equal([2, 'b', null, null])
        const error = await write(insertInto, [stop(three, 3, 'c'), stop(one, 3, 'c')]).catch(
          (thrown: unknown) => thrown,
        )
        expect(error).to.be.instanceOf(StorageError).with.property('code', TAKEN[kind])
        expect(await kept(three)).to.equal(undefined)
      })

      it('leave those that exist as they are, and hide no other fault', async () => {
        const [one = '', two = ''] = Array.from({ length: 2 }, newId)
        await write(insertInto, [stop(one, 1, 'a')])
        await write(bound.dialect.insertNew, [stop(one, 2, 'b'), stop(two, 2, 'b'), stop(two, 3, 'c')])
        expect(await kept(one)).to.deep.equal([1, 'a', null, null])
        expect(await kept(two)).to.deep.equal([2, 'b', null, null])
        const wrong = [...stop(newId(), 1, 'a')]
        wrong[2] = null
        const error = await write(bound.dialect.insertNew, [wrong]).catch((thrown: unknown) => thrown)
        expect(error).to.be.instanceOf(StorageError).with.property('code', MISSING[kind])
      })

      it('take what they lack, all of a group at once, and nothing that they have', async () => {
        const [fresh = '', stopped = '', replayed = '', both = ''] = Array.from({ length: 4 }, newId)
        await write(insertInto, [
          stop(stopped, 1, null),
          stop(replayed, null, null, 11),
          stop(both, 1, 'a', 11),
        ])
        const writeOnce =
          (once: [string, ...string[]]) => (rows: { table: string; columns: string[]; rows: number }) =>
            bound.dialect.writeOnce({ ...rows, key: KEY, once })
        const rows = [fresh, stopped, replayed, both].map((hex) => stop(hex, 2, 'b', 22))
        await write(writeOnce(['stopped_at', 'reason']), rows)
        expect(await kept(fresh)).to.deep.equal([2, 'b', 22, 'at 22'])
        expect(await kept(stopped)).to.deep.equal([1, null, null, null])
        expect(await kept(replayed)).to.deep.equal([2, 'b', 11, 'at 11'])
        expect(await kept(both)).to.deep.equal([1, 'a', 11, 'at 11'])
        const second = [fresh, stopped, replayed, both].map((hex) => stop(hex, 3, 'c', 33))
        await write(writeOnce(['replayed_at', 'replayed_by']), second)
        expect(await kept(fresh)).to.deep.equal([2, 'b', 22, 'at 22'])
        expect(await kept(stopped)).to.deep.equal([1, null, 33, 'at 33'])
        expect(await kept(replayed)).to.deep.equal([2, 'b', 11, 'at 11'])
        expect(await kept(both)).to.deep.equal([1, 'a', 11, 'at 11'])
      })

      it('at the same time in several processes are written once', async () => {
        const ids = Array.from({ length: 100 }, newId).sort()
        const pools = Array.from({ length: 4 }, () => databaseOf(database.connect()))
        await Promise.all(
          pools.map((pool, index) =>
            pool.write(
              pool.dialect.writeOnce({
                table: 'stops',
                columns: COLUMNS,
                rows: ids.length,
                key: KEY,
                once: ['stopped_at', 'reason'],
              }),
              ids.flatMap((hex) => stop(hex, index + 1, `by ${index + 1}`)),
            ),
          ),
        )
        const seen = new Set<string>()
        for (const hex of ids) {
          const [at, reason] = (await kept(hex)) ?? []
          expect(reason).to.equal(`by ${at}`)
          seen.add(String(reason))
        }
        expect(seen).to.have.property('size', 1)
      })
    })
  })
}

describe('a value of a row', () => {
  it('that is an id is read in each form, and nothing else is one', () => {
    const hex = '0190a5c5c7807cc3a9ff5c0a1b2c3d4e'
    for (const value of [
      hex,
      '0190a5c5-c780-7cc3-a9ff-5c0a1b2c3d4e',
      Buffer.from(hex, 'hex'),
      new Uint8Array(Buffer.from(hex, 'hex')),
    ])
      expect(hexOf(value)).to.equal(hex)
    for (const value of [null, undefined, '', hex.slice(1), hex.toUpperCase(), Buffer.alloc(15), 1])
      expect(() => hexOf(value)).to.throw(TypeError, 'not an id')
  })

  it('that is bytes is read in each form, also in the two of PostgreSQL', () => {
    const bytes = Buffer.from([0, 0x5c, 0x78, 0x41, 0x7f, 0x80, 0xff])
    for (const value of [bytes, new Uint8Array(bytes), '\\x005c78417f80ff', '\\000\\\\xA\\177\\200\\377'])
      expect(bytesOf(value).toString('hex')).to.equal(bytes.toString('hex'))
    for (const value of [null, undefined, 1]) expect(() => bytesOf(value)).to.throw(TypeError, 'not bytes')
  })
})
