import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { type Adapter, errors } from 'oidc-provider'
import type { Sequelize } from 'sequelize'
import { whileStopped } from '../../fixtures/clock.ts'
import { onEachKind, useDatabase } from '../../fixtures/on-database.ts'
import { unique } from '../../fixtures/unique.ts'
import { createAdapter } from '../../src/sequelize/index.ts'

const BEARERS = [
  'AccessToken',
  'AuthorizationCode',
  'BackchannelAuthenticationRequest',
  'ClientCredentials',
  'InitialAccessToken',
  'Interaction',
  'PreAuthorizedCode',
  'PushedAuthorizationRequest',
  'RefreshToken',
  'RegistrationAccessToken',
]
/** Refuses one row, and then lets it pass again. */
const CHECKED = [
  "ALTER TABLE oidc_models ADD CONSTRAINT refusing CHECK (payload NOT LIKE '%refused%')",
  'ALTER TABLE oidc_models DROP CONSTRAINT refusing',
] as const
const REFUSED = {
  sqlite: [
    `CREATE TRIGGER refusing BEFORE INSERT ON oidc_models WHEN NEW.id = 'refused'
      BEGIN SELECT RAISE(ABORT, 'no'); END`,
    'DROP TRIGGER refusing',
  ],
  postgres: CHECKED,
  mysql: CHECKED,
} as const

