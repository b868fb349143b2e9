/** Rows inserted directly, many per statement: subject tokens to exchange, and history. */
import { randomBytes } from 'node:crypto'
import type { Sequelize } from 'sequelize'
import { epochTime, type Seconds } from '../src/clock.ts'
import type { Bound } from '../src/sequelize/database/text.ts'
import { databaseOf } from '../src/sequelize/database-of.ts'
import { TOKENS, USES } from '../src/sequelize/tables.ts'
import { issuersOf } from '../src/sequelize/tokens/issuers.ts'
import { ISSUED, issuedRow, USED, useRow } from '../src/sequelize/tokens/rows.ts'
import { earliestId, mintId } from '../src/subject-tokens/id.ts'
import { hashToken, mintToken, type SubjectTokenText } from '../src/subject-tokens/secret.ts'
import type { SubjectTokenDraft, SubjectTokenUse } from '../src/subject-tokens/subject-token.ts'
import { API, CLIENTS, DAY, ISSUER, SCOPE } from './deployment.ts'
import { CONTEXT } from './requests.ts'

const PER_STATEMENT = 500

/** The service account that issued and used the whole history. */
export const HELPDESK = 'helpdesk'
/** Every user of the history has as many rows, so that a page costs the same whatever the size of the table. */
const ROWS_OF_A_USER = 100
/** One of these users. */
export const CUSTOMER = customer(0)

const ANALYZE: Readonly<Record<string, string>> = {
  postgres: 'VACUUM ANALYZE',
  mysql: `ANALYZE TABLE ${TOKENS.name}, ${USES.name}`,
}

/** Subject tokens that can be exchanged, as the management API would have issued them. */
export async function issueDirectly(sequelize: Sequelize, count: number): Promise<SubjectTokenText[]> {
  const { dialect, number } = await placeOf(sequelize)
  const createdAt = epochTime()
  const issued = Array.from({ length: count }, (_, index) => {
    const draft = { ...newToken(index), createdAt, expiresAt: createdAt + DAY }
    return { draft, text: mintToken(draft.id) }
  })
  await insertMany(
    sequelize,
    { table: TOKENS.name, columns: ISSUED },
    issued.map(({ draft, text }) => issuedRow(dialect, number, { ...draft, tokenHash: hashToken(text) })),
  )
  return issued.map(({ text }) => text)
}

/** Rows of tokens that were used in the past 30 days, which is what most of a real table consists of. */
export async function fillHistory(sequelize: Sequelize, count: number): Promise<void> {
  const { dialect, number } = await placeOf(sequelize)
  const start = epochTime() - 30 * DAY
  for (let from = 0; from < count; from += PER_STATEMENT) {
    const tokens = Array.from({ length: Math.min(PER_STATEMENT, count - from) }, (_, step) => {
      const index = from + step
      const createdAt = start + Math.floor((index / count) * 29 * DAY)
      return {
        ...newToken(index),
        ...history(index, count, createdAt),
        createdAt,
        expiresAt: createdAt + 600,
      }
    })
    const issued = tokens.map((token) =>
      issuedRow(dialect, number, { ...token, tokenHash: hashToken(mintToken(token.id)) }),
    )
    const used = tokens.map((token) => {
      const use = useAt(token.createdAt + 5)
      return useRow(dialect, { issuer: number, token: token, use, chain: undefined })
    })
    await insertMany(sequelize, { table: TOKENS.name, columns: ISSUED }, issued)
    await insertMany(sequelize, { table: USES.name, columns: USED }, used)
  }
  // Otherwise the planner would use the statistics of an empty table, and a clean-up could run during the measurement.
  await sequelize.query(ANALYZE[sequelize.getDialect()] ?? 'ANALYZE')
}

export async function countRows(sequelize: Sequelize): Promise<number> {
  const [rows] = await sequelize.query(`SELECT COUNT(*) AS held FROM ${TOKENS.name}`)
  return Number((rows as { held: unknown }[])[0]?.held)
}

async function placeOf(sequelize: Sequelize) {
  const database = databaseOf(sequelize)
  const number = await issuersOf(sequelize)(database, ISSUER)
  return { dialect: database.dialect, number }
}

function newToken(index: number): Omit<SubjectTokenDraft, 'createdAt' | 'expiresAt'> {
  return {
    id: mintId(),
    issuer: ISSUER,
    purpose: 'exchange',
    userId: `user-${index % 10_000}`,
    context: CONTEXT,
    createdBy: CLIENTS.backend.client_id,
  }
}

const history = (index: number, count: number, createdAt: Seconds) => ({
  // Ids sort by creation.
  id: earliestId(createdAt).slice(0, 12) + randomBytes(10).toString('hex'),
  userId: customer(index % Math.ceil(count / ROWS_OF_A_USER)),
  createdBy: HELPDESK,
})

function customer(index: number): string {
  return `customer-${index}`
}

const useAt = (at: number): SubjectTokenUse => ({
  at,
  clientId: CLIENTS.application.client_id,
  actor: { sub: HELPDESK },
  resource: API,
  scope: SCOPE,
  accessToken: { format: 'jwt', expiresAt: at + 600 },
})

interface Target {
  readonly table: string
  readonly columns: readonly string[]
}

async function insertMany(
  sequelize: Sequelize,
  { table, columns }: Target,
  rows: readonly (readonly Bound[])[],
): Promise<void> {
  for (let from = 0; from < rows.length; from += PER_STATEMENT) {
    const part = rows.slice(from, from + PER_STATEMENT)
    let parameter = 0
    const values = part.map((row) => `(${row.map(() => `$${++parameter}`).join(', ')})`)
    const sql = `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${values.join(', ')}`
    await sequelize.query(sql, { bind: part.flat() })
  }
}
