/** The state after a failure (protocol.md §3.1, §3.2): unspent before the one write, spent after it. */
import { expect } from 'chai'
import type { Configuration } from 'oidc-provider'
import { ConnectionRefusedError, QueryTypes } from 'sequelize'
import { storedModels } from '../../fixtures/clients.ts'
import { openDatabase } from '../../fixtures/databases.ts'
import { API, type Deployment, OPAQUE_API, RESOURCES, withDeployment } from '../../fixtures/deployment.ts'
import type { HttpResponse } from '../../fixtures/http.ts'
import { list, statesOf } from '../../fixtures/management.ts'
import { itOn } from '../../fixtures/on-database.ts'
import { SUBJECT_TOKEN_REFUSED } from '../../fixtures/refused.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import { StoreFailure } from '../../src/index.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { mintId } from '../../src/subject-tokens/id.ts'
import { hashToken, mintToken } from '../../src/subject-tokens/secret.ts'
import { expectRefused, onlyEvent } from './refusals.ts'

describe('token exchange: failures', () => {
  describe('when issuing fails after the spend', () => {
    it('stays spent, and responds with 500: an opaque token that cannot be stored', async () => {
      const models = storedModels()
      const adapter = (model: string) => {
        const storage = models.adapter(model)
        if (model !== 'AccessToken') return storage
        return { ...storage, upsert: () => Promise.reject(new Error('private: disk full')) }
      }
      await withDeployment({ configuration: { adapter } }, async (deployment) => {
        const { subjectToken } = await issue(deployment)
        const parameters = { subject_token: subjectToken, resource: OPAQUE_API }
        await expectSpentBy500(deployment, subjectToken, await exchange(deployment, parameters))
      })
    })

    it('stays spent, and responds with 500: a JWT for which there is no key', () =>
      withDeployment(
        {
          resources: {
            [API]: { scope: '', accessTokenFormat: 'jwt', jwt: { sign: { alg: 'ES384' } }, audience: API },
          },
        },
        async (deployment) => {
          const { subjectToken } = await issue(deployment)
          const response = await exchange(deployment, { subject_token: subjectToken })
          await expectSpentBy500(deployment, subjectToken, response)
        },
      ))
  })

  for (const replaced of ['extraTokenClaims', 'formats'])
    for (const resource of [API, OPAQUE_API])
      it(`refuses before the spend when ${replaced} was replaced, for ${resource}`, async () => {
        const models = storedModels()
        const overrides = {
          configuration: { adapter: models.adapter },
          tamper: (configuration: Configuration) => ({
            ...configuration,
            ...{ extraTokenClaims: { extraTokenClaims: () => ({ other: true }) }, formats: { formats: {} } }[
              replaced
            ],
          }),
        }
        await withDeployment(overrides, async (deployment) => {
          const { subjectToken } = await issue(deployment)
          const response = await exchange(deployment, { subject_token: subjectToken, resource })
          expect([response.status, response.body.error]).to.deep.equal([500, 'server_error'])
          expect([...models.payloads.keys()].filter((key) => key.startsWith('AccessToken:'))).to.deep.equal(
            [],
          )
          expect(statesOf(await list(deployment))).to.deep.equal(['active'])
        })
      })

  it('refuses before the spend when getResourceServerInfo was replaced', () =>
    withDeployment(
      {
        tamper: (configuration) => ({
          ...configuration,
          features: {
            ...configuration.features,
            resourceIndicators: {
              enabled: true,
              getResourceServerInfo: () => ({
                scope: '',
                audience: API,
                accessTokenFormat: 'opaque',
              }),
            },
          },
        }),
      },
      async (deployment) => {
        const store = createSubjectTokenStore(deployment.database.sequelize)
        const { subjectToken, id } = await issueDirectly(deployment)
        const response = await exchange(deployment, { subject_token: subjectToken })
        expect([response.status, response.body.error]).to.deep.equal([500, 'server_error'])
        expect((await store.find(deployment.issuer, id))?.use).to.equal(undefined)
      },
    ))

  it('gives no token when resources bypass configure, and spends none', () =>
    withDeployment(
      {
        tamper: (configuration) => {
          const ours = configuration.features?.resourceIndicators?.getResourceServerInfo
          if (!ours) throw new Error('configure gives one')
          return {
            ...configuration,
            features: {
              ...configuration.features,
              resourceIndicators: {
                ...configuration.features?.resourceIndicators,
                enabled: true,
                getResourceServerInfo: (ctx, resource, client) =>
                  RESOURCES[resource] ?? ours(ctx, resource, client),
              },
            } as typeof configuration.features,
          }
        },
      },
      async (deployment) => {
        const { subjectToken } = await issue(deployment)
        const response = await exchange(deployment, { subject_token: subjectToken })
        expect([response.status, response.body.error]).to.deep.equal([500, 'server_error'])
        expect(statesOf(await list(deployment))).to.deep.equal(['active'])
      },
    ))

  describe('when the store fails', () => {
    const unspent = new StoreFailure('private: no connection', { tookEffect: false })
    const failures = [
      ['find', undefined],
      ['consume', unspent],
    ] as const
    for (const [method, error] of failures) {
      it(`at ${method}, it responds with 503 and the token can be used later`, () =>
        withFailingStore({ method, error }, {}, async (deployment, state) => {
          const { subjectToken } = await issue(deployment)
          const before = deployment.events.length
          const response = await exchange(deployment, { subject_token: subjectToken })
          expectOutage(response)
          const events = deployment.events.slice(before)
          expect(events.map(({ name }) => name)).to.deep.equal(['subject_token.refused'])
          expect(events[0]?.payload).to.include({ check: 'storage', stage: 'exchange' })
          state.failing = false
          expect((await exchange(deployment, { subject_token: subjectToken })).status).to.equal(200)
        }))
    }
  })

  describe('when the outcome of the spend is unknown', () => {
    const notPromised = [
      new Error('private: lost'),
      new StoreFailure('private: lost'),
      Object.assign(new Error('private: lost'), { tookEffect: false }),
      { tookEffect: false },
    ]
    for (const [index, error] of notPromised.entries()) {
      it(`it asks for a new subject token and not for a repetition, case ${index + 1}`, () =>
        withFailingStore({ method: 'consume', error }, {}, async (deployment) => {
          const { subjectToken } = await issue(deployment)
          expectUnknown(await exchange(deployment, { subject_token: subjectToken }))
          const event = deployment.events.at(-1)
          expect(event?.name).to.equal('subject_token.refused')
          expect(event?.payload).to.include({ check: 'storage', error: 'temporarily_unavailable' })
          expect(Object(event?.payload).reason).to.match(/^the outcome of the spend is unknown: /)
        }))
    }

    itOn('postgres', 'so it does when the connection is lost in the middle of the spend', async () => {
      await withDeployment({ database: 'postgres' }, async (deployment) => {
        const { sequelize } = deployment.database
        const { subjectToken } = await issue(deployment)
        await sequelize.transaction(async (transaction) => {
          await sequelize.query(HOLD_SPENDS, { transaction })
          const exchanged = exchange(deployment, { subject_token: subjectToken })
          await endSpend(deployment)
          expectUnknown(await exchanged)
        })
        expect((await exchange(deployment, { subject_token: subjectToken })).status).to.equal(200)
      })
    })

    itOn('postgres', 'but not when it certainly did not happen: the table stayed locked', async () => {
      const database = await openDatabase('postgres')
      const impatient = database.connect({ dialectOptions: { lock_timeout: 100 } })
      const store = createSubjectTokenStore(impatient)
      try {
        await withDeployment({ database, options: { store } }, async (deployment) => {
          const { subjectToken } = await issue(deployment)
          await database.sequelize.transaction(async (transaction) => {
            await database.sequelize.query(HOLD_SPENDS, { transaction })
            expectOutage(await exchange(deployment, { subject_token: subjectToken }))
          })
        })
      } finally {
        await database.close()
      }
    })

    it('nor when there is no connection to spend it on', async () => {
      const database = await openDatabase('sqlite')
      const away = () => Promise.reject(new ConnectionRefusedError(new Error('private')))
      const getCustomJwtClaims = () => {
        Object.assign(database.sequelize.connectionManager, { getConnection: away })
        return {}
      }
      try {
        await withDeployment({ database, options: { getCustomJwtClaims } }, async (deployment) => {
          const { subjectToken } = await issue(deployment)
          expectOutage(await exchange(deployment, { subject_token: subjectToken }))
        })
      } finally {
        await database.close()
      }
    })
  })

  describe('of the store, with an opaque access token', () => {
    it('destroys its Grant when the store fails, and can be tried again', async () => {
      const models = storedModels()
      await withFailingStore(
        { method: 'consume' },
        { adapter: models.adapter },
        async (deployment, state) => {
          const { subjectToken } = await issue(deployment)
          const parameters = { subject_token: subjectToken, resource: OPAQUE_API }
          expectUnknown(await exchange(deployment, parameters))
          expect([...models.payloads.keys()].filter((key) => key.startsWith('Grant:'))).to.deep.equal([])
          state.failing = false
          expect((await exchange(deployment, parameters)).status).to.equal(200)
        },
      )
    })

    it('spends nothing when the Grant cannot be saved, and can be tried again', async () => {
      const models = storedModels()
      const state = { failing: true }
      const adapter = (model: string) => {
        const storage = models.adapter(model)
        if (model !== 'Grant') return storage
        const full = () => Promise.reject(new Error('private: disk full'))
        const upsert: typeof storage.upsert = (...row) => (state.failing ? full() : storage.upsert(...row))
        return { ...storage, upsert }
      }
      await withDeployment({ configuration: { adapter } }, async (deployment) => {
        const { subjectToken } = await issue(deployment)
        const parameters = { subject_token: subjectToken, resource: OPAQUE_API }
        const response = await exchange(deployment, parameters)
        expect([response.status, response.body.error], response.text).to.deep.equal([500, 'server_error'])
        state.failing = false
        expect((await exchange(deployment, parameters)).status).to.equal(200)
      })
    })
  })

  describe("of the deployment's own functions", () => {
    it('are server_error to listeners, though the error of another library may be shown to the client', () =>
      withDeployment(
        {
          configuration: {
            findAccount() {
              // As http-errors makes it, and `ctx.throw(400)` of Koa.
              throw Object.assign(new Error('gone'), { status: 400, statusCode: 400, expose: true })
            },
          },
        },
        async (deployment) => {
          const { subjectToken } = await issueDirectly(deployment)
          const response = await exchange(deployment, { subject_token: subjectToken })
          expect(response.status).to.equal(400)
          const refused = onlyEvent(deployment, 'subject_token.refused')
          expect(refused).to.include({ error: 'server_error', check: 'server_error' })
        },
      ))

    const breaks: [title: string, broken: string][] = [
      ['findAccount throws', 'findAccount'],
      ['getResourceServerInfo throws', 'getResourceServerInfo'],
    ]
    for (const [title, broken] of breaks) {
      it(`spend nothing and stay private: ${title}`, async () => {
        const state = { failing: false }
        const failing = (name: string) => {
          if (state.failing && name === broken) throw new Error('private')
        }
        const resource = { scope: '', audience: API, accessTokenFormat: 'opaque' as const }
        await withDeployment(
          {
            configuration: {
              async findAccount(_ctx, id) {
                failing('findAccount')
                return { accountId: id, claims: () => ({ sub: id }) }
              },
              features: {
                resourceIndicators: {
                  enabled: true,
                  getResourceServerInfo() {
                    failing('getResourceServerInfo')
                    return resource
                  },
                },
              },
            },
          },
          async (deployment) => {
            const response = await expectRefused(deployment, {
              attempt: (subjectToken) => {
                state.failing = true
                return exchange(deployment, { subject_token: subjectToken })
              },
              valid: (subjectToken) => {
                state.failing = false
                return exchange(deployment, { subject_token: subjectToken })
              },
              status: 500,
              error: 'server_error',
              check: 'server_error',
            })
            expect(response.text).not.to.include('private')
          },
        )
      })
    }
  })
})

