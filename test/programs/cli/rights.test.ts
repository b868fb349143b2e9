/** What a command says when its role, or its file, may not do what it takes. */
import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { run } from '../../../fixtures/commands.ts'
import { type Database, openDatabase } from '../../../fixtures/databases.ts'
import { moduleOn, useFolder } from '../../../fixtures/deployment-module.ts'
import { beforeOn, describeOn } from '../../../fixtures/on-database.ts'
import { createRole } from '../../../fixtures/role.ts'
import { createSubjectTokenStore, migrate } from '../../../src/sequelize/index.ts'
import { grantsTo } from '../../../src/sequelize/schema/rights.ts'

interface Role {
  readonly name: string
  readonly url: string
  drop(): Promise<void>
}

const asRole = (url: string, name: string): string => Object.assign(new URL(url), { username: name }).href

const ROLES: Readonly<Record<'postgres' | 'mysql', (database: Database) => Promise<Role>>> = {
  async postgres(database) {
    const role = await createRole(database)
    return { ...role, url: asRole(database.url, role.name) }
  },
  async mysql({ sequelize, url }) {
    const name = `impersonation_${randomBytes(6).toString('hex')}`
    await sequelize.query(`CREATE USER ${name}@'%'`)
    return {
      name: `${name}@'%'`,
      url: asRole(url, name),
      drop: async () => void (await sequelize.query(`DROP USER ${name}@'%'`)),
    }
  },
}

for (const kind of ['postgres', 'mysql'] as const) {
  describeOn(kind, `oidc-impersonation by a role without rights, on ${kind}`, () => {
    let database: Database
    let role: Role
    beforeOn(kind, async () => {
      database = await openDatabase(kind)
    })
    beforeEach(async () => {
      role = await ROLES[kind](database)
    })
    afterEach(() => role.drop())
    after(() => database?.close())

    /** As the documentation says, but for one, such as `SELECT on oidc_models`. */
    const grantAllBut = async (left: string) => {
      const [right = '', , table] = left.split(' ')
      for (const grant of grantsTo(role.name)) {
        const rights = grant.includes(` ON ${table} `) ? grant.replace(new RegExp(`${right},? `), '') : grant
        await database.sequelize.query(rights.replace(', ON', ' ON'))
      }
    }
    const failed = async (command: string) => {
      const { code, stdout, stderr } = await run([command], role.url)
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
      await database.sequelize.query(`GRANT SELECT (issuer) ON subject_token_actors TO ${role.name}`)
      await database.sequelize.query(`REVOKE SELECT ON oidc_models FROM ${role.name}`)
      await database.sequelize.query(`GRANT SELECT (namespace) ON oidc_models TO ${role.name}`)
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
  it('says that it can only be read', async () => {
    const database = await openDatabase('postgres')
    try {
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
    } finally {
      await database.close()
    }
  })
})

describe('oidc-impersonation on a file of SQLite that can only be read', () => {
  const folder = useFolder()

  it('says so', async () => {
    const database = await openDatabase('sqlite')
    try {
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
    } finally {
      await database.close()
    }
  })
})
