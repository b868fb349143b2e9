/** What a caller wrote appears in no event, `error_detail` or log (protocol.md §6): errors are named by their code. */
import { inspect } from 'node:util'
import { expect } from 'chai'
import { type Configuration, errors } from 'oidc-provider'
import { ConnectionAcquireTimeoutError, DatabaseError } from 'sequelize'
import { actorJwt, withActor } from '../../fixtures/actor-tokens.ts'
import { machineClient, publicClient, storedModels, webClient } from '../../fixtures/clients.ts'
import { openDatabase } from '../../fixtures/databases.ts'
import { type Deployment, startDeployment, withDeployment } from '../../fixtures/deployment.ts'
import { dpopKey } from '../../fixtures/dpop.ts'
import type { Parameters } from '../../fixtures/http.ts'
import { manage } from '../../fixtures/management.ts'
import { exchange, issue, managementToken } from '../../fixtures/requests.ts'
import { storageUnavailable } from '../../src/outage.ts'
import { reasonOf } from '../../src/refusals.ts'
import { createPostgres } from '../../src/sequelize/database/postgres/driver.ts'
import { storageError } from '../../src/sequelize/database/storage-error.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { onlyEvent } from './refusals.ts'

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** The token with a critical header that no one knows. The library's message quotes its name. */
function withCriticalHeader(jwt: string, name: string): string {
  const [header = '', ...rest] = jwt.split('.')
  const members = JSON.parse(Buffer.from(header, 'base64url').toString())
  return [encode({ ...members, crit: [name], [name]: name }), ...rest].join('.')
}

/** A header name that contains a valid token and starts a new line in a log. */
const hostile = (secret: string) => `x\r\n2026-11-21 admin signed in ${secret}`

/** What oidc-provider passes to listeners that log its errors. */
function recordProviderErrors({ provider }: Deployment): unknown[] {
  const recorded: unknown[] = []
  provider.on('grant.error', (_ctx, error) => recorded.push(error))
  return recorded
}

const everything = (value: unknown) =>
  inspect(value, { depth: Number.POSITIVE_INFINITY, showHidden: true, maxStringLength: null })

describe('token exchange: what the caller wrote', () => {
  let deployment: Deployment
  let providerErrors: unknown[]
  before(async () => {
    deployment = await startDeployment()
    providerErrors = recordProviderErrors(deployment)
  })
  after(() => deployment.close())

  /** Sends a request that is refused; returns the reason that the operator reads. */
  const reasonFor = async (
    request: (secret: string) => Promise<{ parameters?: Parameters; headers?: Record<string, string> }>,
  ): Promise<string> => {
    const { subjectToken } = await issue(deployment)
    const [events, logged] = [deployment.events.length, providerErrors.length]
    const { parameters, headers } = await request(subjectToken)
    const response = await exchange(deployment, { subject_token: subjectToken, ...parameters }, { headers })
    expect(response.status, response.text).to.equal(400)
    expect(response.text).not.to.include(subjectToken)
    expect(providerErrors.length).to.equal(logged + 1)
    expectUnquoted([deployment.events.slice(events), providerErrors.slice(logged)], subjectToken)
    expect((await exchange(deployment, { subject_token: subjectToken })).status).to.equal(200)
    return String(Reflect.get(Object(deployment.events[events]?.payload), 'reason'))
  }

  const expectUnquoted = (value: unknown, secret: string) => {
    expect(everything(value)).not.to.include(secret)
    expect(everything(value)).not.to.include('signed in')
  }

  it('in the header of an actor token is not quoted', async () => {
    const reason = await reasonFor(async (secret) => ({
      parameters: withActor(withCriticalHeader(await actorJwt(deployment), hostile(secret))),
    }))
    expect(reason).to.equal('ERR_JOSE_NOT_SUPPORTED')
  })

  it('in the header of a DPoP proof is not quoted', async () => {
    const key = await dpopKey()
    const reason = await reasonFor(async (secret) => ({
      headers: { dpop: withCriticalHeader(await key.proof(deployment), hostile(secret)) },
    }))
    expect(reason).to.equal('ERR_JOSE_NOT_SUPPORTED')
  })

  it('is not quoted in the names of a bad signature, an expired token and a wrong type', async () => {
    const named: [code: string, token: string][] = [
      ['ERR_JWS_SIGNATURE_VERIFICATION_FAILED', (await actorJwt(deployment)).replace(/.{8}$/, 'AAAAAAAA')],
      ['ERR_JWT_EXPIRED', await actorJwt(deployment, { exp: 1 })],
      ['ERR_JWT_CLAIM_VALIDATION_FAILED', await actorJwt(deployment, {}, { header: { typ: 'JWT' } })],
      ['ERR_JWS_INVALID', 'a.b.c'],
    ]
    for (const [code, token] of named) {
      expect(await reasonFor(async () => ({ parameters: withActor(token) }))).to.equal(code)
    }
  })

  it("keeps the provider's own words about a proof", async () => {
    const key = await dpopKey()
    const reason = await reasonFor(async () => ({
      headers: { dpop: await key.proof(deployment, { htm: 'GET' }) },
    }))
    expect(reason).to.equal('DPoP proof htm mismatch')
  })

  it('in the header of a management token is not quoted', async () => {
    const { subjectToken } = await issue(deployment)
    const events = deployment.events.length
    const token = withCriticalHeader(await managementToken(deployment), hostile(subjectToken))
    const response = await manage(deployment, 'GET', '', { token })
    expect(response.status).to.equal(401)
    expect(response.text).not.to.include(subjectToken)
    expect(deployment.events.slice(events)).to.deep.equal([])
    expect(deployment.errors).to.deep.equal([])
  })
})