/** Spends wait for the end of the transaction. */
const HOLD_SPENDS = 'LOCK TABLE subject_token_uses IN SHARE MODE'

/** Ends the connection on which a spend waits for a lock. */
async function endSpend({ database }: Deployment): Promise<void> {
  for (let ended = 0; ended === 0; ) {
    const rows = await database.sequelize.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'INSERT%'`,
      { type: QueryTypes.SELECT },
    )
    ended = rows.length
  }
}

function expectUnknown(response: HttpResponse): void {
  expect([response.status, response.body], response.text).to.deep.equal([
    503,
    { error: 'temporarily_unavailable', error_description: 'request a new subject token' },
  ])
  expect(response.headers.get('retry-after')).to.equal(null)
}

function expectOutage(response: HttpResponse): void {
  expect(response.status, response.text).to.equal(503)
  expect(response.body.error).to.equal('temporarily_unavailable')
  expect(Number(response.headers.get('retry-after'))).to.be.greaterThan(0)
  expect(response.text).not.to.include('private')
}

async function expectSpentBy500(
  deployment: Deployment,
  subjectToken: string,
  response: HttpResponse,
): Promise<void> {
  expect([response.status, response.body]).to.deep.equal([
    500,
    { error: 'server_error', error_description: 'oops! something went wrong' },
  ])
  const names = deployment.events.map(({ name }) => name)
  expect(names).to.deep.equal(['subject_token.issued', 'subject_token.refused'])
  const again = await exchange(deployment, { subject_token: subjectToken })
  expect([again.status, again.body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
  expect(deployment.events.at(-1)?.name).to.equal('subject_token.replayed')
}

/** A deployment whose store fails at one method while `failing`. */
async function withFailingStore(
  failure: { readonly method: 'find' | 'consume'; readonly error?: unknown },
  configuration: { adapter?: ReturnType<typeof storedModels>['adapter'] },
  use: (deployment: Deployment, state: { failing: boolean }) => Promise<void>,
): Promise<void> {
  const database = await openDatabase('sqlite')
  const state = { failing: true }
  const { method, error = new Error('private: no connection') } = failure
  const store = createSubjectTokenStore(database.sequelize)
  const failing = {
    ...store,
    [method]: (...parameters: never[]) =>
      state.failing
        ? Promise.reject(error)
        : (store[method] as (...parameters: never[]) => Promise<unknown>)(...parameters),
  }
  try {
    await withDeployment({ database, options: { store: failing }, configuration }, (deployment) =>
      use(deployment, state),
    )
  } finally {
    await database.close()
  }
}

/** For when the management API is down: a token that is inserted into the store directly. */
async function issueDirectly(deployment: Deployment): Promise<{ subjectToken: string; id: string }> {
  const id = mintId()
  const subjectToken = mintToken(id)
  const createdAt = Math.floor(Date.now() / 1000)
  await createSubjectTokenStore(deployment.database.sequelize).insert({
    id,
    tokenHash: hashToken(subjectToken),
    issuer: deployment.issuer,
    purpose: 'exchange',
    userId: 'alice',
    context: {},
    createdBy: 'backend',
    createdAt,
    expiresAt: createdAt + 600,
  })
  return { subjectToken, id }
}
