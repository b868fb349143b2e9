/** openapi.json as tools and readers take it. What the server does, the rows of test/spec compare with it at every request. */
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { expect } from 'chai'
import { PEOPLE } from '../../../example/accounts.ts'
import { actorJwt, withActor } from '../../../fixtures/actor-tokens.ts'
import { machineClient, publicClient } from '../../../fixtures/clients.ts'
import { useDeployment } from '../../../fixtures/deployment.ts'
import { list, manage, postRevocation, show } from '../../../fixtures/management.ts'
import { description, type Json, readDescription } from '../../../fixtures/openapi.ts'
import { exchange, issue, managementToken, postSubjectToken } from '../../../fixtures/requests.ts'
import { LIST_NUMBER } from '../../../src/provider/status-claim.ts'
import { LONGEST_LIFE } from '../../../src/tokens/subject-token.ts'
import { isHead, ROUTES, type RouteName, routeOf } from '../../spec/managing.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const TEXT = readFileSync(path.join(ROOT, 'docs/openapi.json'), 'utf8')
/** The files of the published package. */
const PACKAGE = 'https://unpkg.com/oidc-provider-impersonation/'

const { document, flat, faultsOf, schemaFaults } = description()
const { components, info, paths } = document
const { schemas } = components

const operations = Object.entries<Json>(paths).flatMap(([route, item]) =>
  Object.entries<Json>(item)
    .filter(([, { operationId }]) => operationId)
    .map(([method, operation]) => ({ name: `${method.toUpperCase()} ${route}`, method, route, operation })),
)
const managing = operations.filter(({ operation }) => operation.security.length > 0)

/** Everything in it, with its place. */
function* within(value: Json = document, pointer = '#'): Generator<[pointer: string, value: Json]> {
  if (typeof value !== 'object' || value === null) return
  yield [pointer, value]
  for (const [key, member] of Object.entries(value))
    yield* within(member, `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`)
}
const named = (name: string, value: Json = document): Json[] =>
  [...within(value)].flatMap(([, one]) => (Object.hasOwn(one, name) ? [one[name]] : []))

