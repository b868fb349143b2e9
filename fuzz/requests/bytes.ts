/** Requests whose bytes are damaged on their way: a response or an end of the connection, and nothing worse. */
import { expect } from 'chai'
import fc from 'fast-check'
import { API } from '../../fixtures/deployment.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../src/constants.ts'
import { defineGroup } from '../group.ts'
import { expectNoSecret } from '../oracles.ts'
import { bytesOf } from '../wire.ts'
import type { World } from '../world.ts'
import { prepare } from './prepared.ts'
import { fill } from './values.ts'

const EXCHANGE = new URLSearchParams({
  grant_type: TOKEN_EXCHANGE,
  client_id: 'spa',
  subject_token: '{subject}',
  subject_token_type: ACCESS_TOKEN_TYPE,
  resource: API,
}).toString()
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const JSON_BY = { authorization: 'Bearer {management}', 'content-type': 'application/json' }

const WHOLE = [
  { method: 'POST', path: '/oidc/token', headers: FORM, body: EXCHANGE },
  { method: 'POST', path: '/oidc/token', headers: FORM, body: EXCHANGE },
  { method: 'POST', path: '/api/subject-tokens', headers: JSON_BY, body: '{"userId":"{user}"}' },
  { method: 'POST', path: '/api/subject-tokens/revocations', headers: JSON_BY, body: '{"id":"00"}' },
  { method: 'GET', path: '/api/subject-tokens?limit=2&createdBy={backend}', headers: JSON_BY },
  { method: 'GET', path: '/api/subject-tokens/{id}', headers: JSON_BY },
  { method: 'GET', path: '/api/status-lists/0', headers: {} },
  { method: 'GET', path: '/impersonations/history?userId={user}', headers: {} },
]
const PIECES = [
  '\r\n',
  '\n',
  '\r\n\r\n',
  '\0',
  '\xff\xfe',
  '%',
  '&',
  '=',
  '"',
  '{',
  'Transfer-Encoding: chunked\r\n',
  'Content-Length: 5\r\n',
  'Content-Length: 99999\r\n',
  'Expect: 100-continue\r\n',
  '0\r\n\r\n',
  'GET / HTTP/1.1\r\n\r\n',
]
const damage = fc.record({
  how: fc.constantFrom('flip', 'insert', 'insert', 'cut', 'double', 'end'),
  /** Where, in thousandths. */
  at: fc.nat(999),
  length: fc.integer({ min: 1, max: 20 }),
  bit: fc.nat(7),
  piece: fc.constantFrom(...PIECES),
})
const requests = fc.array(
  fc.record({ whole: fc.nat(WHOLE.length - 1), damages: fc.array(damage, { minLength: 1, maxLength: 4 }) }),
  { minLength: 1, maxLength: 20 },
)
type Request = typeof requests extends fc.Arbitrary<readonly (infer One)[]> ? One : never

export const bytes = defineGroup('bytes', requests, async (world: World, all: readonly Request[]) => {
  const { walk, filled, exchange } = await prepare(world, '')
  const issuer = walk.issuer(0)
  const outcomes = new Set([200])
  const sendDamaged = async ({ whole, damages }: Request) => {
    const { method, path, headers, body = '' } = WHOLE[whole] ?? { method: 'GET', path: '/', headers: {} }
    const given = Object.entries(headers).map(([name, text]) => [name, fill(text, filled)])
    const request = {
      method,
      path: fill(path, filled),
      headers: Object.fromEntries(given),
      body: body
        .replaceAll(encodeURIComponent('{subject}'), filled['{subject}'])
        .replace('{user}', filled['{user}']),
    }
    const sent = damages.reduce(apply, bytesOf(request, new URL(issuer.deployment.baseUrl).host))
    const response = await world.raw(issuer, sent)
    // Node itself refuses what is no HTTP, also behind a whole request, whose own response is then lost.
    if (!response?.headers.has('content-type')) outcomes.add(400)
    if (!response) return
    expect(response.status, `${sent.toString('latin1')}\n\n${response.text.slice(0, 200)}`).to.be.below(500)
    if (response.body?.issued_token_type !== undefined) {
      outcomes.add(400).delete(200)
      world.secrets.keep(response.body.access_token)
    }
    if (response.status >= 300) expectNoSecret(world.secrets, response)
  }
  // At once, because some are waited for.
  await Promise.all(all.map(sendDamaged))
  // Also of those whose connection was cut, so that their events are not those of the next case.
  await world.settled()
  const { status, text } = await exchange()
  expect([...outcomes], `the subject token afterwards: ${text}`).to.include(status)
})

function apply(bytes: Buffer, { how, at, length, bit, piece }: Request['damages'][number]): Buffer {
  const place = Math.floor((bytes.length * at) / 1000)
  const [before, after] = [bytes.subarray(0, place), bytes.subarray(place)]
  switch (how) {
    case 'flip': {
      const copy = Buffer.from(bytes)
      copy[place] = (copy[place] ?? 0) ^ (1 << bit)
      return copy
    }
    case 'insert':
      return Buffer.concat([before, Buffer.from(piece, 'latin1'), after])
    case 'cut':
      return Buffer.concat([before, after.subarray(length)])
    case 'double':
      return Buffer.concat([before, after.subarray(0, length), after])
    default:
      return before
  }
}
