/** What a command says when its role, or its file, may not do what it takes. */
import { expect } from 'chai'
import { run } from '../../../fixtures/commands.ts'
import { moduleOn, useFolder } from '../../../fixtures/deployment-module.ts'
import { describeOn, useDatabase } from '../../../fixtures/on-database.ts'
import { createRole, type Role } from '../../../fixtures/role.ts'
import { createSubjectTokenStore, migrate } from '../../../src/sequelize/index.ts'
import { grantsTo } from '../../../src/sequelize/schema/rights.ts'

for (const kind of ['postgres', 'mysql'] as const) {
  describeOn(kind, `oidc-impersonation by a role without rights, on ${kind}`, () => {
    const database = useDatabase(kind)
    let role: Role
    beforeEach(async () => {
      role = await createRole(database)
    })
    afterEach(() => role.drop())

    /** As the documentation says, but for one, such as `SELECT on oidc_models`. */
    const grantAllBut = async (left: string) => {
      const [right = '', , table] = left.split(' ')
      for (const grant of grantsTo(role.grantee)) {
        const rights = grant.includes(` ON ${table} `) ? grant.replace(new RegExp(`${right},? `), '') : grant
        await database.sequelize.query(rights.replace(', ON', ' ON'))
      }
    }
    const failed = async (command: string) => {
      const { href } = Object.assign(new URL(database.url), { username: role.name })
      const { code, stdout, stderr } = await run([command], href)
      expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' })
      return stderr
    }

    for (const [command, right] of [
      ['purge', 'DELETE on subject_token_uses'],
      ['purge', 'SELECT on impersonation_issuers'],
      ['status', 'SELECT on subject_token_stops'],
    ] as const) {
      it(`names ${right}, without which there is no ${command}`, async () => {
        await grantAllBut(right)
        expect(await failed(command)).to.match(
          new RegExp(`^oidc-impersonation: the role has no .*\\b${right}\\b`),
        )
      })
    }

    it('names a table of which it may read some columns', async () => {
      await grantAllBut('SELECT on subject_token_actors')
      await database.sequelize.query(`GRANT SELECT (issuer) ON subject_token_actors TO ${role.grantee}`)
      await database.sequelize.query(`REVOKE SELECT ON oidc_models FROM ${role.grantee}`)
      await database.sequelize.query(`GRANT SELECT (namespace) ON oidc_models TO ${role.grantee}`)
      expect(await failed('purge'))
        .to.include('SELECT on subject_token_actors')
        .and.include('SELECT on oidc_models')
    })

    it('names the database that the role may not use', async () => {
      if (kind === 'postgres') {
        const name = new URL(database.url).pathname.slice(1)
        await database.sequelize.query(`REVOKE CONNECT ON DATABASE ${name} FROM PUBLIC`)
      }
      const { host, pathname } = new URL(database.url)
      expect(await failed('status')).to.match(
        new RegExp(
          `^oidc-impersonation: no connection to ${kind} ${host}${pathname}: .*denied.*${pathname.slice(1)}`,
        ),
      )
    })
  })
}

describeOn('postgres', 'oidc-impersonation on a standby', () => {
  const database = useDatabase('postgres')

  it('says that it can only be read', async () => {
    const name = new URL(database.url).pathname.slice(1)
    await database.sequelize.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    for (const command of ['purge', 'end-unspent']) {
      const { code, stderr } = await run([command], database.url)
      expect(stderr).to.match(new RegExp(`^oidc-impersonation: postgres .*/${name} can only be read\n$`))
      expect(code).to.equal(1)
    }
    // A server that starts during a failover has nothing to migrate, and is not ready.
    expect(await run(['migrate'], database.url)).to.include({ code: 0, stderr: '' })
    await migrate(database.connect())
    const ready = createSubjectTokenStore(database.connect()).ready?.()
    expect(await ready?.catch((error: Error) => error.message)).to.include('25006')
  })
})

describe('oidc-impersonation on a file of SQLite that can only be read', () => {
  const folder = useFolder()
  const database = useDatabase('sqlite')

  it('says so', async () => {
    const storage = database.url.slice('sqlite:'.length)
    const options = { dialect: 'sqlite', storage, dialectOptions: { mode: 1 }, logging: false }
    const file = folder.write(
      moduleOn(`new Sequelize({ ...${JSON.stringify(options)}, dialectModule: nodeSqlite })`),
    )
    expect(await run(['migrate', file])).to.include({ code: 0, stderr: '' })
    for (const command of ['status', 'purge']) {
      const { code, stderr } = await run([command, file])
      expect(stderr).to.equal(`oidc-impersonation: sqlite ${storage} can only be read\n`)
      expect(code).to.equal(1)
    }
    await database.sequelize.query('DROP INDEX subject_tokens_open')
    expect((await run(['migrate', file])).stderr).to.match(/ can only be read\n$/)
  })
})
