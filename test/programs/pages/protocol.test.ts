/** The errors and the limits of docs/protocol.md, compared with openapi.json, the source and responses; and its numbers. */
import { globSync } from 'node:fs'
import { expect } from 'chai'
import type { ClientMetadata } from 'oidc-provider'
import { withActor } from '../../../fixtures/actor-tokens.ts'
import { machineClient, webClient } from '../../../fixtures/clients.ts'
import { type Database, openDatabase } from '../../../fixtures/databases.ts'
import { API, type Deployment, startDeployment, withDeployment } from '../../../fixtures/deployment.ts'
import type { Parameters } from '../../../fixtures/http.ts'
import { ROOT, readPage } from '../../../fixtures/markdown.ts'
import { downstream, LEDGER, ownToken, passedOn, passOn, viewed } from '../../../fixtures/on-behalf-of.ts'
import { type Json, readDescription } from '../../../fixtures/openapi.ts'
import {
  codeOf,
  type ErrorText,
  errorsOf,
  expectSameErrors,
  namesOf,
  rulesOf,
  sectionOf,
} from '../../../fixtures/page.ts'
import { exchange, issue } from '../../../fixtures/requests.ts'
import { LIMIT as BODY_LIMIT } from '../../../src/base/body.ts'
import { ACCESS_TOKEN_TYPE, RESERVED_CLAIMS } from '../../../src/base/constants.ts'
import { RETRY_AFTER } from '../../../src/base/errors.ts'
import { MAX_NAME_LENGTH } from '../../../src/base/json.ts'
import { MAX_CONTEXT_BYTES, MAX_CONTEXT_LEVELS } from '../../../src/records/issue.ts'
import { DEFAULT_LIMIT, MAX_LIMIT } from '../../../src/records/list.ts'
import { createSubjectTokenStore } from '../../../src/sequelize/index.ts'

const PAGE = readPage('docs/protocol.md')
const section = (title: string): string => sectionOf(PAGE, title)

describe('docs: the protocol of the management API', () => {
  it('has every error with its text', () => {
    const { paths, components } = readDescription()
    const resolve = ({ $ref, ...value }: Json): Json =>
      $ref === undefined ? value : components.responses[$ref.split('/').at(-1)]
    const responses = Object.entries<Json>(paths)
      .filter(([route]) => route !== '/token')
      .flatMap(([, methods]) => Object.values<Json>(methods))
      .flatMap(({ operationId, responses }) => (operationId ? Object.entries<Json>(responses) : []))
    const given = [...responses, ['405', components.responses.MethodNotAllowed] as const]
      // 429 has no text: it is the host's.
      .filter(([status]) => Number(status) >= 400 && status !== '429')
      .flatMap(([status, response]) =>
        Object.values<Json>(resolve(response).content['application/json'].examples).map(({ value }) => ({
          status,
          error: value.error,
          text: value.error_description,
        })),
      )
    expectSameErrors(errorsOf(section('2.4 Errors')), given)
    expect(section('2.4 Errors')).to.include(`\`Retry-After: ${RETRY_AFTER}\``).and.to.include('gets 429')
  })

  it('has the limits', () => {
    expect(section('2.1 Issue a subject token'))
      .to.include(`${MAX_NAME_LENGTH} Unicode code points`)
      .and.include(`${MAX_CONTEXT_BYTES / 1024} KiB`)
      .and.include(`${MAX_CONTEXT_LEVELS} levels`)
      .and.include(`${BODY_LIMIT / 1024} KiB`)
    expect(section('List')).to.include(`from 1 to ${MAX_LIMIT}; ${DEFAULT_LIMIT} by default`)
  })
})

