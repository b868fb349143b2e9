/** Client assertions (RFC 7523 §3) and DPoP proofs (RFC 9449 §11.1) are accepted once, however many arrive at the same time. */
import { expect } from 'chai'
import { CompactSign, importJWK } from 'jose'
import type { AdapterFactory } from 'oidc-provider'
import { machineClient } from '../../fixtures/clients.ts'
import { now } from '../../fixtures/clock.ts'
import { DATABASES, type Database, openDatabase } from '../../fixtures/databases.ts'
import { type Deployment, startDeployment } from '../../fixtures/deployment.ts'
import { dpopKey } from '../../fixtures/dpop.ts'
import { form, type HttpResponse, send } from '../../fixtures/http.ts'
import { signingKey } from '../../fixtures/keys.ts'
import { beforeOn } from '../../fixtures/on-database.ts'
import { exchange, type IssuedSubjectToken, issue } from '../../fixtures/requests.ts'
import { unique } from '../../fixtures/unique.ts'
import { createAdapter } from '../../src/sequelize/index.ts'

const KEY = signingKey('ES256', 'client')
const { d: _, ...PUBLIC_KEY } = KEY
const CLIENT = machineClient({
  client_id: 'asserting',
  client_secret: undefined,
  token_endpoint_auth_method: 'private_key_jwt',
  jwks: { keys: [PUBLIC_KEY] },
})

/** Holds this many callers until the last has arrived. */
function meeting(size: number): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let present = 0
  return () => {
    present += 1
    if (present === size) resolve()
    return promise
  }
}

for (const kind of DATABASES) {
  describe(`replays on ${kind}`, () => {
    let database: Database
    /** Deployments of one issuer, each with a pool of its own. */
    let deployments: readonly Deployment[] = []
    /** Where all callers that have looked for a record wait, before any of them writes it. */
    let meet = async () => {}

    const meetingAfterFind =
      (adapter: AdapterFactory): AdapterFactory =>
      (model) => {
        const store = adapter(model)
        if (model !== 'ReplayDetection') return store
        const find = store.find.bind(store)
        return Object.assign(store, {
          find: async (id: string) => {
            const found = await find(id)
            await meet()
            return found
          },
        })
      }

    beforeOn(kind, async () => {
      database = await openDatabase(kind)
      const start = (issuer?: string) =>
        startDeployment({
          database,
          issuer,
          clients: [CLIENT],
          configuration: { adapter: meetingAfterFind(createAdapter(database.connect())) },
        })
      const first = await start()
      deployments = [first, await start(first.issuer)]
    })
    after(async () => {
      for (const deployment of deployments) await deployment.close()
      await database?.close()
    })
    afterEach(() => {
      meet = async () => {}
    })

    const at = (index: number): Deployment => {
      const deployment = deployments[index % deployments.length]
      if (!deployment) throw new Error('not started')
      return deployment
    }

    /** `exp` is text, because JSON can name numbers that `JSON.stringify` does not write. */
    const assertion = async (exp = `${now() + 60}`): Promise<string> => {
      const claims = { iss: 'asserting', sub: 'asserting', aud: at(0).issuer, jti: unique('assertion') }
      const payload = JSON.stringify(claims).replace(/}$/, `,"exp":${exp}}`)
      return new CompactSign(Buffer.from(payload))
        .setProtectedHeader({ alg: 'ES256', kid: 'client' })
        .sign(await importJWK({ ...KEY, key_ops: undefined, x5c: undefined }, 'ES256'))
    }
    const authenticate = (clientAssertion: string, { tokenEndpoint } = at(0)): Promise<HttpResponse> =>
      send(tokenEndpoint, {
        method: 'POST',
        body: form({
          grant_type: 'client_credentials',
          client_assertion: clientAssertion,
          client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        }),
      })
    const expectInvalidClient = ({ status, body, text }: HttpResponse) =>
      expect([status, body], text).to.deep.equal([
        401,
        { error: 'invalid_client', error_description: 'client authentication failed' },
      ])
    const expectNoFailures = () => {
      for (const { errors } of deployments) expect(errors).to.deep.equal([])
    }

    describe('a client assertion', () => {
      for (const [title, exp] of [
        ['in whole seconds', () => `${now() + 60}`],
        ['with a fraction of a second', () => `${now() + 60}.5`],
        ['far away', () => '9007199254740000'],
      ] as const) {
        it(`whose exp is ${title} is accepted once`, async () => {
          const once = await assertion(exp())
          const response = await authenticate(once)
          expect(response.status, response.text).to.equal(200)
          expectInvalidClient(await authenticate(once))
          expectNoFailures()
        })
      }

      for (const exp of ['1e400', '1e300', '9007199254740992']) {
        it(`whose exp is ${exp} is refused every time`, async () => {
          const never = await assertion(exp)
          for (let time = 0; time < 2; time += 1) expectInvalidClient(await authenticate(never))
          expectNoFailures()
        })
      }

      it('that arrives ten times at once, at two processes, is accepted once', async () => {
        for (let round = 0; round < 5; round += 1) {
          meet = meeting(10)
          const once = await assertion()
          const responses = await Promise.all(
            Array.from({ length: 10 }, (_, index) => authenticate(once, at(index))),
          )
          const refused = responses.filter(({ status }) => status !== 200)
          expect(refused).to.have.length(9)
          for (const response of refused) expectInvalidClient(response)
          expectNoFailures()
        }
      })
    })

    describe('a DPoP proof', () => {
      it('that arrives with eight subject tokens at once is accepted once, and spends one', async () => {
        const deployment = at(0)
        const key = await dpopKey()
        for (let round = 0; round < 3; round += 1) {
          const proof = await key.proof(deployment)
          const issued: IssuedSubjectToken[] = []
          while (issued.length < 8) issued.push(await issue(deployment))
          meet = meeting(8)
          const attempts = await Promise.all(
            issued.map(async ({ subjectToken }) => ({
              subjectToken,
              response: await exchange(
                deployment,
                { subject_token: subjectToken },
                { headers: { dpop: proof } },
              ),
            })),
          )
          const refused = attempts.filter(({ response }) => response.status !== 200)
          expect(refused).to.have.length(7)
          for (const { response, subjectToken } of refused) {
            // The way the token endpoint of the provider refuses a proof that it has seen before.
            expect([response.status, response.body], response.text).to.deep.equal([
              400,
              { error: 'invalid_grant', error_description: 'grant request is invalid' },
            ])
            expect((await exchange(deployment, { subject_token: subjectToken })).status).to.equal(200)
          }
          expectNoFailures()
        }
      })
    })
  })
}
