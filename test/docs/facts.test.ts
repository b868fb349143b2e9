/** Lists and numbers that the pages repeat, compared with the code they come from. */
import { expect } from 'chai'
import { countingMeter, withMeter } from '../../fixtures/counting-meter.ts'
import { openDatabase } from '../../fixtures/databases.ts'
import { withDeployment } from '../../fixtures/deployment.ts'
import { DOCS, readPage } from '../../fixtures/markdown.ts'
import { codeOf, namesOf, rowsOf, sectionOf } from '../../fixtures/page.ts'
import { uncalledStore as store } from '../../fixtures/uncalled-store.ts'
import { MANAGEMENT_SCOPES, RESERVED_CLAIMS } from '../../src/constants.ts'
import { LIMIT as BODY_LIMIT } from '../../src/http/body.ts'
import { EVENTS } from '../../src/index.ts'
import { resolveOptions } from '../../src/options.ts'
import { RETRY_AFTER } from '../../src/outage.ts'
import { PATIENCE } from '../../src/sequelize/database/patience.ts'
import { BUSY_TIMEOUT } from '../../src/sequelize/database/sqlite/node-sqlite.ts'
import { BATCH, DEFAULT_RETENTION } from '../../src/sequelize/schema/purge.ts'

describe('docs: facts', () => {
  it('name the options, each with its default', () => {
    const options: Readonly<Record<string, unknown>> = { ...resolveOptions({ store }) }
    const rows = [...readPage('docs/reference.md').matchAll(/^\| `(\w+)` \| (.*?) \|/gm)]
    const told = new Map(rows.map(([, name = '', value = '']) => [name, value.replaceAll('`', '')]))
    const inWords = {
      store: 'required',
      managementResource: 'the issuer with /oidc replaced by /api',
      statusList: '{ ttl: 30 }',
      sessions: 'off',
    }
    const functions = { isAllowed: 'allow', getCustomJwtClaims: '–' }
    for (const [name, value] of Object.entries({ ...options, ...inWords, ...functions }))
      expect(told.get(name), name).to.equal(typeof value === 'string' ? value : JSON.stringify(value))
  })

  it('list the reserved claims', () => {
    const [, list = ''] = /### Reserved claims\n\n(.*?)\. A function/s.exec(readPage('docs/claims.md')) ?? []
    const names = codeOf(list.replaceAll('\n', ' ')).flatMap((claims) => claims.split(' '))
    expect(names.sort()).to.deep.equal([...RESERVED_CLAIMS].sort())
  })

  it('name events that exist', () => {
    for (const page of ['README.md', 'SECURITY.md', ...DOCS]) {
      const named = [...readPage(page).matchAll(/subject_token\.\w+/g)].map(([name]) => name)
      expect([...EVENTS], page).to.include.members(named)
    }
  })

  it('name the instruments, all of them, with their units and attributes', async () => {
    const meter = countingMeter()
    await withMeter(meter, () => withDeployment({}, async () => {}))
    const told = rowsOf(sectionOf(readPage('docs/operate.md'), 'Metrics')).map(([name = '', unit = '']) => [
      codeOf(name)[0],
      codeOf(unit)[0],
    ])
    expect(told).to.deep.equal(meter.made.map(({ name, unit }) => [name, unit]))
    const text = readPage('docs/operate.md')
    for (const attribute of meter.recordings.flatMap(([, attributes]) => Object.keys(attributes)))
      expect(text).to.include(`\`${attribute}\``)
  })

  it('name checks that exist', () => {
    const known = namesOf(rowsOf(sectionOf(readPage('docs/events.md'), 'Checks')))
    const named = [...readPage('docs/operate.md').matchAll(/check="(\w+)"/g)].map(([, name]) => name)
    expect(named.length).to.be.greaterThan(1)
    expect(known).to.include.members(named)
  })

  it('name the scopes of the management API', () => {
    for (const page of ['README.md', ...DOCS]) {
      const named = [...readPage(page).matchAll(/subject-tokens:\w+/g)].map(([name]) => name)
      expect([...MANAGEMENT_SCOPES], page).to.include.members(named)
    }
  })

  it('repeat the numbers of the code', () => {
    const claims = readPage('docs/claims.md')
    const operate = readPage('docs/operate.md')
    const { customClaimsTimeout, subjectTokenTTL } = resolveOptions({ store })
    expect(claims).to.include(`(${customClaimsTimeout} s unless set)`)
    expect(claims).to.include(`took more than ${customClaimsTimeout} s`)
    expect(readPage('docs/from-logto.md')).to.include(`"expiresIn": ${subjectTokenTTL}`)
    expect(operate).to.include(`\`Retry-After: ${RETRY_AFTER}\``)
    expect(operate).to.include(`batches of ${BATCH.toLocaleString('en')}`)
    expect(operate).to.include(`${DEFAULT_RETENTION / 86_400} days`)
    expect(operate).to.include(`at most ${BUSY_TIMEOUT} ms at a time`)
    expect(operate).to.include(`after ${PATIENCE / 1000} s it fails`)
    expect(readPage('docs/integrate.md')).to.include(`${BODY_LIMIT / 1024} KiB`)
  })

  it('name the versions that the tests use', () => {
    const { dependencies, devDependencies } = JSON.parse(readPage('package.json'))
    const peers = ['oidc-provider', 'sequelize', 'pg', 'pg-oldest', 'mysql2']
    const hosts = ['express', 'express4', 'fastify', '@nestjs/core', 'hono']
    const versions = sectionOf(readPage('docs/reference.md'), 'Supported versions')
    for (const name of [...peers, ...hosts]) {
      const [version = ''] = /[\d.]+$/.exec(devDependencies[name]) ?? []
      expect(versions, name).to.match(new RegExp(`\\b${version}\\b`))
    }
    expect(versions).to.include(`Koa ${dependencies.koa.replace('^', '')}`)
  })

  it('name the supported versions of the database packages', () => {
    const { peerDependencies } = JSON.parse(readPage('package.json'))
    for (const name of ['pg', 'mysql2']) {
      const [, from, below] = /^>=(\S+) <(\d+)$/.exec(peerDependencies[name]) ?? []
      const told = `package \`${name}\` ${Number(below) - 1} from ${from} on`
      expect(readPage('docs/operate.md')).to.include(told)
    }
  })

  it('say that no one has tested MySQL, wherever they list the databases', () => {
    const lists = ['README.md', 'CHANGELOG.md', ...DOCS]
      .flatMap((page) => readPage(page).split(/\n\n|\n(?=- )/))
      .filter((text) => ['PostgreSQL', 'SQLite', 'MariaDB', 'MySQL'].every((name) => text.includes(name)))
    expect(lists.length).to.be.greaterThan(1)
    for (const list of lists)
      expect(list.replaceAll(/\s+/g, ' ')).to.include('MariaDB, tested; MySQL 8, not tested')
  })

  it('name the tables that migrations create', async () => {
    const database = await openDatabase('sqlite')
    const made = await database.sequelize.getQueryInterface().showAllTables()
    await database.close()
    const tables = made.filter((name) => !name.startsWith('impersonation_'))
    expect(tables).to.have.length(6)
    for (const table of tables) expect(readPage('docs/integrate.md')).to.include(`\`${table}\``)
  })
})
