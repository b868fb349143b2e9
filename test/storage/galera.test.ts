/** How a cluster is recognised, without one. `test/nightly/faults/galera.test.ts` has one. */
import { expect } from 'chai'
import { createInSync } from '../../src/sequelize/database/mysql/driver.ts'

/** A server that says this of itself, to one who asks for it by name. */
function server(variables: Readonly<Record<string, string>>) {
  const asked: string[] = []
  const state = { down: false }
  const find = async (sql: string) => {
    asked.push(sql)
    if (state.down) throw new Error('down')
    return Object.entries(variables)
      .filter(([name]) => sql.startsWith('SHOW GLOBAL VARIABLES') && sql.includes(`'${name}'`))
      .map(([name, value]) => ({ Variable_name: name, Value: Buffer.from(value) }))
  }
  const inSync = createInSync()
  return { asked, state, inSync: (sql: string) => inSync(sql, find) }
}

const MARIADB = '10.11.14-MariaDB-0+deb12u2'

describe('a statement of MySQL or MariaDB that found no row', () => {
  it('waits on a cluster of MariaDB until the node has caught up', async () => {
    const { inSync, asked } = server({ version: MARIADB, wsrep_on: 'ON' })
    expect(await inSync('SELECT 1')).to.equal('SET STATEMENT wsrep_sync_wait=7 FOR SELECT 1')
    expect(await inSync('SELECT 2')).to.equal('SET STATEMENT wsrep_sync_wait=7 FOR SELECT 2')
    expect(asked).to.have.length(1)
  })

  for (const [what, variables] of [
    ['a MariaDB of its own', { version: MARIADB, wsrep_on: 'OFF' }],
    ['a MySQL of its own', { version: '8.4.3' }],
  ] as const) {
    it(`is not repeated on ${what}`, async () => {
      const { inSync, asked } = server(variables)
      for (const sql of ['SELECT 1', 'SELECT 2']) expect(await inSync(sql)).to.equal(undefined)
      expect(asked).to.have.length(1)
    })
  }

  it('fails on a cluster that is no MariaDB, because nothing could make it wait', async () => {
    const { inSync } = server({ version: '8.0.39-30.1', wsrep_on: 'ON' })
    for (const sql of ['SELECT 1', 'SELECT 2']) {
      const error = await inSync(sql).catch((thrown: unknown) => thrown)
      expect(error).to.be.instanceOf(TypeError).with.property('message').that.includes('only MariaDB')
    }
  })

  it('asks again when the server could not say what it is', async () => {
    const { inSync, state } = server({ version: MARIADB, wsrep_on: 'ON' })
    state.down = true
    expect(await inSync('SELECT 1').catch((error: unknown) => error)).to.be.an('error')
    state.down = false
    expect(await inSync('SELECT 1')).to.include('wsrep_sync_wait')
  })
})
