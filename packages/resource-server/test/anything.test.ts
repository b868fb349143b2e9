/** Whatever comes, signed or not: a caller, a refusal or an outage, and never an error that no API can send. */
import { expect } from 'chai'
import fc from 'fast-check'
import {
  AUDIENCE,
  claimsOf,
  INTROSPECTION,
  LIST,
  respond,
  respondJson,
  signAnything,
  withBearer,
} from './issuer.ts'
import { refusalOf } from './refusals.ts'
import { useIssuer } from './stopped-issuer.ts'

const RUNS = { numRuns: 300 }
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

  it('is refused or understood as a signed payload', async () => {
    await fc.assert(
      fc.asyncProperty(claims, async (changes) => {
        const payload = JSON.stringify({ ...claimsOf(issuer.issuer), ...changes })
        expect(await bearer(signAnything({}, payload))).to.be.oneOf([200, 401])
      }),
      RUNS,
    )
  })

  it('is refused or understood as a signed header', async () => {
    const header = fc.dictionary(
      fc.constantFrom('alg', 'kid', 'typ', 'crit', 'b64', 'jwk', 'zip', 'cty'),
      json,
    )
    await fc.assert(
      fc.asyncProperty(header, async (changes) => {
        const payload = JSON.stringify(claimsOf(issuer.issuer))
        expect(await bearer(signAnything(changes, payload))).to.be.oneOf([200, 401])
      }),
      RUNS,
    )
  })

  it('is refused as headers of a request', async () => {
    const text = fc.oneof(
      fc.string(),
      fc.string().map((rest) => `Bearer ${rest}`),
      fc.string().map((rest) => `DPoP ${rest}`),
    )
    issuer.routes.set(INTROSPECTION, (_, response) => respondJson(response, { active: false }))
    await fc.assert(
      fc.asyncProperty(text, fc.string(), async (authorization, dpop) => {
        expect(await statusOf({ authorization, dpop })).to.equal(401)
      }),
      RUNS,
    )
  })

  it('is refused, understood or an outage as a response of the provider', async () => {
    const active = () => ({ ...claimsOf(issuer.issuer), active: true, token_type: 'Bearer', aud: AUDIENCE })
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          json,
          claims.map((changes) => ({ ...active(), ...changes })),
        ),
        async (body) => {
          issuer.routes.set(INTROSPECTION, (_, response) => respondJson(response, body))
          expect(await bearer('opaque')).to.be.oneOf([200, 401, 503])
        },
      ),
      RUNS,
    )
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
    await fc.assert(
      fc.asyncProperty(list, async (changes) => {
        issuer.clock.tick(1)
        const iat = Math.floor(Date.now() / 1000)
        const claimed = { ...ids, iat, exp: iat + 1, ttl: 1, ...changes }
        issuer.routes.set(LIST, (_, response) =>
          respond(response, signAnything({ typ: 'statuslist+jwt' }, JSON.stringify(claimed))),
        )
        const own = issuer.verifier()
        const token = await issuer.tokenWithStatus(0, { iat, exp: iat + 60 })
        expect((await refusalOf(own(withBearer(token)))).status).to.be.oneOf([401, 503])
      }),
      { numRuns: 100 },
    )
  })
})
