/** What an introspection response must say (RFC 7662 §2.2), and what the request for it carries. */
import { expect } from 'chai'
import { type StoppedClock, stopClock } from '../../../fixtures/clock.ts'
import { Refused } from '../src/errors.ts'
import { introspector } from '../src/introspection.ts'
import { resolveOptions } from '../src/options.ts'

const ISSUER = 'https://id.example.com'
const AUDIENCE = 'https://api.example.com'
const SECOND = Date.UTC(2026, 10, 22) / 1000
const VALID = { active: true, token_type: 'Bearer', aud: AUDIENCE, exp: SECOND + 600 }

/** What is made of a response, and the Authorization headers that were sent. */
async function introspect(text: string, { clockTolerance = 0, clientSecret = 'secret' } = {}) {
  const sent: (string | undefined)[] = []
  const options = resolveOptions({
    issuer: ISSUER,
    audience: AUDIENCE,
    clockTolerance,
    introspection: { clientId: 'api:1', clientSecret },
  })
  const issuer = {
    keyOf: () => Promise.reject(new Error('not called')),
    introspectionEndpoint: async () => `${ISSUER}/introspection`,
  }
  const ask = introspector(options, issuer, async ({ form }) => {
    sent.push(form?.authorization)
    return text
  })
  const told: unknown = await ask('a-token').catch((error: unknown) =>
    error instanceof Refused ? error.message : error,
  )
  return { told, sent }
}

const told = async (changes: object, clockTolerance = 0): Promise<unknown> =>
  (await introspect(JSON.stringify({ ...VALID, ...changes }), { clockTolerance })).told

describe('resource server: the introspection response', () => {
  let clock: StoppedClock
  before(() => {
    clock = stopClock(SECOND * 1000)
  })
  after(() => clock.restore())

  it('is of an access token, by its whole token_type', async () => {
    for (const token_type of ['Bearer', 'bearer', 'DPoP', 'dpop'])
      expect(await told({ token_type })).to.include({ aud: AUDIENCE })
    for (const token_type of [undefined, '', 'Bearers', 'notbearer', 'N_A', 'dpop '])
      expect(await told({ token_type })).to.equal('not an access token')
  })

  it('is of a token that has not expired, give or take the tolerance', async () => {
    for (const exp of [SECOND - 30, SECOND - 600, undefined, `${SECOND + 600}`])
      expect(await told({ exp }, 30)).to.equal('expired')
    for (const exp of [SECOND - 29, SECOND + 1]) expect(await told({ exp }, 30)).to.include({ exp })
  })

  it('is of a token that is valid already, give or take the tolerance', async () => {
    for (const nbf of [SECOND + 31, `${SECOND - 60}`, null, {}])
      expect(await told({ nbf }, 30)).to.equal('not yet valid')
    for (const nbf of [SECOND - 60, SECOND, SECOND + 30]) expect(await told({ nbf }, 30)).to.include({ nbf })
    expect(await told({ nbf: SECOND - 1 })).to.include({ nbf: SECOND - 1 })
  })

  it('is named if it holds anything but a JSON object', async () => {
    expect((await introspect('[]')).told).to.have.property('reason', 'introspection: not a JSON object')
  })

  it('is asked for with id and secret, both form-encoded first (RFC 6749 §2.3.1)', async () => {
    const { sent } = await introspect(JSON.stringify(VALID), { clientSecret: 'a b:é' })
    expect(sent).to.deep.equal([`Basic ${btoa('api%3A1:a+b%3A%C3%A9')}`])
  })
})
