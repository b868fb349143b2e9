/** The management API and the status lists: every route, with fields, queries and credentials of every kind. */
import { expect } from 'chai'
import fc from 'fast-check'
import type { HttpResponse } from '../../fixtures/http.ts'
import { description } from '../../fixtures/openapi.ts'
import { defineGroup } from '../group.ts'
import { expectNoSecret } from '../oracles.ts'
import type { World } from '../world.ts'
import { type Prepared, prepare } from './prepared.ts'
import { encode, encodePairs, fill, headerValue, pairs, value } from './values.ts'

const FIELDS = [
  'userId',
  'context',
  'clientId',
  'actorId',
  'resource',
  'scope',
  'expiresIn',
  'id',
  'createdBy',
  'by',
  'reason',
  'note',
  'replayedAt',
]
const QUERY = [
  'userId',
  'actorId',
  'clientId',
  'createdBy',
  'state',
  'live',
  'replayed',
  'withoutActor',
  'unacknowledged',
  'ticketId',
  'jti',
  'createdAfter',
  'createdBefore',
  'limit',
  'cursor',
  'days',
  'time',
]
const field = fc.oneof(
  { arbitrary: value, weight: 4 },
  {
    arbitrary: fc.constantFrom<unknown>(1, 600, 0, 3601, 1.5, null, true, {}, [], { reason: 'asked' }),
    weight: 2,
  },
  { arbitrary: fc.jsonValue(), weight: 1 },
)
const object = fc.dictionary(
  fc.oneof({ arbitrary: fc.constantFrom(...FIELDS), weight: 9 }, { arbitrary: value, weight: 1 }),
  field,
  { maxKeys: 4 },
)
const body = fc.oneof(
  { arbitrary: object.map((given) => JSON.stringify({ userId: '{user}', ...given })), weight: 5 },
  { arbitrary: object.map((given) => JSON.stringify(given)), weight: 3 },
  {
    arbitrary: fc.constantFrom(
      '{"id":"{id}"}',
      '{"userId":"{user}","reason":"x"}',
      '{"by":"x","note":"x"}',
      '{"by":"x","note":"x","replayedAt":null}',
    ),
    weight: 1,
  },
  {
    arbitrary: fc.oneof(
      fc.json(),
      value,
      fc.constant('['.repeat(5000)),
      fc.constant(`"${'z'.repeat(70_000)}"`),
    ),
    weight: 1,
  },
)
const segment = fc.oneof(
  fc.constantFrom(
    '{id}',
    '{id}',
    'summary',
    'revocations',
    '0',
    '1',
    '00',
    '%30',
    '99999999999999999999',
    'f'.repeat(32),
  ),
  value.map(encode),
)
const path = fc.oneof(
  {
    arbitrary: fc.constantFrom('/subject-tokens', '/subject-tokens/summary', '/subject-tokens/revocations'),
    weight: 5,
  },
  { arbitrary: segment.map((text) => `/subject-tokens/${text}`), weight: 4 },
  { arbitrary: segment.map((text) => `/subject-tokens/${text}/acknowledgement`), weight: 2 },
  { arbitrary: segment.map((text) => `/status-lists/${text}`), weight: 2 },
  {
    arbitrary: fc.constantFrom(
      '/subject-tokens/',
      '/Subject-Tokens',
      '/status-lists',
      '//subject-tokens',
      '',
    ),
    weight: 1,
  },
)
const authorization = fc.oneof(
  { arbitrary: fc.constant('Bearer {management}'), weight: 9 },
  {
    arbitrary: fc.constantFrom(
      '',
      'Bearer {actor}',
      'bearer {management}',
      'DPoP {management}',
      'Bearer {subject}',
    ),
    weight: 1,
  },
  { arbitrary: headerValue, weight: 1 },
)
const headers = fc.dictionary(
  fc.constantFrom('content-type', 'accept', 'content-encoding', 'if-none-match', 'origin', 'cache-control'),
  fc.oneof(
    headerValue,
    fc.constantFrom('application/json; charset=latin1', 'text/plain', 'gzip', '*/*', '*'),
  ),
  { maxKeys: 1 },
)
const requests = fc.array(
  fc.record({
    method: fc.constantFrom('GET', 'GET', 'GET', 'POST', 'POST', 'POST', 'DELETE', 'HEAD', 'PUT', 'OPTIONS'),
    path,
    query: fc.oneof({ arbitrary: fc.constant([]), weight: 1 }, { arbitrary: pairs(QUERY), weight: 1 }),
    authorization,
    headers: fc.oneof({ arbitrary: fc.constant({}), weight: 4 }, { arbitrary: headers, weight: 1 }),
    body,
  }),
  { minLength: 1, maxLength: 20 },
)
type Request = typeof requests extends fc.Arbitrary<readonly (infer One)[]> ? One : never

