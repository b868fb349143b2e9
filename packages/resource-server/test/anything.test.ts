/** Whatever comes, signed or not: a caller, a refusal or an outage, and never an error that no API can send. */
import { expect } from 'chai'
import fc from 'fast-check'
import { now } from '../../../fixtures/clock.ts'
import { claimsOf, INTROSPECTION, respondJson, signAnything, withBearer } from './issuer.ts'
import { refusalOf } from './refusals.ts'
import { useIssuer } from './stopped-issuer.ts'

/** Holds for whatever comes of this. */
const holds = <Value>(
  values: fc.Arbitrary<Value>,
  property: (value: Value) => Promise<void>,
  numRuns = 300,
) => fc.assert(fc.asyncProperty(values, property), { numRuns })

/** A JSON value, and the members that matter more often than chance would have them. */
const json = fc.jsonValue({ maxDepth: 4 })
const claims = fc.dictionary(
  fc.constantFrom(...Object.keys(claimsOf('')), 'nbf', 'act', 'cnf', 'status'),
  fc.oneof(json, fc.record({ sub: json, client_id: json, act: json }, { requiredKeys: [] })),
)

describe('resource server: anything', () => {
  const { issuer, verify } = useIssuer({ introspection: { clientId: 'api', clientSecret: 'secret' } })

  /** The status that an API would send. */
  const statusOf = (headers: Record<string, string>): Promise<number> =>
    verify({ method: 'GET', url: '/orders', headers: { host: 'api.example.com', ...headers } }).then(
      () => 200,
      async (error) => (await refusalOf(Promise.reject(error))).status,
    )
  const bearer = (token: string) => statusOf({ authorization: `Bearer ${token}` })

  it('is refused or understood as a signed payload', () =>
    holds(claims, async (changes) => {
      const payload = JSON.stringify({ ...claimsOf(issuer.issuer), ...changes })
      expect(await bearer(signAnything({}, payload))).to.be.oneOf([200, 401])
    }))

  const header = fc.dictionary(fc.constantFrom('alg', 'kid', 'typ', 'crit', 'b64', 'jwk', 'zip', 'cty'), json)
  it('is refused or understood as a signed header', () =>
    holds(header, async (changes) => {
      const payload = JSON.stringify(claimsOf(issuer.issuer))
      expect(await bearer(signAnything(changes, payload))).to.be.oneOf([200, 401])
    }))

  const headers = fc.record({
    authorization: fc
      .tuple(fc.constantFrom('', 'Bearer ', 'DPoP '), fc.string())
      .map((parts) => parts.join('')),
    dpop: fc.string(),
  })
  it('is refused as headers of a request', async () => {
    issuer.introspects({ active: false })
    await holds(headers, async (given) => {
      expect(await statusOf(given)).to.equal(401)
    })
  })

  it('is refused, understood or an outage as a response of the provider', async () => {
    const isJudged = async () => expect(await bearer('opaque')).to.be.oneOf([200, 401, 503])
    await holds(json, async (body) => {
      issuer.routes.set(INTROSPECTION, (_, response) => respondJson(response, body))
      await isJudged()
    })
    await holds(claims, async (changes) => {
      issuer.introspects(changes)
      await isJudged()
    })
  })

  it('is an outage or understood as a status list', async () => {
    const status_list = fc.record({
      bits: fc.oneof(json, fc.constantFrom(1, 2, 4, 8)),
      lst: fc.oneof(json, fc.base64String()),
    })
    const list = fc.record(
      { status_list: fc.oneof(json, status_list), ttl: json, iat: json, exp: json },
      { requiredKeys: [] },
    )
    const ids = { iss: issuer.issuer, sub: `${issuer.base}/0` }
    const isRefused = async (changes: object) => {
      issuer.clock.tick(1)
      const claimed = { ...ids, iat: now(), exp: now() + 1, ttl: 1, ...changes }
      issuer.lists.set(0, signAnything({ typ: 'statuslist+jwt' }, JSON.stringify(claimed)))
      const refusal = await refusalOf(issuer.verifier()(withBearer(await issuer.tokenWithStatus(0))))
      expect(refusal.status).to.be.oneOf([401, 503])
    }
    await holds(list, isRefused, 100)
  })
})
