/** The commands on the database of a deployment: that of the store of its module. */
import path from 'node:path'
import { expect } from 'chai'
import { Sequelize } from 'sequelize'
import { run, tokenThatEnds } from '../../../fixtures/commands.ts'
import { moduleOn, useFolder } from '../../../fixtures/deployment-module.ts'
import { onEachKind, useDatabase } from '../../../fixtures/on-database.ts'
import { nameOf } from '../../../src/cli/database.ts'
import { createSubjectTokenStore } from '../../../src/sequelize/index.ts'

/** Of `DATABASE_URL`, which a module makes meaningless. */
const ELSEWHERE = 'postgres://nobody@127.0.0.1:1/none'

const folder = useFolder()

onEachKind((kind) => {
  describe('oidc-impersonation with the module of a deployment', () => {
    const database = useDatabase(kind, { migrated: false })

    it('works on the database of its store, closes it, and leaves stdout to the command', async () => {
      const file = folder.write(
        moduleOn(`connect(${JSON.stringify(database.url)})`, {
          exports: `export { impersonation, provider }
            console.log('noise'); process.stdout.write('more noise')
            export const close = () => console.log('closed')
            setInterval(() => {}, 1000)`,
        }),
      )
      const said = async (...args: string[]) => {
        const { code, stdout, stderr } = await run([...args, file], ELSEWHERE)
        expect(stderr)
          .to.include('noise\nmore noise')
          .and.match(/closed\n$/)
        return { code, stdout }
      }
      expect((await said('migrate', '--dry-run')).stdout).to.include('001-subject-tokens  CREATE TABLE')
      expect((await said('status')).code).to.equal(1)
      expect(await said('migrate')).to.deep.equal({ code: 0, stdout: 'The tables are up to date.\n' })
      const status = await said('status', '--json')
      expect(JSON.parse(status.stdout)).to.deep.include({ database: nameOf(database.sequelize), faults: [] })
      await createSubjectTokenStore(database.sequelize).insert(tokenThatEnds(60))
      await createSubjectTokenStore(database.sequelize).insert(tokenThatEnds(-500))
      expect(await said('end-unspent')).to.deep.equal({
        code: 0,
        stdout: 'Revoked 1 unspent subject tokens.\n',
      })
      expect(await said('purge', '--retention', '400')).to.deep.equal({
        code: 0,
        stdout: 'Deleted 1 subject tokens and 0 models of the provider.\n',
      })
    })
  })
})

describe('oidc-impersonation with a module', () => {
  const refused: Record<string, [text: string, message: string]> = {
    'whose store is not that of this package': [
      moduleOn(`connect('sqlite::memory:')`, { store: '{ ...createSubjectTokenStore(sequelize) }' }),
      'the store of this deployment is not what createSubjectTokenStore returned: set DATABASE_URL',
    ],
    'without a provider': ['export const impersonation = {}', 'the module must export `provider`'],
    'that cannot be loaded': [
      `throw new Error('cannot reach postgres://u:SEC RET@db.example.com/id')`,
      'cannot reach postgres://***@db.example.com/id',
    ],
    'whose database cannot be had': [
      moduleOn(`connect('mysql://u:SECRET@127.0.0.1:1/none')`),
      'no connection to mysql 127.0.0.1:1/none: connect ECONNREFUSED 127.0.0.1:1',
    ],
    // As where a name has two addresses, and both refuse.
    'whose driver has a code and no message': [
      moduleOn(`connect('postgres://u:SECRET@127.0.0.1:1/d')`, {
        exports: `export { impersonation, provider }
        sequelize.addHook('beforeConnect', () => {
          throw Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })
        })`,
      }),
      'no connection to postgres 127.0.0.1:1/d: ECONNREFUSED\n',
    ],
  }
  for (const [what, [text, message]] of Object.entries(refused)) {
    it(`fails on one ${what}, and shows no password`, async () => {
      const { code, stdout, stderr } = await run(['status', folder.write(text)], ELSEWHERE)
      expect(stderr).to.include(`oidc-impersonation: `).and.include(message).and.not.include('--help')
      expect(stdout + stderr).not.to.match(/SEC ?RET/)
      expect(code).to.equal(1)
    })
  }

  it('fails where there is none', async () => {
    const { code, stderr } = await run(['purge', path.join(folder.path, 'none.js')], ELSEWHERE)
    expect(stderr).to.equal(`oidc-impersonation: there is no ${folder.path}/none.js\n`)
    expect(code).to.equal(1)
  })

  it('names the primary of a replicated database', () => {
    const primary = { host: 'primary.example.com', port: '6432', database: 'id', password: 'SECRET' }
    const replicas = [{ ...primary, host: 'replica.example.com' }]
    const sequelize = new Sequelize({
      dialect: 'postgres',
      replication: { write: primary, read: replicas },
      logging: false,
    })
    expect(nameOf(sequelize)).to.equal('postgres primary.example.com:6432/id')
  })
})
