/** The pages of the console: whatever is asked, a page or a refusal, without markup of the caller. */
import { expect } from 'chai'
import fc from 'fast-check'
import type { HttpResponse } from '../../fixtures/http.ts'
import { defineGroup } from '../group.ts'
import { expectResponse } from '../oracles.ts'
import type { World } from '../world.ts'
import { prepare } from './prepared.ts'
import { encode, encodePairs, fill, headerValue, pairs, value } from './values.ts'

const FIELDS = [
  'userId',
  'actorId',
  'clientId',
  'createdBy',
  'state',
  'from',
  'to',
  'cursor',
  'skipped',
  'show',
  'stopped',
  'q',
  'replayedAt',
  'note',
  'id',
  'reason',
  'confirm',
]
const STATUSES = [200, 303, 400, 403, 404, 405, 409, 413, 415]

/** What leaves room in the 16 KiB of a head that Node reads. A longer one does not get as far as the console. */
const MAX_SEARCH = 12 * 1024

const path = fc.oneof(
  {
    arbitrary: fc.constantFrom(
      '',
      '/history',
      '/history.csv',
      '/alarms',
      '/search',
      '/stop',
      '/acknowledge',
      '/stop-all',
      '/{id}',
    ),
    weight: 9,
  },
  { arbitrary: value.map((text) => `/${encode(text)}`), weight: 1 },
)
const stopping = fc.constant<[string, string][]>([
  ['id', '{id}'],
  ['reason', 'fuzz'],
])
const headers = fc.dictionary(
  fc.constantFrom('sec-fetch-site', 'origin', 'content-type', 'accept-language'),
  fc.oneof(headerValue, fc.constantFrom('same-origin', 'cross-site', 'none')),
  { maxKeys: 2 },
)
const requests = fc.array(
  fc.record({
    method: fc.constantFrom('GET', 'GET', 'GET', 'POST', 'POST', 'HEAD', 'PUT'),
    path,
    query: pairs(FIELDS),
    form: fc.oneof({ arbitrary: pairs(FIELDS), weight: 4 }, { arbitrary: stopping, weight: 1 }),
    headers: fc.oneof(
      { arbitrary: fc.constant({ 'sec-fetch-site': 'same-origin' }), weight: 4 },
      { arbitrary: headers, weight: 1 },
    ),
  }),
  { minLength: 1, maxLength: 12 },
)
type Request = typeof requests extends fc.Arbitrary<readonly (infer One)[]> ? One : never

export const pages = defineGroup('console', requests, async (world: World, all: readonly Request[]) => {
  const { walk, ...prepared } = await prepare(world, '')
  // Pages repeat what was typed, also a token that someone typed where none belongs.
  const filled = { ...prepared.filled, '{subject}': '', '{actor}': '', '{received}': '', '{management}': '' }
  for (const { method, path, query, form, headers } of all) {
    const search = query.length > 0 ? `?${encodePairs(query, filled)}` : ''
    if (search.length > MAX_SEARCH) continue
    const response = await world.send(walk.issuer(0), {
      method,
      path: `/impersonations${fill(path, filled)}${search}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      ...(method !== 'GET' && method !== 'HEAD' && { body: encodePairs(form, filled) }),
    })
    expectResponse(world.secrets, response, STATUSES)
    expectNoMarkup(response)
    expect(response.headers.get('content-security-policy')).to.include("default-src 'none'")
  }
})

/** A file may hold any text, as long as no browser takes it for a page. */
function expectNoMarkup({ text, headers }: HttpResponse): void {
  expect(headers.get('x-content-type-options')).to.equal('nosniff')
  if (!headers.get('content-type')?.startsWith('text/csv'))
    return void expect(text, 'markup of the caller').not.to.include('<x-fuzz')
  expect(headers.get('content-disposition')).to.match(/^attachment;/)
}
