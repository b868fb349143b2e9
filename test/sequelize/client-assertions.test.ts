/** Client assertions (RFC 7523 §3, `private_key_jwt`): whatever `exp` one names, it is accepted once or not at all. */
import { expect } from 'chai'
import { CompactSign, importJWK } from 'jose'
import { machineClient } from '../../fixtures/clients.ts'
import { DATABASES, type Database, isAvailable, openDatabase } from '../../fixtures/databases.ts'
import { type Deployment, startDeployment } from '../../fixtures/deployment.ts'
import { signingKey } from '../../fixtures/keys.ts'
import { type Answer, form, now, send, unique } from '../../fixtures/requests.ts'

const KEY = signingKey('ES256', 'client')
const { d: _, ...PUBLIC_KEY } = KEY
const CLIENT = machineClient({
  client_id: 'asserting',
  client_secret: undefined,
  token_endpoint_auth_method: 'private_key_jwt',
  jwks: { keys: [PUBLIC_KEY] },
})

for (const kind of DATABASES) {
  describe(`client assertions on ${kind}`, () => {
    let database: Database
    let deployment: Deployment
    before(async function () {
      if (!(await isAvailable(kind))) this.skip()
      database = await openDatabase(kind)
      deployment = await startDeployment({ database, clients: [CLIENT] })
    })
    after(async () => {
      await deployment?.close()
      await database?.close()
    })

    /** `exp` is text, because JSON can name numbers that `JSON.stringify` does not write. */
    const assertion = async (exp: string): Promise<string> => {
      const claims = { iss: 'asserting', sub: 'asserting', aud: deployment.issuer, jti: unique('assertion') }
      const payload = JSON.stringify(claims).replace(/}$/, `,"exp":${exp}}`)
      return new CompactSign(Buffer.from(payload))
        .setProtectedHeader({ alg: 'ES256', kid: 'client' })
        .sign(await importJWK({ ...KEY, key_ops: undefined, x5c: undefined }, 'ES256'))
    }
    const authenticate = (clientAssertion: string): Promise<Answer> =>
      send(deployment.tokenEndpoint, {
        method: 'POST',
        body: form({
          grant_type: 'client_credentials',
          client_assertion: clientAssertion,
          client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        }),
      })
    const expectRefused = (answer: Answer) =>
      expect([answer.status, answer.body.error], answer.text).to.deep.equal([401, 'invalid_client'])

    for (const [title, exp] of [
      ['in whole seconds', () => `${now() + 60}`],
      ['with a fraction of a second', () => `${now() + 60}.5`],
      ['far away', () => '9007199254740000'],
    ] as const) {
      it(`one whose exp is ${title} is accepted once`, async () => {
        const once = await assertion(exp())
        const answer = await authenticate(once)
        expect(answer.status, answer.text).to.equal(200)
        expectRefused(await authenticate(once))
      })
    }

    for (const exp of ['1e400', '1e300', '9007199254740992']) {
      it(`one whose exp is ${exp} is refused every time`, async () => {
        const never = await assertion(exp)
        for (let time = 0; time < 2; time += 1) expectRefused(await authenticate(never))
        expect(deployment.errors).to.deep.equal([])
      })
    }
  })
}
