/** Ending access tokens when the provider's storage fails half-way, and by replay (protocol.md §2.2, §6). */
import { expect } from 'chai'
import type { AdapterFactory } from 'oidc-provider'
import { webClient } from '../../fixtures/clients.ts'
import { stopClock } from '../../fixtures/clock.ts'
import { type Deployment, OPAQUE_API } from '../../fixtures/deployment.ts'
import { onEachDatabase } from '../../fixtures/each-database.ts'
import type { HttpResponse } from '../../fixtures/http.ts'
import { losingResults } from '../../fixtures/lost-results.ts'
import { list, postRevocation, revoke, revokeWhere, show } from '../../fixtures/management.ts'
import { SUBJECT_TOKEN_REFUSED } from '../../fixtures/refused.ts'
import { exchange, introspect, issue } from '../../fixtures/requests.ts'
import { emptyTables } from '../../fixtures/tables.ts'
import { unique } from '../../fixtures/unique.ts'
import { createAdapter, createSubjectTokenStore } from '../../src/sequelize/index.ts'
import type { SubjectTokenStore } from '../../src/subject-tokens/store.ts'

const DORA = { by: 'dora', reason: 'the ticket is closed' }

/** An adapter that fails so many times at one method of one model. */
function failing(adapter: AdapterFactory, model: string, method: 'destroy' | 'revokeByGrantId') {
  const state = { failures: 0 }
  const factory: AdapterFactory = (name) => {
    const target = adapter(name)
    if (name !== model) return target
    const real = target[method].bind(target) as (id: string) => Promise<void>
    return Object.assign(target, {
      [method]: async (id: string) => {
        if (state.failures > 0) {
          state.failures -= 1
          throw new Error('private: connection lost')
        }
        return real(id)
      },
    })
  }
  return { factory, failTimes: (times: number) => Object.assign(state, { failures: times }) }
}

async function used(deployment: Deployment) {
  const { id, subjectToken } = await issue(deployment)
  const response = await exchange(deployment, { subject_token: subjectToken, resource: OPAQUE_API })
  expect(response.status, response.text).to.equal(200)
  return { id, subjectToken, accessToken: response.body.access_token as string }
}

function expectOutage(response: HttpResponse): void {
  expect([response.status, response.body], response.text).to.deep.equal([
    503,
    { error: 'temporarily_unavailable', error_description: 'the service is temporarily unavailable' },
  ])
  expect(response.headers.get('retry-after')).to.match(/^[1-9]\d*$/)
  expect(response.headers.get('cache-control')).to.equal('no-store')
}

const names = ({ events }: Deployment) =>
  events.map(({ name }) => name).filter((name) => !name.endsWith('.issued'))
const FAILED = 'impersonation.failed'