describe('docs: the protocol of the token exchange', () => {
  const state = { allowed: (): boolean => true, down: false, lost: false }
  let database: Database
  let deployment: Deployment
  before(async () => {
    database = await openDatabase('sqlite')
    const real = createSubjectTokenStore(database.sequelize)
    const find: typeof real.find = (issuer, id) =>
      state.down ? Promise.reject(new Error('down')) : real.find(issuer, id)
    const consume: typeof real.consume = (...call) =>
      state.lost ? Promise.reject(new Error('lost')) : real.consume(...call)
    const options = { store: { ...real, find, consume }, isAllowed: () => state.allowed() }
    deployment = await startDeployment({ database, options })
  })
  after(async () => {
    await deployment.close()
    await database.close()
  })

  const refused = async (changes: Parameters, client?: ClientMetadata): Promise<ErrorText> => {
    const { status, body } = await exchange(deployment, changes, client && { client })
    return { status: String(status), error: body.error, text: body.error_description }
  }

  it('has every error with its text', async () => {
    const { subjectToken: subject_token } = await issue(deployment)
    const changes: Parameters[] = [
      { subject_token: null },
      { actor_token: 'x' },
      { actor_token_type: ACCESS_TOKEN_TYPE },
      { subject_token_type: 'x' },
      { authorization_details: '[]' },
      { scope: ['a', 'b'] },
      { subject_token: 'x' },
      withActor('x'),
      { resource: null },
      { scope: 'unknown' },
      { client_id: 'web', client_secret: 'web-secret' },
    ]
    const given = [await refused({ subject_token }, machineClient())]
    for (const change of changes) given.push(await refused({ subject_token, ...change }))
    const failures: object[] = [
      { allowed: () => false },
      { allowed: () => 'maybe' },
      { down: true },
      { lost: true },
    ]
    for (const failure of failures) {
      Object.assign(state, { allowed: () => true, down: false, ...failure })
      given.push(await refused({ subject_token }))
    }
    Object.assign(state, { allowed: () => true, down: false, lost: false })
    expectSameErrors(errorsOf(section('3.2 Errors')), given)
  })

  it('has every error of an API that exchanges, and every claim that it changes', async () => {
    await withDeployment(downstream(), async (own) => {
      const token = await ownToken(own)
      const { accessToken: limited } = await viewed(own, {}, { resource: API })
      const attempts: [changes: Parameters, client?: ClientMetadata][] = [
        [{ subject_token: limited }],
        [{}, webClient()],
        [withActor('x')],
        [{ subject_token: 'x' }],
        [{ resource: LEDGER }],
        [{ scope: 'unknown' }],
      ]
      const given: ErrorText[] = []
      for (const [changes, client] of attempts) {
        const { status, body } = await passOn(own, token, changes, client && { client })
        given.push({ status: String(status), error: body.error, text: body.error_description })
      }
      expectSameErrors(errorsOf(section('8.5 Errors on behalf of a user')), given)
      const { claims } = await passedOn(own, (await viewed(own)).accessToken)
      const changed = namesOf(rulesOf(section('8.4 The new token')))
      expect([...Object.keys(claims), 'cnf']).to.include.members(changed)
    })
  })

  it('lists the reserved claims', () => {
    const [, , list = ''] = section('Reserved claims').split('\n\n')
    expect(codeOf(list)).to.have.members([...RESERVED_CLAIMS])
  })
})

describe('docs: the sections of the protocol', () => {
  it('have a number each, and every reference has a target', () => {
    const numbers = [...PAGE.matchAll(/^#+ (\d[\d.]*?)\.? /gm)].map(([, number]) => number)
    expect(new Set(numbers).size).to.equal(numbers.length).and.to.be.greaterThan(15)
    const ours = PAGE.replace(/RFC\s+\d+\s+§[\d.]+/g, '')
    const cited = [...ours.matchAll(/§(\d(?:\.\d)*)/g)].map(([, number]) => number)
    expect(cited.length).to.be.greaterThan(30)
    expect(numbers).to.include.members(cited)
  })

  it('are what the comments of the source and the headers of the tests cite', () => {
    const numbers = [...PAGE.matchAll(/^#+ (\d[\d.]*?)\.? /gm)].map(([, number]) => number)
    const cited = globSync('{src,test,fixtures,packages/*/{src,test}}/**/*.ts', { cwd: ROOT })
      .map((file) => readPage(file))
      .flatMap((text) => [...text.matchAll(/protocol\.md ((?:§[\d.]*\d(?:, )?)+)/g)])
      .flatMap(([, sections = '']) => [...sections.matchAll(/[\d.]*\d/g)])
      .map(([section]) => section)
    expect(cited.length).to.be.greaterThan(50)
    expect(numbers).to.include.members(cited)
  })
})
