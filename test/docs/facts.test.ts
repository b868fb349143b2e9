/** Lists and numbers that the pages repeat, compared with the code they come from. */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { DOCS, ROOT, readPage } from '../../fixtures/markdown.ts'
import { codeOf, sectionOf } from '../../fixtures/page.ts'
import { uncalledStore as store } from '../../fixtures/uncalled-store.ts'
import { MANAGEMENT_SCOPES, RESERVED_CLAIMS } from '../../src/constants.ts'
import { EVENTS } from '../../src/index.ts'
import { resolveOptions } from '../../src/options.ts'
import { RETRY_AFTER } from '../../src/outage.ts'

const source = (file: string): string => readFileSync(path.join(ROOT, 'src', file), 'utf8')

describe('docs: facts', () => {
  it('name the options, each with its default', () => {
    const options: Readonly<Record<string, unknown>> = { ...resolveOptions({ store }) }
    const rows = [...readPage('docs/reference.md').matchAll(/^\| `(\w+)` \| (.*?) \|/gm)]
    const told = new Map(rows.map(([, name = '', value = '']) => [name, value.replaceAll('`', '')]))
    const inWords = {
      store: 'required',
      managementResource: 'the issuer with /oidc replaced by /api',
      statusList: '{ ttl: 30 }',
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

  it('name events that exist, and count each of them', () => {
    for (const page of ['README.md', 'SECURITY.md', ...DOCS]) {
      const named = [...readPage(page).matchAll(/subject_token\.\w+/g)].map(([name]) => name)
      expect([...EVENTS], page).to.include.members(named)
    }
    for (const name of EVENTS) expect(readPage('docs/operate.md')).to.include(`provider.on('${name}'`)
  })

  it('name checks that exist', () => {
    const [, checks = ''] = /export type Check =(.*?)\n\n/s.exec(source('refusals.ts')) ?? []
    const known = [...checks.matchAll(/'(\w+)'/g)].map(([, name]) => name)
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
    expect(source('sequelize/schema/purge.ts')).to.include('BATCH = 1000').and.to.include('90 * 24 * 3600')
    expect(operate).to.include('batches of 1,000').and.to.include('90 days')
    expect(source('sequelize/node-sqlite.ts')).to.include('BUSY_TIMEOUT = 20')
    expect(operate).to.include('at most 20 ms at a time')
    expect(source('sequelize/lock-patience.ts')).to.include('PATIENCE = 5000')
    expect(operate).to.include('after 5 s it fails')
    expect(source('management/body.ts')).to.include('LIMIT = 64 * 1024')
    expect(readPage('docs/integrate.md')).to.include('64 KiB')
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
    const { peerDependencies } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'))
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

  it('name the tables that migrations create', () => {
    const folder = 'sequelize/schema'
    const made = readdirSync(path.join(ROOT, 'src', folder))
      .filter((file) => /^\d{3}-/.test(file))
      .map((file) => source(path.join(folder, file)))
      .flatMap((text) => [...text.matchAll(/CREATE TABLE IF NOT EXISTS (\w+)/g)].map(([, name]) => name))
    expect(made).to.have.length(3)
    for (const table of made) expect(readPage('docs/integrate.md')).to.include(`\`${table}\``)
  })
})