describe('openapi.json', () => {
  it('is valid OpenAPI 3.1, in the version of the package', async () => {
    const validator = new Validator()
    expect(await validator.validate(readDescription())).to.deep.equal({ valid: true })
    expect(validator.version).to.equal('3.1')
    const broken = readDescription()
    broken.paths['/subject-tokens'].get.parameters[0] = { name: 'userId' }
    expect((await new Validator().validate(broken)).valid).to.equal(false)
    expect(info.version).to.equal(JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')).version)
  })

  it('describes just the routes of protocol.md §2, each with its scope and its success, and HEAD as GET', () => {
    const described = managing.map(({ name, operation: { security, responses } }) => [
      ...[name, security, Object.keys(responses).filter((status) => status < '300')],
    ])
    const routes = (Object.keys(ROUTES) as RouteName[]).filter((name) => !isHead(name))
    expect(described).to.have.deep.members(
      routes.map((name) => {
        const { scope, status } = routeOf(name)
        return [name, [{ managementToken: [scope] }], [String(status)]]
      }),
    )
    expect(paths['/status-lists/{m}'].get.security).to.deep.equal([])
    expect(info.description).to.include('HEAD works wherever GET does')
    const { scopes } = components.securitySchemes.managementToken.flows.clientCredentials
    expect(Object.keys(scopes)).to.have.members([...new Set(routes.map((name) => routeOf(name).scope))])
  })

  it('leaves no object open but the context and the request of an exchange', () => {
    const open = [...within()].filter(
      ([, { type, additionalProperties }]) => type === 'object' && additionalProperties !== false,
    )
    expect(open.map(([place]) => place.split('/').at(-1))).to.deep.equal(['Context', 'TokenExchangeRequest'])
  })

  it('refers to what there is: pages of this package, and every one of its components', () => {
    const pages = named('externalDocs').map(({ url }) => url.replace(PACKAGE, ''))
    expect(pages.length).to.be.greaterThan(1)
    expect(pages.filter((url) => !existsSync(path.join(ROOT, url)))).to.deep.equal([])
    const all = Object.entries<object>(components).flatMap(([kind, members]) =>
      kind === 'securitySchemes' ? [] : Object.keys(members).map((name) => `#/components/${kind}/${name}`),
    )
    expect(all.filter((name) => !TEXT.includes(`"$ref": "${name}"`))).to.deep.equal([])
    const prose = [...named('description'), ...named('summary')].filter((text) => typeof text === 'string')
    expect(prose.filter((text) => /#\/|\$ref/.test(text))).to.deep.equal([])
    expect(info.contact.name).to.be.a('string').that.is.not.equal('')
  })

  it('gives in words the limits that a schema cannot have, as M23 and M137 hold them, and the numbers of lists', () => {
    expect(schemas.Context.description).to.include('at most 8 KiB as UTF-8 JSON and 16 levels')
    for (const { operation } of managing.filter(({ method }) => method === 'post'))
      expect(operation.requestBody.description).to.include('At most 64 KiB')
    for (const text of ['0', '1', '01', '-1', '', 'a', '0 ', '9999999999', '10000000000'])
      expect(schemaFaults('#/components/parameters/ListNumber/schema', text).length === 0, text).to.equal(
        LIST_NUMBER.test(text),
      )
  })
})

describe('openapi.json: examples', () => {
  it('match their schemas', () => {
    const examples = [...within()].flatMap(([pointer, value]) => [
      ...(Array.isArray(value.examples) ? value.examples : []).map((one: Json) => [pointer, one]),
      ...Object.values<Json>((value.schema && value.examples) ?? {}).map((one) => [
        ...[`${pointer}/schema`, one.value],
      ]),
      ...(value.example === undefined || !value.schema ? [] : [[`${pointer}/schema`, value.example]]),
    ])
    expect(examples.length).to.be.greaterThan(25)
    for (const [pointer, example] of examples)
      expect(schemaFaults(pointer, example), pointer).to.deep.equal([])
  })

  const examplesOf = (route: string): Json[] =>
    Object.values<Json>(paths[route].get.responses['200'].content['application/json'].examples).map(
      ({ value }) => value,
    )
  const records = examplesOf('/subject-tokens/{id}')

  it('show each state, on its own and on a page, and each kind of page', () => {
    const pages = examplesOf('/subject-tokens')
    for (const shown of [records, pages.flatMap(({ items }) => items)])
      expect([...new Set(shown.map(({ state }) => state))]).to.have.members(schemas.State.enum)
    const kinds = pages.map(({ items, nextCursor }) => `${items.length > 0} ${nextCursor !== undefined}`)
    expect(kinds).to.include.members(['true true', 'true false', 'false true', 'false false'])
  })

  it('have the people of the example, each in their part', () => {
    const inExamples = (name: string) =>
      [...named('examples'), ...named('example')].flatMap((example) => named(name, { example }))
    const part = (role: string) => PEOPLE.filter((person) => person.role === role).map(({ id }) => id)
    expect(part('customer')).to.include.members(inExamples('userId'))
    expect(part('support')).to.include.members(['actorId', 'by', 'sub'].flatMap(inExamples))
  })

  it('have a line for curl for each operation', () => {
    for (const { name, method, route, operation } of operations) {
      const [{ lang, source }] = operation['x-codeSamples']
      const [, address = ''] = /curl (?:-X DELETE )?"?(https:[^" \\]+)/.exec(source) ?? []
      const pattern = new RegExp(`^/(api|oidc)${route.replaceAll(/\{\w+\}/g, '[0-9a-f]+')}$`)
      expect(new URL(address).pathname, name).to.match(pattern)
      const said = [
        lang,
        / -X DELETE/.test(source),
        / -d /.test(source),
        /Authorization: Bearer/.test(source),
      ]
      const isManaging = operation.security.length > 0
      expect(said, name).to.deep.equal(['Shell', method === 'delete', method === 'post', isManaging])
    }
  })

  const ONE = '/subject-tokens/{id}'
  const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' }
  const headers: Readonly<Record<string, string>> = { ...JSON_TYPE, 'cache-control': 'no-store' }
  const item: Json = records.find(({ state }) => state === 'consumed')
  const response = { status: 200, headers: new Headers(headers), text: JSON.stringify(item) }

  it('would not pass as a record with one thing wrong', () => {
    expect(faultsOf('GET', ONE, response)).to.deep.equal([])
    const needed = ['id', 'userId', 'context', 'createdBy', 'createdAt', 'state', 'usedBy', 'accessToken']
    const wrong: Json[] = [
      ...needed.map((name) => ({ [name]: undefined })),
      ...[{ subjectToken: `sub_${'a'.repeat(65)}` }, { tokenHash: 'x' }, { id: `sub_${'a'.repeat(65)}` }],
      ...[{ accessToken: { ...item.accessToken, grantId: 'x' } }, { actor: { ...item.actor, exp: 1 } }],
      { actor: { ...item.actor, act: { name: 'x' } } },
      ...[{ createdAt: new Date().toISOString() }, { createdAt: 1.5 }, { consumedAt: null }],
      ...[{ state: 'active' }, { state: 'revoked' }, { state: 'used' }, { revokedAt: 1 }],
      ...[
        { revokedAt: 1, state: 'revoked' },
        { revokedAt: 1, state: 'revoked', revocation: { cause: 'x' } },
      ],
      ...[{ replay: { at: 1 } }, { scope: ['a'] }, { ceiling: {} }, { ceiling: { userId: 'alice' } }],
      ...[{ use: 'exchange' }, { use: 'session' }, { session: { endsAt: 1, logout: 'pending' } }],
      ...[{ acknowledged: [] }, { acknowledged: [{ at: 1, by: 'dora' }] }, { context: 'x' }],
      { acknowledged: [{ at: 1, by: 'dora', note: 'x', coversReplay: true }] },
    ]
    for (const body of [[item], null, ...wrong.map((changes) => ({ ...item, ...changes }))]) {
      const text = JSON.stringify(body)
      expect(faultsOf('GET', ONE, { ...response, text }), text).not.to.deep.equal([])
    }
  })

  it('would not pass as another response, or with other headers', () => {
    for (const status of [201, 302, 401])
      expect(faultsOf('GET', ONE, { ...response, status }), `${status}`).not.to.deep.equal([])
    expect(faultsOf('DELETE', ONE, { ...response, status: 204 })).not.to.deep.equal([])
    expect(faultsOf('GET', '/subject-tokens', response)).not.to.deep.equal([])
    const others: Record<string, string>[] = [
      { 'cache-control': 'public' },
      { 'content-type': 'text/html' },
      { location: '/' },
    ]
    for (const wrong of [JSON_TYPE, ...others.map((changes) => ({ ...headers, ...changes }))])
      expect(faultsOf('GET', ONE, { ...response, headers: new Headers(wrong) })).not.to.deep.equal([])
  })
})

/** Rate limits belong to the host (protocol.md §7, M148): callers get what its limiter says. */
describe("openapi.json: the host's rate limits", () => {
  const limited = (retryAfter?: string) => ({
    status: 429,
    headers: new Headers({ 'content-type': 'text/plain', ...(retryAfter && { 'retry-after': retryAfter }) }),
    text: 'Too many requests',
  })

  it('are those of every operation, where a limiter says when to try again and where it does not', () => {
    for (const { name, method, route } of operations)
      for (const retryAfter of ['30', new Date(4e12).toUTCString(), undefined])
        expect(faultsOf(method.toUpperCase(), route, limited(retryAfter)), name).to.deep.equal([])
  })

  it('are not described where a limiter says nothing that HTTP knows', () => {
    expect(faultsOf('GET', '/subject-tokens', limited('soon'))).not.to.deep.equal([])
  })
})

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
  const longest = (character: string) => character.repeat(255)
  const backend = machineClient({ client_id: longest('b') })
  const application = publicClient({ client_id: longest('c') })
  const RESOURCE = `https://api.example.com/${'r'.repeat(1000)}`
  const SCOPE = Array.from({ length: 256 }, (_, index) => `orders:read-${index}`).join(' ')
  const deployment = useDeployment({
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

  it('are described, and reach each of their limits', async () => {
    const [user, actor, earlier] = ['🎫', '🎭', '🎪'].map(longest) as [string, string, string]
    const token = await managementToken(deployment, { client: backend })
    const constraints = { userId: user, actorId: actor, clientId: application.client_id }
    const { subjectToken, id } = await issue(deployment, constraints, token)
    const claims = { sub: actor, client_id: application.client_id, act: { sub: earlier } }
    const request = { subject_token: subjectToken, ...withActor(await actorJwt(deployment, claims)) }
    const granted = { resource: RESOURCE, scope: SCOPE }
    const sender = { client: application }
    expect((await exchange(deployment, { ...request, ...granted }, sender)).status).to.equal(200)
    await postRevocation(deployment, { id, by: longest('🎫'), reason: '🎫'.repeat(1000) }, { token })
    expect((await exchange(deployment, { ...request, ...granted }, sender)).status).to.equal(400)
    for (let count = 0; count <= 100; count += 1) await issue(deployment)

    const longLived = { userId: 'alice', expiresIn: LONGEST_LIFE }
    expect(schemaFaults('#/components/schemas/SubjectTokenRequest', longLived)).to.deep.equal([])
    const tooLong = { ...longLived, expiresIn: LONGEST_LIFE + 1 }
    expect(schemaFaults('#/components/schemas/SubjectTokenRequest', tooLong)).not.to.deep.equal([])
    for (const [name, response, schema] of [
      ['POST /subject-tokens', await postSubjectToken(deployment, longLived), schemas.IssuedSubjectToken],
      ['GET /subject-tokens/{id}', await show(deployment, id), schemas.SubjectToken],
      ['GET /subject-tokens', await list(deployment, { limit: '100' }), schemas.SubjectTokenPage],
      ['GET /subject-tokens/summary', await manage(deployment, 'GET', '/summary?days=90'), schemas.Summary],
    ] as const) {
      const [method = '', route = ''] = name.split(' ')
      expect(faultsOf(method, route, response), name).to.deep.equal([])
      expect(unreached(schema, response.body), name).to.deep.equal([])
    }
    expect((await show(deployment, id)).body).to.include(granted)
  })
})
