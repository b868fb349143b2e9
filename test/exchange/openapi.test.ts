/** What openapi.json says of the exchange, compared with real responses. */
import { expect } from 'chai'
import { actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { webClient } from '../../fixtures/clients.ts'
import { openDatabase } from '../../fixtures/databases.ts'
import { type Deployment, OPAQUE_API, startDeployment } from '../../fixtures/deployment.ts'
import type { HttpResponse, Parameters } from '../../fixtures/http.ts'
import { readPage } from '../../fixtures/markdown.ts'
import { description } from '../../fixtures/openapi.ts'
import { codeOf, namesOf, rowsOf, sectionOf } from '../../fixtures/page.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import type { SubjectTokenStore } from '../../src/index.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

const { document, faultsOf, schemaFaults } = description()
const { TokenExchangeRequest, TokenExchangeResponse } = document.components.schemas

function expectDescribed(response: HttpResponse, status: number): void {
  expect(response.status, response.text).to.equal(status)
  expect(faultsOf('POST', '/token', response), response.text).to.deep.equal([])
}

describe('exchange: openapi.json', () => {
  let deployment: Deployment
  let failing: { find?: () => never; consume?: () => never; policy?: () => never } = {}
  before(async () => {
    const database = await openDatabase('sqlite')
    const real = createSubjectTokenStore(database.sequelize)
    const store: SubjectTokenStore = {
      ...real,
      find: (...given) => failing.find?.() ?? real.find(...given),
      consume: (...given) => failing.consume?.() ?? real.consume(...given),
    }
    const isAllowed = () => failing.policy?.() ?? true
    deployment = await startDeployment({ database, options: { store, isAllowed } })
  })
  beforeEach(() => {
    failing = {}
  })
  after(async () => {
    await deployment.close()
    await deployment.database.close()
  })

  const fail = (): never => {
    throw new Error('down')
  }
  const send = async (changes: Parameters = {}, sender = {}) => {
    const { subjectToken } = await issue(deployment)
    return exchange(deployment, { subject_token: subjectToken, ...changes }, sender)
  }

  it('describes an exchange, with an actor and without, for a JWT and an opaque token', async () => {
    for (const changes of [{ scope: 'orders:read' }, { resource: OPAQUE_API }]) {
      expectDescribed(await send(changes), 200)
      expectDescribed(await send({ ...changes, ...withActor(await actorToken(deployment)) }), 200)
    }
  })

  it('describes its refusals', async () => {
    const { examples } = document.paths['/token'].post.responses['400'].content['application/json']
    for (const [name, changes] of Object.entries({
      subject: { subject_token: 'x' },
      actor: withActor('x'),
      resource: { resource: 'https://other.example' },
      scope: { scope: 'other' },
    })) {
      const response = await send(changes)
      expectDescribed(response, 400)
      expect(response.body).to.deep.equal(examples[name].value)
    }
    expectDescribed(await send({ client_id: 'gone' }), 401)
    expectDescribed(await send({}, { client: webClient({ client_secret: 'wrong' }) }), 401)
    const inBody = await send({ client_id: 'web', client_secret: 'web-secret' })
    expectDescribed(inBody, 401)
    const { secretInBody } =
      document.paths['/token'].post.responses['401'].content['application/json'].examples
    expect(inBody.body).to.deep.equal(secretInBody.value)
  })

  it('describes failures and outages, of unknown outcome too', async () => {
    failing = { consume: fail }
    const unknown = await send()
    expectDescribed(unknown, 503)
    expect(unknown.headers.get('retry-after')).to.equal(null)
    failing = {}
    const { subjectToken } = await issue(deployment)
    failing = { find: fail }
    expectDescribed(await exchange(deployment, { subject_token: subjectToken }), 503)
    failing = { policy: fail }
    expectDescribed(await exchange(deployment, { subject_token: subjectToken }), 500)
  })

  it('names the parameters and the members that docs/protocol.md names', () => {
    const page = readPage('docs/protocol.md')
    const taken = rowsOf(sectionOf(page, '3. Token exchange')).filter(
      ([, required]) => required !== 'refused',
    )
    expect(Object.keys(TokenExchangeRequest.properties)).to.have.members([...namesOf(taken), 'client_id'])
    const members = rowsOf(sectionOf(page, '3.5 Response'))
    expect(Object.keys(TokenExchangeResponse.properties)).to.have.members(namesOf(members))
    const always = members
      .filter(([, present]) => present === 'always')
      .flatMap(([name = '']) => codeOf(name))
    expect(TokenExchangeResponse.required).to.have.members(always)
  })

  it('has an example that a deployment of that name would take', () => {
    const { schema, examples } =
      document.paths['/token'].post.requestBody.content['application/x-www-form-urlencoded']
    expect(schema.$ref).to.equal('#/components/schemas/TokenExchangeRequest')
    expect(schemaFaults(schema.$ref, examples.delegation.value)).to.deep.equal([])
    const { actor_token_type: _, ...incomplete } = examples.delegation.value
    expect(schemaFaults(schema.$ref, incomplete)).not.to.deep.equal([])
  })
})
