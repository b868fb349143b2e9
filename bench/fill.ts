/** Rows inserted directly, many per statement: subject tokens to exchange, and history. */
import { randomBytes } from 'node:crypto'
import type { Sequelize } from 'sequelize'
import { epochTime, type Seconds } from '../src/clock.ts'
import type { Bound } from '../src/sequelize/database/text.ts'
import { databaseOf } from '../src/sequelize/database-of.ts'
import { toRow, toUseColumns, USE_COLUMNS } from '../src/sequelize/subject-token-rows.ts'
import { earliestId, mintId } from '../src/subject-tokens/id.ts'
import { hashSecret, mintSecret } from '../src/subject-tokens/secret.ts'
import type { NewSubjectToken, SubjectTokenUse } from '../src/subject-tokens/subject-token.ts'
import { API, CLIENTS, DAY, ISSUER, SCOPE } from './deployment.ts'
import { CONTEXT } from './requests.ts'

const COLUMNS = `id, token_hash, issuer, user_id, context, created_by, client_id, actor_id, resource, scope,
  created_at, expires_at, ${USE_COLUMNS.join(', ')}`
const PER_STATEMENT = 500

/** The service account that issued and used the whole history. */
export const HELPDESK = 'helpdesk'
/** Every user of the history has as many rows, so that a page costs the same whatever the size of the table. */
const ROWS_OF_A_USER = 100
/** One of these users. */
export const CUSTOMER = customer(0)

const ANALYZE: Readonly<Record<string, string>> = {
  postgres: 'VACUUM ANALYZE subject_tokens',
  mysql: 'ANALYZE TABLE subject_tokens',
}
const NEVER_USED: readonly Bound[] = USE_COLUMNS.map(() => null)

/** Subject tokens that can be exchanged, as the management API would have issued them. */
export async function issueDirectly(sequelize: Sequelize, count: number): Promise<string[]> {
  const { dialect } = databaseOf(sequelize)
  const secrets = Array.from({ length: count }, mintSecret)
  const createdAt = epochTime()
  await insert(sequelize, count, (index) => {
    const secret = secrets[index] ?? mintSecret()
    const times = { createdAt, expiresAt: createdAt + DAY }
    return [...toRow(dialect, { ...newToken(index), ...times, tokenHash: hashSecret(secret) }), ...NEVER_USED]
  })
  return secrets
}

/** Rows of tokens that were used in the past 30 days, which is what most of a real table consists of. */
export async function fillHistory(sequelize: Sequelize, count: number): Promise<void> {
  const { dialect } = databaseOf(sequelize)
  const start = epochTime() - 30 * DAY
  await insert(sequelize, count, (index) => {
    const createdAt = start + Math.floor((index / count) * 29 * DAY)
    const times = { createdAt, expiresAt: createdAt + 600 }
    const tokenHash = hashSecret(mintSecret())
    return [
      ...toRow(dialect, { ...newToken(index), ...history(index, count, createdAt), ...times, tokenHash }),
      ...toUseColumns(dialect, useAt(createdAt + 5)),
    ]
  })
  // Otherwise the planner would use the statistics of an empty table, and a clean-up could run during the measurement.
  await sequelize.query(ANALYZE[sequelize.getDialect()] ?? 'ANALYZE')
}

export async function countRows(sequelize: Sequelize): Promise<number> {
  const [rows] = await sequelize.query('SELECT COUNT(*) AS held FROM subject_tokens')
  return Number((rows as { held: unknown }[])[0]?.held)
}

function newToken(index: number): Omit<NewSubjectToken, 'tokenHash' | 'createdAt' | 'expiresAt'> {
  return {
    id: mintId(),
    issuer: ISSUER,
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

async function insert(sequelize: Sequelize, count: number, row: (index: number) => Bound[]): Promise<void> {
  for (let from = 0; from < count; from += PER_STATEMENT) {
    const rows = Array.from({ length: Math.min(PER_STATEMENT, count - from) }, (_, index) =>
      row(from + index),
    )
    let parameter = 0
    const values = rows.map((columns) => `(${columns.map(() => `$${++parameter}`).join(', ')})`)
    const sql = `INSERT INTO subject_tokens (${COLUMNS}) VALUES ${values.join(', ')}`
    await sequelize.query(sql, { bind: rows.flat() })
  }
}
