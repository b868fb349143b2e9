/** Databases remember what made them: a released step never changes, whatever later ones add. */
import { expect } from 'chai'
import { NEXT_VERSION } from '../../fixtures/rehearsal/step.ts'
import type { Dialect } from '../../src/sequelize/database/dialect.ts'
import { mysqlDialect } from '../../src/sequelize/database/mysql/dialect.ts'
import { postgresDialect } from '../../src/sequelize/database/postgres/dialect.ts'
import { sqliteDialect } from '../../src/sequelize/database/sqlite/dialect.ts'
import { ALL_STEPS, fingerprintOf, type Step } from '../../src/sequelize/schema/steps.ts'
import type { Table } from '../../src/sequelize/tables.ts'

/** Lines are only ever added. */
const FINGERPRINTS = {
  sqlite: {
    '001-subject-tokens': '3bba3669858559896887356a7593dd2814c14345f60afdd16c87e055be5bb466',
    '002-oidc-models': 'c674ca9734c618133c3b159110f45ee29c3f9f0dac305376a21a498c1317c344',
    '003-sessions': '3e2a24c5dcc5af0807e8fa610a956ff287553750cde929ea24a3e13f050e05b7',
    '004-read-only': '363b8e95bcc95c6c80737057defaa5acc0483686e60aea1303c8b1522588c8ca',
  },
  postgres: {
    '001-subject-tokens': '3c0764b6b4078db58f035ebdd5e9d7707e6a69600cdffd1c6b3a10b5f6fa6010',
    '002-oidc-models': 'e139aef1a31609fad4091be5ebbb8514d963e244af2afd093dad9faa4d90be41',
    '003-sessions': '0dc584c9a00ca08e02cccb54042608d8554b60f86b2e1e703b9fd9ac55a68657',
    '004-read-only': '77cf578471dcedcf8a1b931189c93e59bd63fa10ab32426f0e2bc80a69b82076',
  },
  mysql: {
    '001-subject-tokens': 'b0f305704791ab3454b575a90c193ba24b799fbff876e6917fdc669d9825ca15',
    '002-oidc-models': 'f528c1a1faab6ba4d058c9e2163a7f47c544ed14a96374ca2ece2535b95ca038',
    '003-sessions': 'a95d1f40432560f3864fc5a362142117c28c6a7b3c73dfeb85bc75df4531c211',
    '004-read-only': '31585bb907ed8bf6f9ec6b56aa86b85bc64a460bc80ec5ccb8b0f1031f5bcdec',
  },
} as const

const fingerprints = (dialect: Dialect, steps: readonly Step[]) =>
  Object.fromEntries(steps.map((step) => [step.name, fingerprintOf(dialect, step, steps)]))

/** The step of the rehearsal, in a version whose tables have what it adds. */
const tableOf = (table: Table): Table => NEXT_VERSION.tables.find(({ name }) => name === table.name) ?? table
const LATER_STEPS = NEXT_VERSION.steps.map((step) => ({ ...step, tables: step.tables.map(tableOf) }))

describe('the steps of the schema', () => {
  for (const [kind, dialect, released] of [
    ['sqlite', sqliteDialect, FINGERPRINTS.sqlite],
    ['postgres', postgresDialect, FINGERPRINTS.postgres],
    ['mysql', mysqlDialect, FINGERPRINTS.mysql],
  ] as const) {
    it(`have the fingerprints that they were released with, on ${kind}`, () => {
      expect(fingerprints(dialect, ALL_STEPS)).to.deep.equal(released)
    })

    it(`keep them when a later step adds to their tables, on ${kind}`, () => {
      expect(fingerprints(dialect, LATER_STEPS)).to.deep.include(released)
    })
  }
})