/** What our adapter promises beyond the contract of every adapter. */
onEachKind((kind) => {
  describe('adapter', () => {
    const database = useDatabase(kind)
    let adapter: (model: string, namespace?: string) => Adapter
    before(() => {
      adapter = (model, namespace) => createAdapter(database.sequelize, { namespace })(model)
    })

    const rowOf = async (model: string): Promise<Record<string, unknown>[]> => {
      const [rows] = await database.sequelize.query(`SELECT * FROM oidc_models WHERE model = '${model}'`)
      return (rows as Record<string, unknown>[]).map((row) =>
        Object.fromEntries(
          Object.entries(row).map(([key, value]) => [key, Buffer.isBuffer(value) ? value.toString() : value]),
        ),
      )
    }

    for (const model of BEARERS) {
      it(`stores no ${model} that anyone could use`, async () => {
        const id = unique('secret')
        await adapter(model).upsert(id, { jti: id, kind: model }, 60)
        const rows = await rowOf(model)
        expect(JSON.stringify(rows)).not.to.include(id)
        // What a release has written, the next one must find.
        expect(rows.map((row) => row.id)).to.include(createHash('sha256').update(id).digest('base64url'))
      })
    }

    it('keeps halves of a character', async () => {
      const id = unique('session')
      const payload = { jti: id, text: '\ud800' }
      await adapter('Session').upsert(id, payload, 60)
      expect(await adapter('Session').find(id)).to.deep.equal(payload)
    })

    it('replaces a row in one statement', async () => {
      const id = unique('session')
      await adapter('Session').upsert(id, { jti: id, uid: id }, 60)
      database.statements.length = 0
      await adapter('Session').upsert(id, { jti: id, uid: `second-${id}` }, 60)
      expect(database.statements).to.have.length(1)
    })

    it("finds a row for the provider's clock tolerance after its expiry, and never after", async () => {
      const id = unique('session')
      await whileStopped(async (clock) => {
        await adapter('Session').upsert(id, { jti: id, uid: id }, 10)
        await adapter('DeviceCode').upsert(id, { jti: id, userCode: id }, 10)
        const finds = () => [
          adapter('Session').find(id),
          adapter('Session').findByUid(id),
          adapter('DeviceCode').findByUserCode(id),
        ]
        clock.tick(69)
        for (const found of await Promise.all(finds())) expect(found).to.have.property('jti', id)
        clock.tick(1)
        for (const found of await Promise.all(finds())) expect(found).to.equal(undefined)
      })
    })

    it('keeps a row until the last second of its life has passed', async () => {
      await whileStopped(async () => {
        for (const [life, rounded] of [
          [10.2, 11],
          [0.5, 1],
          [9.999999, 10],
          [Number.MAX_SAFE_INTEGER - 1_800_000_000, Number.MAX_SAFE_INTEGER - 1_800_000_000],
        ] as const) {
          const id = unique('session')
          await adapter('Session').upsert(id, { jti: id }, life)
          const [row] = (await rowOf('Session')).filter((stored) => stored.id === id)
          expect(Number(row?.expires_at), String(life)).to.equal(1_800_000_000 + rounded)
          expect(await adapter('Session').find(id)).to.have.property('jti', id)
        }
      }, 1_800_000_000_000)
    })

    it('refuses a life that is no number of seconds below 2^53, and writes nothing', async () => {
      const reason = /^the life of a (\w+) is not a number of seconds below 2\^53$/
      for (const life of [Number.NaN, Infinity, -Infinity, 2 ** 53, 1e300])
        for (const [model, kindOfError, member] of [
          ['Session', RangeError, 'message'],
          // Only the `exp` of a client assertion leads here.
          ['ReplayDetection', errors.InvalidClientAuth, 'error_detail'],
        ] as const) {
          const id = unique('id')
          const refused = await adapter(model)
            .upsert(id, { jti: id }, life)
            .catch((error: unknown) => error)
          expect(refused, String(life)).to.be.instanceOf(kindOfError)
          expect(Reflect.get(Object(refused), member)).to.match(reason)
          expect(await adapter(model).find(id), model).to.equal(undefined)
        }
    })

    it('returns the newest of two rows with one user code, whichever process wrote them', async () => {
      const code = unique('code')
      const write = (id: string) => adapter('DeviceCode').upsert(id, { jti: id, userCode: code })
      const found = async () => (await adapter('DeviceCode').findByUserCode(code))?.jti
      await write(`old-${code}`)
      await write(`second-${code}`)
      expect(await found()).to.equal(`second-${code}`)
      await adapter('DeviceCode').destroy(`second-${code}`)
      const [old] = (await rowOf('DeviceCode')).filter(({ id }) => id === `old-${code}`)
      // Beyond all that this process has written.
      await whileStopped(
        async () => {
          const aSecondAgo = (Date.now() - 1000) * 1000
          await database.sequelize.query(
            `UPDATE oidc_models SET written_at = ${aSecondAgo} WHERE id = 'old-${code}'`,
          )
          await write(`new-${code}`)
          expect(await found()).to.equal(`new-${code}`)
        },
        Number(old?.written_at) / 1000 + 10_000,
      )
    })

    it('finds nothing by a name that no row can have', async () => {
      database.statements.length = 0
      for (const name of ['a\0b', '\0']) {
        expect(await adapter('Session').find(name)).to.equal(undefined)
        expect(await adapter('Session').findByUid(name)).to.equal(undefined)
        expect(await adapter('DeviceCode').findByUserCode(name)).to.equal(undefined)
      }
      // MySQL compares bytes, of which none is refused.
      if (kind !== 'mysql') expect(database.statements).to.deep.equal([])
      expect(await Reflect.apply(adapter('Session').findByUid, adapter('Session'), [])).to.equal(undefined)
    })

    it('keeps namespaces apart, of up to 255 bytes, and has an empty one unless it is given another', async () => {
      const longest = `${'ü'.repeat(127)}n`
      for (const namespace of ['one', longest]) {
        const id = unique('session')
        await adapter('Session', namespace).upsert(id, { jti: id, uid: id }, 60)
        for (const other of ['', 'two', 'ONE', 'one ']) {
          expect(await adapter('Session', other).find(id), other).to.equal(undefined)
          expect(await adapter('Session', other).findByUid(id), other).to.equal(undefined)
          await adapter('Session', other).destroy(id)
        }
        expect(await adapter('Session', namespace).find(id)).to.have.property('jti', id)
      }
      const id = unique('session')
      await createAdapter(database.sequelize)('Session').upsert(id, { jti: id }, 60)
      expect(await adapter('Session', '').find(id)).to.have.property('jti', id)
    })

    it('ends the rows of a grant in its own namespace, and an interaction of it not', async () => {
      const grantId = unique('grant')
      const rows = [adapter('AccessToken'), adapter('Interaction'), adapter('AccessToken', 'other')] as const
      for (const row of rows) await row.upsert(grantId, { jti: grantId, grantId }, 60)
      await adapter('AccessToken').revokeByGrantId(grantId)
      const left = await Promise.all(rows.map((row) => row.find(grantId)))
      expect(left.map((found) => found?.jti)).to.deep.equal([undefined, grantId, grantId])
    })

    it('ends the grant when a code is used twice, as the provider does', async () => {
      const grantId = unique('grant')
      await adapter('Grant').upsert(grantId, { jti: grantId }, 60)
      for (const model of ['AuthorizationCode', 'AccessToken', 'RefreshToken']) {
        await adapter(model).upsert(grantId, { jti: grantId, grantId }, 60)
      }
      await adapter('AuthorizationCode').consume(grantId)
      const again = await adapter('AuthorizationCode')
        .consume(grantId)
        .catch((error: unknown) => error)
      expect(again)
        .to.be.instanceOf(errors.InvalidGrant)
        .with.property('error_detail', 'AuthorizationCode already consumed')
      for (const model of ['Grant', 'AuthorizationCode', 'AccessToken', 'RefreshToken']) {
        expect(await adapter(model).find(grantId), model).to.equal(undefined)
      }
    })

    it('does not consume a missing row, and looks for no grant of it', async () => {
      database.statements.length = 0
      const error = await adapter('RefreshToken')
        .consume(unique('gone'))
        .catch((thrown: unknown) => thrown)
      expect(error).to.be.instanceOf(errors.InvalidGrant)
      expect(database.statements.filter((sql) => sql.includes('DELETE'))).to.deep.equal([])
    })

    it('does not consume what was saved as consumed, and consumes what was not', async () => {
      const [id, other] = [unique('code'), unique('code')]
      await adapter('DeviceCode').upsert(id, { jti: id, consumed: 1_800_000_000 }, 60)
      const error = await adapter('DeviceCode')
        .consume(id)
        .catch((thrown: unknown) => thrown)
      expect(error).to.be.instanceOf(errors.InvalidGrant)
      expect(await adapter('DeviceCode').find(id)).to.have.property('consumed', 1_800_000_000)
      await adapter('DeviceCode').upsert(other, { jti: other, consumed: false }, 60)
      await adapter('DeviceCode').consume(other)
    })

    it('lets exactly one of 30 simultaneous uses win, in each of 10 rounds', async () => {
      const pools = [database.sequelize, database.connect()]
      for (let round = 0; round < 10; round += 1) {
        const id = unique('refresh')
        await adapter('RefreshToken').upsert(id, { jti: id }, 60)
        const uses = Array.from({ length: 30 }, (_, index) =>
          createAdapter(pools[index % 2] ?? database.sequelize)('RefreshToken')
            .consume(id)
            .then(
              () => true,
              () => false,
            ),
        )
        expect((await Promise.all(uses)).filter(Boolean)).to.have.length(1)
      }
    })

    describe('the record of what may be used once', () => {
      const ID = () => unique('record')
      const recordAt = (pool: Sequelize, id: string, life?: number, iss = 'client') =>
        createAdapter(pool)('ReplayDetection').upsert(id, { jti: id, iss }, life)
      const record = (id: string, life?: number, iss?: string) => recordAt(database.sequelize, id, life, iss)
      const expectRefused = async (attempt: Promise<void>) =>
        expect(await attempt.catch((error: unknown) => error))
          .to.be.instanceOf(errors.InvalidGrant)
          .with.property('error_detail', 'ReplayDetection already recorded')

      it('is written once in each namespace, by one statement, and never changed', async () => {
        const id = ID()
        database.statements.length = 0
        await record(id, 60, 'first')
        expect(database.statements).to.have.length(1)
        for (const life of [60, 600, 0, undefined]) await expectRefused(record(id, life, 'second'))
        expect(await adapter('ReplayDetection').find(id)).to.deep.equal({ jti: id, iss: 'first' })
        for (const namespace of ['one', 'two', 'TWO']) {
          await adapter('ReplayDetection', namespace).upsert(id, { jti: id }, 60)
          await expectRefused(adapter('ReplayDetection', namespace).upsert(id, { jti: id }, 60))
        }
      })

      it('can be replaced as soon as it is no longer found, and never if it has no expiry', async () => {
        const [id, endless] = [ID(), ID()]
        await whileStopped(async (clock) => {
          await record(endless, undefined)
          await record(id, 10, 'first')
          clock.tick(69)
          await expectRefused(record(id, 60, 'second'))
          clock.tick(1)
          await record(id, 60, 'third')
          await expectRefused(record(id, 60, 'fourth'))
          expect(await adapter('ReplayDetection').find(id)).to.deep.equal({ jti: id, iss: 'third' })
          clock.tick(1e9)
          await expectRefused(record(endless, 60))
        })
      })

      it('fails, and is no replay, if the database refuses it', async () => {
        const [refuse, allow] = REFUSED[kind]
        await database.sequelize.query(refuse)
        const error = await record('refused', 60).catch((thrown: unknown) => thrown)
        await database.sequelize.query(allow)
        expect(error).to.be.an('error').and.not.to.be.instanceOf(errors.InvalidGrant)
        await record('refused', 60)
      })

      // The flag changes what MySQL and MariaDB count as affected.
      for (const flags of kind === 'mysql' ? ['-FOUND_ROWS', 'FOUND_ROWS'] : [undefined]) {
        const title = flags ? ` (${flags})` : ''
        it(`is won by exactly one of 30 simultaneous uses, and again once it has expired${title}`, async () => {
          const options = { ...(flags && { dialectOptions: { flags } }), pool: { max: 15 } }
          const pools = [database.connect(options), database.connect(options)] as const
          const race = async (id: string) => {
            const uses = Array.from({ length: 30 }, async (_, index) => {
              const refusal = await recordAt(pools[index % 2 ? 1 : 0], id, 60, `use-${index}`).catch(
                (error: unknown) => error,
              )
              if (refusal !== undefined) expect(refusal).to.be.instanceOf(errors.InvalidGrant)
              return refusal === undefined ? `use-${index}` : undefined
            })
            const winners = (await Promise.all(uses)).filter((use) => use !== undefined)
            expect(winners).to.have.length(1)
            expect(await adapter('ReplayDetection').find(id)).to.have.property('iss', winners[0])
          }
          await whileStopped(async (clock) => {
            for (let round = 0; round < 10; round += 1) {
              const id = ID()
              await race(id)
              clock.tick(121)
              await race(id)
            }
          })
        })
      }
    })
  })
})
