/** A MariaDB that keeps as many prepared statements as it may: a new process can prepare none. */
import { inspect } from 'node:util'
import { expect } from 'chai'
import type { Sequelize } from 'sequelize'
import { withDeployment } from '../../fixtures/deployment.ts'
import { startMariadb } from '../../fixtures/mariadb.ts'
import { warnIfMissing } from '../../fixtures/programs.ts'
import { postSubjectToken } from '../../fixtures/requests.ts'
import type { OwnServer } from '../../fixtures/server-process.ts'
import { connect } from '../../src/cli/connect.ts'
import { createSubjectTokenStore, migrate } from '../../src/sequelize/index.ts'

const ADVICE = 'as max_prepared_stmt_count allows: raise it'

describe('a MariaDB at its limit of prepared statements', function () {
  this.timeout(90_000)
  let server: OwnServer | undefined
  let administrator: Sequelize
  let pool: Sequelize
  before(async function () {
    server = warnIfMissing(await startMariadb(), 'MariaDB to start')
    if (!server) return this.skip()
    administrator = connect(server.url)
    await migrate(administrator)
    pool = connect(server.url)
  })
  after(async () => {
    await administrator?.close()
    await pool?.close()
    await server?.stop()
  })
  const limit = (statements: number) =>
    administrator.query(`SET GLOBAL max_prepared_stmt_count = ${statements}`)

  it('is an outage whose reason names the setting, until it is raised', async () => {
    const options = { store: createSubjectTokenStore(pool) }
    await limit(0)
    await withDeployment({ options }, async (deployment) => {
      const { errors, impersonation } = deployment
      const refused = await postSubjectToken(deployment, { userId: 'alice' })
      expect([refused.status, refused.body.error], refused.text).to.deep.equal([
        503,
        'temporarily_unavailable',
      ])
      expect(refused.text).not.to.include('prepared')
      expect(inspect(errors)).to.include(ADVICE)
      const reason = await impersonation.ready().catch((error: Error) => error.message)
      expect(reason).to.include(ADVICE)
      await limit(16_382)
      await impersonation.ready()
      const issued = await postSubjectToken(deployment, { userId: 'alice' })
      expect(issued.status, issued.text).to.equal(201)
    })
  })
})
