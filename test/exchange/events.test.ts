/** The events of an exchange (protocol.md §6): one per occurrence, frozen, and no listener changes the response. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { actorJwt, actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { now } from '../../fixtures/clock.ts'
import { API, type Deployment, OPAQUE_API, withDeployment } from '../../fixtures/deployment.ts'
import type { HttpResponse } from '../../fixtures/http.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import { EVENTS } from '../../src/index.ts'
import { onlyEvent } from './refusals.ts'

function expectDeeplyFrozen(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  expect(value).to.be.frozen
  expect(Object.getPrototypeOf(value)).to.be.oneOf([Object.prototype, null])
  for (const member of Object.values(value)) expectDeeplyFrozen(member)
}

/** Issues, exchanges, replays and fails: every event of the exchange once. */
async function flow(deployment: Deployment): Promise<HttpResponse[]> {
  const { subjectToken } = await issue(deployment)
  const actor = withActor(await actorToken(deployment))
  const parameters = { subject_token: subjectToken, scope: 'orders:read', resource: OPAQUE_API, ...actor }
  return [
    await exchange(deployment, { ...parameters, scope: 'unknown' }),
    await exchange(deployment, parameters),
    await exchange(deployment, parameters),
  ]
}

describe('token exchange: events', () => {
  it('report a success with ids, actor, target and the life of the access token', () =>
    withDeployment({}, async (deployment) => {
      const { subjectToken, id } = await issue(deployment)
      const actor = withActor(await actorToken(deployment, { clientId: 'web' }))
      const parameters = { subject_token: subjectToken, scope: 'orders:read', ...actor }
      const { body } = await exchange(deployment, parameters)
      const { accessToken, actor: acting, ...event } = onlyEvent(deployment, 'subject_token.exchanged')
      expect(event).to.deep.equal({
        id,
        userId: 'alice',
        createdBy: 'backend',
        clientId: 'spa',
        resource: API,
        scope: 'orders:read',
      })
      expect(acting).to.include({ sub: 'bob', clientId: 'web' })
      expect(accessToken.format).to.equal('jwt')
      expect(accessToken.jti).to.equal(decodeJwt(body.access_token).jti)
      expect(accessToken.expiresAt).to.be.closeTo(now() + 600, 2)
    }))

  it('omit actor and scope of a success without them', () =>
    withDeployment({}, async (deployment) => {
      const { subjectToken } = await issue(deployment)
      await exchange(deployment, { subject_token: subjectToken, resource: OPAQUE_API })
      const event = onlyEvent(deployment, 'subject_token.exchanged')
      expect(event).to.have.all.keys('id', 'userId', 'createdBy', 'clientId', 'resource', 'accessToken')
      expect(event.accessToken).to.have.all.keys('format', 'expiresAt').and.to.include({ format: 'opaque' })
    }))

  it('report a refusal with what was known by then', () =>
    withDeployment({}, async (deployment) => {
      const { subjectToken } = await issue(deployment)
      await exchange(deployment, { subject_token: 'unknown' })
      await exchange(deployment, { subject_token: subjectToken, resource: 'https://unknown.example.com' })
      const [unknown, target] = deployment.events.slice(1).map(({ payload }) => payload)
      expect(unknown).to.deep.equal({
        stage: 'exchange',
        error: 'invalid_request',
        check: 'subject_token',
        reason: 'malformed',
        clientId: 'spa',
      })
      expect(target).to.include({ check: 'invalid_target', error: 'invalid_target', userId: 'alice' })
      expect(target).not.to.have.property('resource')
    }))

  it('report a replay with the use that spent the token', () =>
    withDeployment({}, async (deployment) => {
      await flow(deployment)
      const replayed = deployment.events.at(-1)
      if (replayed?.name !== 'subject_token.replayed') throw new Error('another event')
      const { usedAt, secondsAfter, actor, ...payload } = replayed.payload
      expect(payload).to.deep.equal({
        id: payload.id,
        userId: 'alice',
        clientId: 'spa',
        usedBy: 'spa',
        sameClient: true,
        resource: OPAQUE_API,
        scope: 'orders:read',
        ended: 'now',
      })
      expect(actor).to.include({ sub: 'bob', clientId: 'spa' })
      expect(usedAt).to.be.closeTo(now(), 2)
      expect(secondsAfter).to.be.closeTo(0, 2)
    }))

  it('are exactly one for each occurrence, with one frozen plain argument', () =>
    withDeployment({}, async (deployment) => {
      const calls: unknown[][] = []
      for (const name of EVENTS) {
        deployment.provider.on(name, (...parameters: unknown[]) => void calls.push([name, ...parameters]))
      }
      const responses = await flow(deployment)
      expect(responses.map(({ status }) => status)).to.deep.equal([400, 200, 400])
      expect(calls.map(([name]) => name)).to.deep.equal([
        'subject_token.issued',
        'subject_token.refused',
        'subject_token.exchanged',
        'subject_token.replayed',
      ])
      for (const call of calls) {
        expect(call).to.have.lengthOf(2)
        expectDeeplyFrozen(call[1])
      }
    }))

  const listeners: [title: string, listener: () => unknown][] = [
    [
      'throws',
      () => {
        throw new Error('listener')
      },
    ],
    [
      'throws undefined',
      () => {
        throw undefined
      },
    ],
    ['rejects', () => Promise.reject(new Error('listener'))],
    ['rejects later', () => new Promise((_, reject) => setImmediate(() => reject(new Error('listener'))))],
    ['hangs', () => new Promise(() => {})],
    [
      'returns a thenable that throws',
      () => ({
        // biome-ignore lint/suspicious/noThenProperty: that is the test
        then() {
          throw new Error('listener')
        },
      }),
    ],
  ]
  for (const [title, listener] of listeners) {
    it(`reach the other listeners, and change no response, when a listener ${title}`, async () => {
      const unhandled: unknown[] = []
      const listen = (error: unknown) => void unhandled.push(error)
      process.on('unhandledRejection', listen)
      try {
        await withDeployment({}, async (deployment) => {
          const later: string[] = []
          for (const name of EVENTS) {
            deployment.provider.on(name, listener as () => void)
            deployment.provider.on(name, () => void later.push(name))
          }
          const responses = await flow(deployment)
          expect(responses.map(({ status }) => status)).to.deep.equal([400, 200, 400])
          expect(later).to.have.lengthOf(4)
          expect(deployment.errors).to.deep.equal([])
        })
        await new Promise((resolve) => setImmediate(resolve))
        expect(unhandled).to.deep.equal([])
      } finally {
        process.off('unhandledRejection', listen)
      }
    })
  }

  it("come next to the provider's own, which has the access token as for other grants", () =>
    withDeployment({}, async (deployment) => {
      const ids: unknown[] = []
      deployment.provider.on('grant.success', ({ oidc }) => void ids.push(oidc.entities.AccessToken?.jti))
      const { subjectToken } = await issue(deployment)
      const { body } = await exchange(deployment, { subject_token: subjectToken })
      expect(ids.at(-1)).to.equal(decodeJwt(body.access_token).jti)
    }))

  it('cannot be changed by one listener for the next', () =>
    withDeployment({}, async (deployment) => {
      const seen: unknown[] = []
      deployment.provider.on('subject_token.exchanged', (payload) => {
        Object.assign(payload, { userId: 'mallory' })
      })
      deployment.provider.on('subject_token.exchanged', ({ userId }) => void seen.push(userId))
      const { subjectToken } = await issue(deployment)
      expect((await exchange(deployment, { subject_token: subjectToken })).status).to.equal(200)
      expect(seen).to.deep.equal(['alice'])
    }))

  it('are frozen down to the last actor of a chain', () =>
    withDeployment({ options: { maxDelegationDepth: 2 } }, async (deployment) => {
      const actor = withActor(await actorJwt(deployment, { act: { sub: 'carol' } }))
      const { subjectToken } = await issue(deployment)
      await exchange(deployment, { subject_token: subjectToken, scope: 'unknown', ...actor })
      await exchange(deployment, { subject_token: subjectToken, ...actor })
      const [, refused, exchanged] = deployment.events
      for (const event of [refused, exchanged]) {
        expect(event?.payload).to.have.nested.property('actor.act.sub', 'carol')
        expectDeeplyFrozen(event?.payload)
      }
    }))

  it('reach a listener that was added with `once` only once', () =>
    withDeployment({}, async (deployment) => {
      const seen: string[] = []
      deployment.provider.once('subject_token.issued', ({ id }) => void seen.push(id))
      const { id } = await issue(deployment)
      await issue(deployment)
      expect(seen).to.deep.equal([id])
    }))
})
