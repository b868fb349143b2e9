/** The spend while a connection is lost (docs/protocol.md §3.2): its outcome is unknown, or certainly it did not happen. */
import { expect } from 'chai'
import { ConnectionRefusedError, QueryTypes } from 'sequelize'
import type { Database } from '../../../fixtures/databases.ts'
import { type Deployment, withDeployment } from '../../../fixtures/deployment.ts'
import { itOn } from '../../../fixtures/on-database.ts'
import { exchange, issue } from '../../../fixtures/requests.ts'
import { createSubjectTokenStore } from '../../../src/sequelize/index.ts'

/** Spends wait for the end of the transaction. */
const HOLD_SPENDS = 'LOCK TABLE subject_token_uses IN SHARE MODE'

/** Ends the connection on which a spend waits for a lock. */
async function endSpend({ database }: Deployment): Promise<void> {
  for (let ended = 0; ended === 0; ) {
    const rows = await database.sequelize.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'INSERT%'`,
      { type: QueryTypes.SELECT },
    )
    ended = rows.length
  }
}

/** What was not spent may be sent again. */
async function expectOutage(
  response: ReturnType<typeof exchange>,
  description: string,
  retryAfter: string | null,
): Promise<void> {
  const { status, body, headers, text } = await response
  expect([status, body, headers.get('retry-after')], text).to.deep.equal([
    503,
    { error: 'temporarily_unavailable', error_description: description },
    retryAfter,
  ])
}
const UNKNOWN = ['request a new subject token', null] as const
const UNSPENT = ['the service is temporarily unavailable', '5'] as const

describe('token exchange: the outcome of a spend', () => {
  itOn('postgres', 'is unknown when the connection is lost in the middle of it', () =>
    withDeployment({ database: 'postgres' }, async (deployment) => {
      const { sequelize } = deployment.database
      const { subjectToken } = await issue(deployment)
      await sequelize.transaction(async (transaction) => {
        await sequelize.query(HOLD_SPENDS, { transaction })
        const exchanged = exchange(deployment, { subject_token: subjectToken })
        await endSpend(deployment)
        await expectOutage(exchanged, ...UNKNOWN)
      })
      expect((await exchange(deployment, { subject_token: subjectToken })).status).to.equal(200)
    }),
  )

  itOn('postgres', 'is known when the table stayed locked', () => {
    const options = (_: string, { connect }: Database) => ({
      store: createSubjectTokenStore(connect({ dialectOptions: { lock_timeout: 100 } })),
    })
    return withDeployment({ database: 'postgres', options }, async (deployment) => {
      const { sequelize } = deployment.database
      const { subjectToken } = await issue(deployment)
      await sequelize.transaction(async (transaction) => {
        await sequelize.query(HOLD_SPENDS, { transaction })
        await expectOutage(exchange(deployment, { subject_token: subjectToken }), ...UNSPENT)
      })
    })
  })

  it('is known when there is no connection to spend it on', () => {
    const away = () => Promise.reject(new ConnectionRefusedError(new Error('private')))
    const options = (_: string, { sequelize }: Database) => ({
      getCustomJwtClaims() {
        Object.assign(sequelize.connectionManager, { getConnection: away })
        return {}
      },
    })
    return withDeployment({ options }, async (deployment) => {
      const { subjectToken } = await issue(deployment)
      await expectOutage(exchange(deployment, { subject_token: subjectToken }), ...UNSPENT)
    })
  })
})