const api = description()

export const management = defineGroup(
  'management',
  requests,
  async (world: World, all: readonly Request[]) => {
    const prepared = await prepare(world, JSON.stringify(all))
    let issued = 1
    for (const request of all) {
      const text = fill(withoutTokens(request.body), prepared.filled)
      const response = await send(world, prepared, request, text)
      judge(world, request, response)
      if (response.status !== 201) continue
      issued += 1
      expect(
        api.schemaFaults('#/components/schemas/SubjectTokenRequest', JSON.parse(text)),
        text,
      ).to.deep.equal([])
      world.secrets.keep(response.body.subjectToken)
    }
    // What was refused has written nothing.
    const query = `?createdBy=${prepared.lane.backend.client_id}`
    const { body } = await prepared.walk.manage(prepared.lane, 0, { method: 'GET', path: query })
    expect(body.items, 'the records of the backend').to.have.lengthOf(issued)
  },
)

function send(
  world: World,
  { walk, filled }: Prepared,
  request: Request,
  body: string,
): Promise<HttpResponse> {
  const { method, path, query, authorization, headers } = request
  const search = query.length > 0 ? `?${encodePairs(query, filled)}` : ''
  return world.send(walk.issuer(0), {
    method,
    path: `/api${fill(path, filled)}${search}`,
    headers: {
      ...(authorization !== '' && { authorization: fill(authorization, filled) }),
      ...(method === 'POST' && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(method !== 'GET' && method !== 'HEAD' && { body }),
  })
}

/** What a backend writes into a record, it reads there again: a token as the value of a field says nothing. */
const withoutTokens = (body: string): string =>
  body.replaceAll(/:"\{(?:subject|actor|received|management)\}"/g, ':"x"')

const ROUTES: readonly [RegExp, string][] = [
  [/^\/subject-tokens$/, '/subject-tokens'],
  [/^\/subject-tokens\/summary$/, '/subject-tokens/summary'],
  [/^\/subject-tokens\/revocations$/, '/subject-tokens/revocations'],
  [/^\/subject-tokens\/[^/]+$/, '/subject-tokens/{id}'],
  [/^\/subject-tokens\/[^/]+\/acknowledgement$/, '/subject-tokens/{id}/acknowledgement'],
  [/^\/status-lists\/[^/]+$/, '/status-lists/{m}'],
]

/** A response is one that openapi.json describes; other paths are the host's. */
function judge({ secrets }: World, { method, path }: Request, response: HttpResponse): void {
  const { status, text } = response
  const [, route] = ROUTES.find(([pattern]) => pattern.test(path)) ?? []
  if (status !== 201) expectNoSecret(secrets, response)
  if (route === undefined) return void expect(status, text.slice(0, 200)).to.equal(404)
  const described = method === 'HEAD' ? { ...response, text: '' } : response
  if (status !== 501) expect(status, text.slice(0, 200)).to.be.below(500)
  if (method === 'HEAD' || method === 'OPTIONS') return
  expect(api.faultsOf(method, route, described), `${status} ${text.slice(0, 200)}`).to.deep.equal([])
}
