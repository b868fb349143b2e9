/** Exchanges in which something is changed, at the token endpoint and beside it. */
import { expect } from 'chai'
import fc from 'fast-check'
import { decodeJwt } from 'jose'
import { API } from '../../fixtures/deployment.ts'
import type { HttpResponse } from '../../fixtures/http.ts'
import { BILLING } from '../../fixtures/on-behalf-of.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../src/constants.ts'
import { defineGroup } from '../group.ts'
import { expectError, expectNoSecret } from '../oracles.ts'
import { POSTING_API } from '../setting.ts'
import type { World } from '../world.ts'
import { type Prepared, prepare } from './prepared.ts'
import { encodePairs, fill, headerValue, value } from './values.ts'

const VALID: readonly [string, string][] = [
  ['grant_type', TOKEN_EXCHANGE],
  ['client_id', 'spa'],
  ['subject_token', '{subject}'],
  ['subject_token_type', ACCESS_TOKEN_TYPE],
  ['resource', API],
]
/** By which an API exchanges what it received (docs/protocol.md §8). */
const ON_BEHALF_OF: typeof VALID = [
  ['grant_type', TOKEN_EXCHANGE],
  ['client_id', POSTING_API.client_id],
  ['client_secret', String(POSTING_API.client_secret)],
  ['subject_token', '{received}'],
  ['subject_token_type', ACCESS_TOKEN_TYPE],
  ['resource', BILLING],
]
const NAMES = [
  ...VALID.map(([name]) => name),
  'actor_token',
  'actor_token_type',
  'requested_token_type',
  'scope',
  'audience',
  'authorization_details',
  'client_secret',
  'client_assertion',
  'client_assertion_type',
  'token',
  'code',
]
const name = fc.oneof({ arbitrary: fc.constantFrom(...NAMES), weight: 12 }, { arbitrary: value, weight: 1 })

const change = fc.oneof(
  fc.record({ how: fc.constant('drop' as const), name, value }),
  fc.record({ how: fc.constantFrom('set' as const, 'set' as const, 'add' as const), name, value }),
)
const headers = fc.dictionary(
  fc.constantFrom('authorization', 'content-type', 'dpop', 'accept', 'content-encoding', 'cookie'),
  fc.oneof(
    headerValue,
    headerValue.map((text) => `Bearer ${text}`),
    fc.constantFrom('Basic d2ViOndlYi1zZWNyZXQ=', 'Basic c3Bh', 'application/json', 'text/plain', 'gzip'),
  ),
  { maxKeys: 2 },
)
const seldom = <Value>(usual: Value, odd: fc.Arbitrary<Value>) =>
  fc.oneof({ arbitrary: fc.constant(usual), weight: 9 }, { arbitrary: odd, weight: 1 })

const requests = fc.array(
  fc.record({
    method: seldom('POST', fc.constantFrom('GET', 'PUT', 'DELETE', 'OPTIONS', 'PATCH')),
    path: seldom(
      '/oidc/token',
      fc.constantFrom(
        '/oidc/token/introspection',
        '/oidc/token/revocation',
        '/oidc/token/',
        '/oidc/TOKEN',
        '/oidc/token?resource=x',
        '/oidc/me',
        '/oidc/.well-known/openid-configuration',
      ),
    ),
    headers: seldom<Record<string, string>>({}, headers),
    changes: fc.array(change, { minLength: 1, maxLength: 4 }),
    json: seldom(false, fc.constant(true)),
    onBehalfOf: fc.constantFrom(false, false, true),
  }),
  { minLength: 1, maxLength: 15 },
)
type Request = typeof requests extends fc.Arbitrary<readonly (infer One)[]> ? One : never

export const token = defineGroup('token', requests, async (world: World, all: readonly Request[]) => {
  const prepared = await prepare(world, JSON.stringify([all, ON_BEHALF_OF]))
  let spent = false
  for (const request of all) {
    const response = await send(world, prepared, request)
    judge(world, response)
    spent ||= response.body?.issued_token_type !== undefined && !isByApi(response.body.access_token)
  }
  // What was refused has spent nothing.
  const { status, text } = await prepared.exchange()
  expect(status, `the subject token afterwards: ${text}`).to.equal(spent ? 400 : 200)
})

function send(
  world: World,
  { walk, filled }: Prepared,
  { method, path, headers, changes, json, onBehalfOf }: Request,
) {
  const parameters = changed(onBehalfOf ? ON_BEHALF_OF : VALID, changes)
  const body = json
    ? JSON.stringify(Object.fromEntries(parameters.map(([key, text]) => [key, fill(text, filled)])))
    : encodePairs(parameters, filled)
  const given = Object.entries(headers).map(([key, text]) => [key, fill(text, filled)])
  return world.send(walk.issuer(0), {
    method,
    path,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...Object.fromEntries(given) },
    ...(method !== 'GET' && { body }),
  })
}

function changed(whole: typeof VALID, changes: Request['changes']): [string, string][] {
  let parameters = whole.map(([key, text]): [string, string] => [key, text])
  for (const { how, name: key, value: text } of changes) {
    if (how !== 'add') parameters = parameters.filter(([other]) => other !== key)
    if (how !== 'drop') parameters.push([key, text])
  }
  return parameters
}

/** Whether an API is the newest actor: what it exchanged is not spent. */
const isByApi = (token: string): boolean =>
  token.includes('.') && Object(decodeJwt(token).act).client_id === POSTING_API.client_id

/** Nothing that a client sends is an error of the server. */
function judge({ secrets }: World, response: HttpResponse): void {
  const { status, text, body, headers } = response
  expect(status, text.slice(0, 300)).to.be.within(200, 499)
  if (body?.access_token !== undefined) {
    expect(status).to.equal(200)
    expect(headers.get('cache-control')).to.equal('no-store')
    secrets.keep(body.access_token)
    return
  }
  expectNoSecret(secrets, response)
  if (status >= 400 && headers.get('content-type')?.startsWith('application/json')) expectError(response)
}
