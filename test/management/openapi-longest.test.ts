/** The largest responses that there can be: each is described by `openapi.json`, and reaches each of its limits. */
import { expect } from 'chai'
import { actorJwt, withActor } from '../../fixtures/actor-tokens.ts'
import { machineClient, publicClient } from '../../fixtures/clients.ts'
import { type Deployment, startDeployment } from '../../fixtures/deployment.ts'
import { list, manage, postRevocation, show } from '../../fixtures/management.ts'
import { description, type Json } from '../../fixtures/openapi.ts'
import { exchange, issue, managementToken, postSubjectToken } from '../../fixtures/requests.ts'
import { LONGEST_LIFE } from '../../src/subject-tokens/subject-token.ts'

const { document, flat, faultsOf } = description()
const { schemas } = document.components

const NAME = 255
const longest = (character: string) => character.repeat(NAME)
const backend = machineClient({ client_id: longest('b') })
const application = publicClient({ client_id: longest('c') })
const RESOURCE = `https://api.example.com/${'r'.repeat(1000)}`
const SCOPE = Array.from({ length: 256 }, (_, index) => `orders:read-${index}`).join(' ')

/** The limits of a schema that a value stays below, each with its place. */
function unreached(schema: Json, value: Json, place = 'it'): string[] {
  const { maxLength, maximum, maxItems, properties = {} } = flat(schema)
  const reached = [
    [maxLength, value === undefined ? 0 : [...String(value)].length],
    [maximum, value],
    [maxItems, value?.length],
  ] as const
  return [
    ...reached.flatMap(([limit, given]) =>
      limit === undefined || limit === given ? [] : [`${place}: ${given}`],
    ),
    // Actors nest without end.
    ...Object.entries<Json>(properties).flatMap(([name, member]) =>
      name === 'act' && value?.act === undefined ? [] : unreached(member, value?.[name], `${place}.${name}`),
    ),
  ]
}

describe('openapi.json: the largest responses', () => {
  let deployment: Deployment
  let token: string
  before(async () => {
    deployment = await startDeployment({
      clients: [backend, application],
      resources: {
        [RESOURCE]: {
          ...{ scope: SCOPE, audience: RESOURCE, accessTokenFormat: 'jwt' },
          jwt: { sign: { alg: 'ES256' } },
        },
      },
      options: { maxSubjectTokenTTL: LONGEST_LIFE, maxDelegationDepth: 2 },
      configuration: {
        findAccount: async (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
      },
    })
    token = await managementToken(deployment, { client: backend })
  })
  after(() => deployment.close())

  it('are a subject token that lives as long as it can', async () => {
    const response = await postSubjectToken(deployment, { userId: 'alice', expiresIn: LONGEST_LIFE })
    expect(faultsOf('POST', '/subject-tokens', response)).to.deep.equal([])
    expect(unreached(schemas.IssuedSubjectToken, response.body)).to.deep.equal([])
  })

  it('are a record of the longest names, of a resource and of scopes as long as the provider grants them', async () => {
    const [user, actor, earlier] = ['🎫', '🎭', '🎪'].map(longest) as [string, string, string]
    const constraints = { userId: user, actorId: actor, clientId: application.client_id }
    const { subjectToken, id } = await issue(deployment, constraints, token)
    const claims = { sub: actor, client_id: application.client_id, act: { sub: earlier } }
    const request = { subject_token: subjectToken, ...withActor(await actorJwt(deployment, claims)) }
    const granted = { resource: RESOURCE, scope: SCOPE }
    const sender = { client: application }
    expect((await exchange(deployment, { ...request, ...granted }, sender)).status).to.equal(200)
    await postRevocation(deployment, { id, by: longest('🎫'), reason: '🎫'.repeat(1000) }, { token })
    expect((await exchange(deployment, { ...request, ...granted }, sender)).status).to.equal(400)

    const response = await show(deployment, id)
    expect(response.body).to.include(granted)
    expect(faultsOf('GET', '/subject-tokens/{id}', response)).to.deep.equal([])
    expect(unreached(schemas.SubjectToken, response.body)).to.deep.equal([])
  })

  it('are a page that is full, and a summary of all days', async () => {
    for (let count = 0; count <= 100; count += 1) await issue(deployment)
    const page = await list(deployment, { limit: '100' })
    expect(faultsOf('GET', '/subject-tokens', page)).to.deep.equal([])
    expect(unreached(schemas.SubjectTokenPage, page.body)).to.deep.equal([])
    const summary = await manage(deployment, 'GET', '/summary?days=90')
    expect(faultsOf('GET', '/subject-tokens/summary', summary)).to.deep.equal([])
    expect(unreached(schemas.Summary, summary.body)).to.deep.equal([])
  })
})