describe('token exchange: the message of a foreign error', () => {
  const quoting = (value: unknown) => `unknown: ${String(value)}\nadmin signed in`

  /** Fails at one of the deployment's own functions, with a message that quotes what it was called with. */
  const fails: [
    title: string,
    name: string,
    configuration: Configuration,
    changes: (secret: string) => Parameters,
  ][] = [
    [
      'of findAccount',
      'Error',
      {
        async findAccount(ctx, id) {
          if (ctx.oidc.route === 'token') throw new Error(quoting(ctx.oidc.params?.subject_token))
          return { accountId: id, claims: () => ({ sub: id }) }
        },
      },
      () => ({}),
    ],
    [
      'of getResourceServerInfo',
      'InvalidTarget',
      {
        features: {
          resourceIndicators: {
            enabled: true,
            getResourceServerInfo(_ctx, resource) {
              throw new errors.InvalidTarget(quoting(resource))
            },
          },
        },
      },
      (secret) => ({ resource: `https://api.example.com/${secret}` }),
    ],
    [
      'of the adapter',
      'E_ADAPTER',
      {
        adapter: (model) => ({
          ...storedModels().adapter(model),
          find: (id) => Promise.reject(Object.assign(new Error(quoting(id)), { code: 'E_ADAPTER' })),
        }),
      },
      (secret) => withActor(secret),
    ],
    [
      'with a code that quotes',
      'Error',
      {
        async findAccount(ctx, id) {
          const quoted = { code: ctx.oidc.params?.subject_token, name: quoting(id) }
          if (ctx.oidc.route === 'token') throw Object.assign(new Error('private'), quoted)
          return { accountId: id, claims: () => ({ sub: id }) }
        },
      },
      () => ({}),
    ],
  ]
  for (const [title, name, configuration, changes] of fails) {
    it(`${title} is in no event`, () =>
      withDeployment({ configuration }, async (deployment) => {
        const { subjectToken } = await issue(deployment)
        await exchange(deployment, { subject_token: subjectToken, ...changes(subjectToken) })
        const event = onlyEvent(deployment, 'subject_token.refused')
        expect(event.reason).to.equal(name)
        expect(everything(event)).not.to.include('signed in')
        expect(everything(event)).not.to.include(subjectToken)
      }))
  }

  it('of a store is in no event and no error_detail', async () => {
    const database = await openDatabase('sqlite')
    const store = {
      ...createSubjectTokenStore(database.sequelize),
      find: (_issuer: string, id: string) =>
        Promise.reject(Object.assign(new Error(quoting(id)), { code: 'E_STORE' })),
    }
    try {
      await withDeployment({ database, options: { store } }, async (deployment) => {
        const providerErrors = recordProviderErrors(deployment)
        const { subjectToken } = await issue(deployment)
        const response = await exchange(deployment, { subject_token: subjectToken })
        expect(response.status, response.text).to.equal(503)
        expect(onlyEvent(deployment, 'subject_token.refused').reason).to.equal('E_STORE')
        expect(providerErrors[0]).to.have.property('error_detail', 'E_STORE')
        expect(everything([deployment.events, providerErrors])).not.to.include('signed in')
      })
    } finally {
      await database.close()
    }
  })

  it("of Sequelize is not needed: the operator reads the driver's code, else the class", () => {
    const timeout = new ConnectionAcquireTimeoutError(new Error('Operation timeout'))
    const refused = new DatabaseError(Object.assign(new Error(quoting('a row')), { code: '22021', sql: '' }))
    const reasons = [timeout, refused].map((error) =>
      reasonOf(
        storageUnavailable(
          storageError(
            error,
            createPostgres(() => {}),
          ),
        ),
      ),
    )
    expect(reasons).to.deep.equal(['SequelizeConnectionAcquireTimeoutError', '22021'])
  })

  it('of the adapter is in no error of the management API', async () => {
    const models = storedModels([machineClient()])
    const state = { failing: false }
    const adapter = (model: string) => ({
      ...models.adapter(model),
      find: (id: string) =>
        state.failing && model === 'Client'
          ? Promise.reject(new TypeError(quoting(id)))
          : models.adapter(model).find(id),
    })
    const configuration = { adapter, clients: [publicClient(), webClient()] }
    await withDeployment({ configuration }, async (deployment) => {
      const token = await managementToken(deployment)
      state.failing = true
      expect((await manage(deployment, 'GET', '', { token })).status).to.equal(503)
      expect(deployment.errors).to.have.lengthOf(1)
      expect(deployment.errors[0]).to.have.property('error_detail', 'TypeError')
      expect(everything(deployment.errors)).not.to.include('signed in')
    })
  })
})