describe('management: ending access tokens when storage fails', () => {
  onEachDatabase({}, (on) => {
    for (const [model, method] of [
      ['Grant', 'destroy'],
      ['AccessToken', 'revokeByGrantId'],
    ] as const) {
      const startFailing = async () => {
        const adapter = createAdapter(on.database.sequelize, { namespace: unique('failing') })
        const { factory, failTimes } = failing(adapter, model, method)
        return { deployment: await on.start({ configuration: { adapter: factory } }), failTimes }
      }

      it(`responds with 503 when ${model}.${method} fails once in the kill switch, ends and tells the others, and the repeated call completes it`, async () => {
        const { deployment, failTimes } = await startFailing()
        const tokens = [await used(deployment), await used(deployment), await used(deployment)]
        const before = names(deployment).length
        failTimes(1)
        expectOutage(await revokeWhere(deployment, { userId: 'alice' }))
        expect(deployment.errors).to.have.lengthOf(1)
        expect(deployment.errors[0]).to.have.property('error_detail', 'Error')
        const two = Array(2).fill('subject_token.revoked')
        expect(names(deployment).slice(before)).to.deep.equal([...two, FAILED])

        const repeated = await revokeWhere(deployment, { userId: 'alice' })
        expect([repeated.status, repeated.body]).to.deep.equal([200, { revoked: 1 }])
        for (const { accessToken, id } of tokens) {
          expect(await introspect(deployment, accessToken)).to.deep.equal({ active: false })
          expect((await show(deployment, id)).body.state).to.equal('revoked')
          expect(await deployment.provider.AccessToken.find(accessToken)).to.equal(undefined)
        }
        const stops = deployment.events.filter(({ name }) => name === 'subject_token.revoked')
        const told = stops.map(({ payload }) => 'ended' in payload && payload.ended)
        expect(told).to.deep.equal(['now', 'now', 'now'])
        expect((await revokeWhere(deployment, { userId: 'alice' })).body).to.deep.equal({ revoked: 0 })
        expect(names(deployment).slice(before)).to.have.lengthOf(4)
      })

      it(`responds with an error when ${model}.${method} fails once for one, and the repeated call ends it`, async () => {
        const { deployment, failTimes } = await startFailing()
        const { id, accessToken } = await used(deployment)
        const before = names(deployment).length
        failTimes(1)
        expectOutage(await postRevocation(deployment, { id, ...DORA }))
        expect(names(deployment).slice(before)).to.deep.equal([FAILED])
        expect((await show(deployment, id)).body.state).to.equal('revoked')

        const repeated = await postRevocation(deployment, { id, by: 'robin' })
        expect([repeated.status, repeated.body]).to.deep.equal([200, { revoked: 1 }])
        expect(await introspect(deployment, accessToken)).to.deep.equal({ active: false })
        expect(await deployment.provider.AccessToken.find(accessToken)).to.equal(undefined)
        expect(names(deployment).slice(before)).to.deep.equal([FAILED, 'subject_token.revoked'])
        const revocation = { cause: 'api', client: 'backend', ...DORA }
        expect(deployment.events.at(-1)?.payload).to.deep.include({ revocation, ended: 'now' })
        expect((await postRevocation(deployment, { id })).body).to.deep.equal({ revoked: 0 })
      })

      it(`reports in the event that a replay could not end the token when ${model}.${method} fails`, async () => {
        const { deployment, failTimes } = await startFailing()
        const { subjectToken, accessToken } = await used(deployment)
        failTimes(1)
        for (const ended of ['failed', 'now']) {
          const response = await exchange(deployment, { subject_token: subjectToken })
          expect([response.status, response.body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
          expect(deployment.events.at(-1)?.payload).to.include({ ended })
        }
        expect(await introspect(deployment, accessToken)).to.deep.equal({ active: false })
      })
    }

    it('emits the events of each batch before the next, so that a failure between them loses none', async () => {
      const real = createSubjectTokenStore(on.database.sequelize)
      const state = { fail: true }
      const store: SubjectTokenStore = {
        ...real,
        async *revokeWhere(issuer, filter, now, revocation) {
          for await (const [first, ...others] of real.revokeWhere(issuer, filter, now, revocation)) {
            if (first) yield [first]
            if (state.fail) throw new Error('private: connection lost')
            yield others
          }
        },
      }
      const deployment = await on.start({ options: { store } })
      const createdBy = 'backend'
      await issue(deployment)
      const before = names(deployment).length
      expectOutage(await revokeWhere(deployment, { createdBy }))
      expect(names(deployment).slice(before)).to.deep.equal(['subject_token.revoked', FAILED])
    })

    it('ends several tokens at a time', async () => {
      const adapter = createAdapter(on.database.sequelize, { namespace: unique('parallel') })
      let [ending, most] = [0, 0]
      const counting: AdapterFactory = (name) => {
        const target = adapter(name)
        const destroy = target.destroy.bind(target)
        return Object.assign(target, {
          async destroy(id: string) {
            ending += 1
            most = Math.max(most, ending)
            await destroy(id)
            ending -= 1
          },
        })
      }
      const deployment = await on.start({ configuration: { adapter: counting } })
      const tokens = []
      for (let count = 0; count < 6; count += 1) tokens.push(await used(deployment))
      most = 0
      expect((await revokeWhere(deployment, { userId: 'alice' })).status).to.equal(200)
      expect(most).to.equal(6)
      for (const { accessToken } of tokens)
        expect(await introspect(deployment, accessToken)).to.deep.equal({ active: false })
    })

    it('responds with 503 when the table of subject tokens is gone, for every route', async () => {
      const { deployment } = on
      const { id } = await issue(deployment)
      await on.database.sequelize.query('ALTER TABLE subject_tokens RENAME TO elsewhere')
      try {
        const responses = [
          await list(deployment),
          await show(deployment, id),
          await revoke(deployment, id),
          await revokeWhere(deployment, { userId: 'alice' }),
        ]
        for (const response of responses) expectOutage(response)
      } finally {
        await on.database.sequelize.query('ALTER TABLE elsewhere RENAME TO subject_tokens')
      }
      expect((await show(deployment, id)).body.state).to.equal('active')
    })
  })
})

describe('management: a stop that dies on its way', () => {
  onEachDatabase({}, (on) => {
    const revocation = { cause: 'api', client: 'backend', ...DORA }
    const stopsOf = ({ events }: Deployment) =>
      events.flatMap(({ name, payload }) => (name === 'subject_token.revoked' ? [payload] : []))
    const isActive = async (deployment: Deployment, accessToken: string) =>
      (await introspect(deployment, accessToken)).active
    const ways: [title: string, body: (id: string) => object][] = [
      ['one', (id) => ({ id })],
      ['all', () => ({ userId: 'alice' })],
    ]
    beforeEach(() => emptyTables(on.database))

    /** The first request has failed with its stop written, and told nothing. */
    const expectCompleted = async (deployment: Deployment, id: string, body: object, ended?: string) => {
      expect((await show(deployment, id)).body).to.deep.include({ state: 'revoked', revocation })
      expect(stopsOf(deployment)).to.deep.equal([])
      const repeated = await postRevocation(deployment, { ...body, by: 'robin' })
      expect([repeated.status, repeated.body], repeated.text).to.deep.equal([200, { revoked: 1 }])
      const [told, ...others] = stopsOf(deployment)
      expect(others).to.deep.equal([])
      expect(told).to.deep.include({
        id,
        userId: 'alice',
        revokedBy: 'backend',
        revocation,
        ...(ended && { ended }),
      })
      expect((await show(deployment, id)).body.revocation).to.deep.equal(revocation)
      expect((await postRevocation(deployment, { ...body, ...DORA })).body).to.deep.equal({ revoked: 0 })
      expect((await revoke(deployment, id)).status).to.equal(204)
      expect(stopsOf(deployment)).to.have.lengthOf(1)
    }

    for (const [title, bodyOf] of ways) {
      const startLosing = async () => {
        const sequelize = on.database.connect()
        const lose = losingResults(sequelize)
        return {
          lose,
          deployment: await on.start({ options: { store: createSubjectTokenStore(sequelize) } }),
        }
      }

      it(`of ${title}: after the row of the stop, the access token lives, and the repeated request ends it`, async () => {
        const { deployment, lose } = await startLosing()
        const { id, accessToken } = await used(deployment)
        lose(/^INSERT .*INTO subject_token_stops/s)
        expectOutage(await postRevocation(deployment, { ...bodyOf(id), ...DORA }))
        expect(await isActive(deployment, accessToken)).to.equal(true)
        await expectCompleted(deployment, id, bodyOf(id), 'now')
        expect(await isActive(deployment, accessToken)).to.equal(false)
      })

      it(`of ${title}: after the row of the stop, an exchange that is faster than the repeated request is ended by it`, async () => {
        const { deployment, lose } = await startLosing()
        const consumed = { go: () => {}, reached: Promise.resolve() }
        const store = createSubjectTokenStore(on.database.sequelize)
        const slow = await on.start({
          issuer: deployment.issuer,
          options: {
            store: {
              ...store,
              async consume(...call) {
                consumed.go()
                await consumed.reached
                return store.consume(...call)
              },
            },
          },
        })
        const { id, subjectToken } = await issue(deployment)
        const found = new Promise<void>((resolve) => {
          consumed.go = resolve
        })
        let spend = () => {}
        consumed.reached = new Promise((resolve) => {
          spend = resolve
        })
        const exchanging = exchange(slow, { subject_token: subjectToken, resource: OPAQUE_API })
        await found
        lose(/^INSERT .*INTO subject_token_stops/s)
        expectOutage(await postRevocation(deployment, { ...bodyOf(id), ...DORA }))
        spend()
        const { status, body } = await exchanging
        expect(status).to.equal(200)
        await expectCompleted(deployment, id, bodyOf(id), 'now')
        expect(await isActive(slow, body.access_token)).to.equal(false)
      })

      for (const [after, statement] of [
        ['the row of the stop', /^INSERT .*INTO subject_token_stops/s],
        ['the tombstone', /^INSERT .*INTO subject_token_uses/s],
      ] as const) {
        it(`of ${title}: after ${after} of an unspent one, a request by its id tells it`, async () => {
          const { deployment, lose } = await startLosing()
          const { id, subjectToken } = await issue(deployment)
          lose(statement)
          expectOutage(await postRevocation(deployment, { ...bodyOf(id), ...DORA }))
          // A kill switch leaves what can neither be exchanged nor has an access token. The record's own stop tells it.
          if (title === 'all')
            expect((await postRevocation(deployment, bodyOf(id))).body).to.deep.equal({ revoked: 0 })
          await expectCompleted(deployment, id, { id })
          const response = await exchange(deployment, { subject_token: subjectToken })
          expect([response.status, response.body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
        })
      }

      it(`of ${title}: when the result of the report is lost, it has been told`, async () => {
        const { deployment, lose } = await startLosing()
        const { id, accessToken } = await used(deployment)
        lose(/^UPDATE subject_token_stops/)
        const { body } = await postRevocation(deployment, { ...bodyOf(id), ...DORA })
        expect(body).to.deep.equal({ revoked: 1 })
        expect(await isActive(deployment, accessToken)).to.equal(false)
        expect((await postRevocation(deployment, bodyOf(id))).body).to.deep.equal({ revoked: 0 })
        expect(stopsOf(deployment)).to.have.lengthOf(1)
      })

      it(`of ${title}: when all of the stop is written and the connection is lost, the repeated request completes it`, async () => {
        const real = createSubjectTokenStore(on.database.sequelize)
        const state = { lost: true }
        const lose = () => {
          if (!state.lost) return
          state.lost = false
          throw new Error('private: connection lost')
        }
        const store: SubjectTokenStore = {
          ...real,
          async revoke(...call) {
            const revoked = await real.revoke(...call)
            lose()
            return revoked
          },
          async *revokeWhere(...call) {
            for await (const batch of real.revokeWhere(...call)) {
              lose()
              yield batch
            }
          },
        }
        const deployment = await on.start({ options: { store } })
        const { id, accessToken } = await used(deployment)
        expectOutage(await postRevocation(deployment, { ...bodyOf(id), ...DORA }))
        expect(await isActive(deployment, accessToken)).to.equal(true)
        await expectCompleted(deployment, id, bodyOf(id), 'now')
        expect(await isActive(deployment, accessToken)).to.equal(false)
      })

      it(`of ${title}: when the report is refused, the access token has ended all the same, and the repeated request tells it`, async () => {
        const real = createSubjectTokenStore(on.database.sequelize)
        const state = { refused: true }
        const report: SubjectTokenStore['report'] = async (...call) => {
          if (!state.refused) return real.report(...call)
          state.refused = false
          throw new Error('private: read only')
        }
        const deployment = await on.start({ options: { store: { ...real, report } } })
        const { id, accessToken } = await used(deployment)
        expectOutage(await postRevocation(deployment, { ...bodyOf(id), ...DORA }))
        expect(await isActive(deployment, accessToken)).to.equal(false)
        await expectCompleted(deployment, id, bodyOf(id), 'now')
      })
    }

    for (const [title, bodyOf] of ways) {
      it(`of ${title}: counts and tells nothing that another request has told meanwhile`, async () => {
        const real = createSubjectTokenStore(on.database.sequelize)
        const report: SubjectTokenStore['report'] = async (...call) => {
          await real.report(...call)
          return real.report(...call)
        }
        const deployment = await on.start({ options: { store: { ...real, report } } })
        const { id, accessToken } = await used(deployment)
        const { status, body } = await postRevocation(deployment, { ...bodyOf(id), ...DORA })
        expect([status, body]).to.deep.equal([200, { revoked: 0 }])
        expect(stopsOf(deployment)).to.deep.equal([])
        expect(await isActive(deployment, accessToken)).to.equal(false)
      })
    }

    it('says that the access token has expired when one is repeated so late', async () => {
      const real = createSubjectTokenStore(on.database.sequelize)
      const state = { refused: true }
      const report: SubjectTokenStore['report'] = async (...call) => {
        if (state.refused) throw new Error('private: read only')
        return real.report(...call)
      }
      const deployment = await on.start({ options: { store: { ...real, report } } })
      const clock = stopClock()
      try {
        const { id } = await used(deployment)
        expectOutage(await revoke(deployment, id))
        clock.tick(3600)
        state.refused = false
        expect((await revoke(deployment, id)).status).to.equal(204)
        expect(stopsOf(deployment)).to.have.nested.property('[0].ended', 'expired')
      } finally {
        clock.restore()
      }
    })

    it('emits one event for any number of requests at the same time', async () => {
      const { id } = await issue(on.deployment)
      const before = stopsOf(on.deployment).length
      const responses = await Promise.all(
        Array.from({ length: 8 }, () => postRevocation(on.deployment, { id, ...DORA })),
      )
      const counts = responses.map(({ body }) => body.revoked).sort()
      expect(counts).to.deep.equal([0, 0, 0, 0, 0, 0, 0, 1])
      expect(stopsOf(on.deployment)).to.have.lengthOf(before + 1)
    })
  })
})

describe('management: a replay', () => {
  onEachDatabase({}, (on) => {
    it('ends the opaque access token of the first use, no matter which client replays, and for which resource', async () => {
      const replays = [
        {},
        { resource: OPAQUE_API },
        { resource: 'https://unknown.example.com' },
        { scope: 'x' },
      ]
      for (const parameters of replays) {
        for (const client of [undefined, webClient()]) {
          const { subjectToken, accessToken } = await used(on.deployment)
          expect((await introspect(on.deployment, accessToken)).active).to.equal(true)
          const replay = { subject_token: subjectToken, ...parameters }
          const response = await exchange(on.deployment, replay, { client })
          expect([response.status, response.body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
          expect(await introspect(on.deployment, accessToken)).to.deep.equal({ active: false })
        }
      }
    })

    it('of a revoked token ends it, too, and is reported as a replay', async () => {
      const { id, subjectToken } = await used(on.deployment)
      await revoke(on.deployment, id)
      await exchange(on.deployment, { subject_token: subjectToken })
      expect(on.deployment.events.at(-1)?.name).to.equal('subject_token.replayed')
    })

    it('in a race ends the access token of the winner', async () => {
      const waiting: (() => void)[] = []
      const getCustomJwtClaims = () =>
        new Promise<object>((resolve) => {
          if (waiting.push(() => resolve({})) === 8) for (const go of waiting.splice(0)) go()
        })
      const racing = await on.start({ options: { getCustomJwtClaims } })
      const grants = async () => {
        const [rows] = await on.database.sequelize.query("SELECT id FROM oidc_models WHERE model = 'Grant'")
        return rows.length
      }
      const before = await grants()
      for (let round = 0; round < 5; round += 1) {
        const { subjectToken } = await issue(racing)
        const responses = await Promise.all(
          Array.from({ length: 8 }, () =>
            exchange(racing, { subject_token: subjectToken, resource: OPAQUE_API }),
          ),
        )
        const winners = responses.filter(({ status }) => status === 200)
        expect(winners).to.have.lengthOf(1)
        expect(await introspect(racing, winners[0]?.body.access_token)).to.deep.equal({ active: false })
      }
      expect(await grants(), 'a Grant of a loser is left').to.equal(before)
    })
  })
})
