/** The policy at the management API (protocol.md §2.4, §5.1): isAllowed, requiredContext, and no one impersonates themselves. */
import { expect } from 'chai'
import { QueryTypes } from 'sequelize'
import { tooLate } from '../../fixtures/clock.ts'
import { API, type Deployment, withDeployment } from '../../fixtures/deployment.ts'
import type { HttpResponse } from '../../fixtures/http.ts'
import { managementToken, postSubjectToken } from '../../fixtures/requests.ts'
import { AccessDenied, type ImpersonationOptions, type PolicyRequest } from '../../src/index.ts'

type Post = (body?: Readonly<Record<string, unknown>>) => Promise<HttpResponse>

const withOptions = (
  options: Partial<ImpersonationOptions>,
  use: (post: Post, deployment: Deployment) => Promise<void>,
) =>
  withDeployment({ options: { customClaimsTimeout: 1, ...options } }, async (deployment) => {
    const token = await managementToken(deployment)
    await use((body = {}) => postSubjectToken(deployment, { userId: 'alice', ...body }, token), deployment)
  })

async function expectNothingStored({ database }: Deployment): Promise<void> {
  const rows = await database.sequelize.query('SELECT id FROM subject_tokens', { type: QueryTypes.SELECT })
  expect(rows).to.deep.equal([])
}

async function expectDenied(deployment: Deployment, response: HttpResponse, check: string): Promise<void> {
  expect([response.status, response.body], response.text).to.deep.equal([
    403,
    { error: 'access_denied', error_description: 'the request was denied by policy' },
  ])
  expect(response.headers.get('www-authenticate')).to.match(/^Bearer realm="[^"]+", error="access_denied"/)
  expect(response.headers.get('cache-control')).to.equal('no-store')
  expect(deployment.events.map(({ name }) => name)).to.deep.equal(['subject_token.refused'])
  const [event] = deployment.events
  expect(event?.payload).to.include({ stage: 'issuance', error: 'access_denied', check, clientId: 'backend' })
  expect(event?.payload).to.be.frozen
  await expectNothingStored(deployment)
}

/** A bad request, not a denial: only the caller learns of it. */
async function expectMissing(deployment: Deployment, response: HttpResponse, key: string): Promise<void> {
  const description = `context.${key} is required, and must not be blank`
  expect([response.status, response.body], response.text).to.deep.equal([
    400,
    { error: 'invalid_request', error_description: description },
  ])
  expect(response.headers.get('www-authenticate')).to.equal(null)
  expect(response.headers.get('cache-control')).to.equal('no-store')
  expect(deployment.events).to.deep.equal([])
  await expectNothingStored(deployment)
}

function throwing(error: unknown): never {
  throw error
}

describe('management: the policy', () => {
  describe('isAllowed', () => {
    it('receives the constraints, with an actor that is not verified, frozen', async () => {
      const asked: PolicyRequest[] = []
      const isAllowed = (request: PolicyRequest) => asked.push(request) > 0
      await withOptions({ isAllowed }, async (post) => {
        const context = { ticketId: 'T-1', nested: { a: [1] } }
        const constraints = { clientId: 'spa', actorId: 'bob', resource: API, scope: 'orders:read' }
        const response = await post({ userId: 'alias:alice', context, ...constraints })
        expect(response.status, response.text).to.equal(201)
        const { account, ...question } = asked[0] as PolicyRequest
        expect(account.accountId).to.equal('alice')
        expect(question).to.deep.equal({
          stage: 'issuance',
          use: 'exchange',
          userId: 'alice',
          actor: { sub: 'bob', verified: false },
          client: { id: 'spa' },
          createdBy: { id: 'backend' },
          context,
          resource: API,
          scope: 'orders:read',
        })
        for (const part of [asked[0], question.actor, question.client, question.context?.nested]) {
          expect(part).to.be.frozen
        }
      })
    })

    it('receives no actor, client, resource and scope if there are none', async () => {
      const asked: PolicyRequest[] = []
      const isAllowed = async (request: PolicyRequest) => asked.push(request) > 0
      await withOptions({ isAllowed }, async (post) => {
        expect((await post()).status).to.equal(201)
        const { actor, client, resource, scope, context } = asked[0] as PolicyRequest
        expect([actor, client, resource, scope]).to.deep.equal([undefined, undefined, undefined, undefined])
        expect(context).to.deep.equal({})
      })
    })

    it('is not called for a user that does not exist', async () => {
      const asked: unknown[] = []
      await withOptions({ isAllowed: (request) => asked.push(request) > 0 }, async (post) => {
        expect((await post({ userId: 'nobody' })).status).to.equal(404)
        expect(asked).to.deep.equal([])
      })
    })

    for (const [title, isAllowed] of [
      ['false', () => false],
      ['false later', async () => false],
    ] as const) {
      it(`that returns ${title} is 403, and one event`, () =>
        withOptions({ isAllowed }, async (post, deployment) =>
          expectDenied(deployment, await post({ actorId: 'bob', resource: API }), 'isAllowed'),
        ))
    }

    it('that denies is reported with the user, the actor and the target in the event', () =>
      withOptions({ isAllowed: () => false }, async (post, deployment) => {
        await post({ actorId: 'bob', resource: API, scope: 'orders:read' })
        expect(deployment.events[0]?.payload).to.deep.equal({
          stage: 'issuance',
          error: 'access_denied',
          check: 'isAllowed',
          reason: 'isAllowed returned false',
          clientId: 'backend',
          userId: 'alice',
          actor: { sub: 'bob' },
          resource: API,
          scope: 'orders:read',
        })
      }))

    it('that throws AccessDenied is 403, and its reason is in the event', () =>
      withOptions(
        { isAllowed: () => throwing(new AccessDenied('not on duty')) },
        async (post, deployment) => {
          const response = await post()
          expect(response.text).not.to.include('duty')
          await expectDenied(deployment, response, 'isAllowed')
          expect(deployment.events[0]?.payload).to.include({ reason: 'not on duty' })
          expect(deployment.errors).to.deep.equal([])
        },
      ))

    const failures: [title: string, isAllowed: () => unknown][] = [
      ['throws', () => throwing(new Error('private'))],
      ['rejects', () => Promise.reject(new Error('private'))],
      ['returns undefined', () => undefined],
      ['returns 1', () => 1],
      ['returns an object', () => ({})],
      ['takes longer than the limit', () => tooLate(1)],
    ]
    for (const [title, isAllowed] of failures) {
      it(`that ${title} is 500, and its reason stays private`, () =>
        withOptions({ isAllowed: isAllowed as () => boolean }, async (post, deployment) => {
          const response = await post()
          expect([response.status, response.body.error], response.text).to.deep.equal([500, 'server_error'])
          expect(response.text).not.to.include('private')
          expect(response.text).not.to.include('isAllowed')
          expect(response.headers.get('www-authenticate')).to.equal(null)
          expect(deployment.errors).to.have.lengthOf(1)
          expect(String(deployment.errors[0])).to.include('isAllowed')
          expect(deployment.events.map(({ name }) => name)).to.deep.equal(['impersonation.failed'])
          expect(deployment.events[0]?.payload).to.include({ door: 'management', check: 'isAllowed' })
          await expectNothingStored(deployment)
        }))
    }
  })

  describe('requiredContext', () => {
    const requiredContext = ['reason', 'ticketId']

    it('accepts a context that has every key', () =>
      withOptions({ requiredContext }, async (post) => {
        for (const value of ['x', 0, false, [], {}]) {
          const response = await post({ context: { reason: value, ticketId: 'T-1', more: 1 } })
          expect(response.status, response.text).to.equal(201)
        }
      }))

    const missing: [title: string, context: unknown, key?: string][] = [
      ['no context', undefined, 'reason'],
      ['an empty context', {}, 'reason'],
      ['one key missing', { reason: 'help' }],
      ['one key null', { reason: 'help', ticketId: null }],
      ['one key empty', { reason: 'help', ticketId: '' }],
      ['one key blank', { reason: 'help', ticketId: ' \t\n\u00a0' }],
      ['one key in another case', { reason: 'help', ticketid: 'T-1' }],
      ['one key further in', { reason: 'help', inner: { ticketId: 'T-1' } }],
    ]
    for (const [title, context, key = 'ticketId'] of missing) {
      it(`refuses ${title} as a bad request that names the key`, () =>
        withOptions({ requiredContext }, async (post, deployment) =>
          expectMissing(deployment, await post({ context }), key),
        ))
    }

    it('does not find a key on a prototype', () =>
      withOptions({ requiredContext: ['toString'] }, async (post, deployment) =>
        expectMissing(deployment, await post({ context: {} }), 'toString'),
      ))

    it('is checked after the fields, and before the user and the policy', async () => {
      const asked: unknown[] = []
      const isAllowed = (request: PolicyRequest) => asked.push(request) > 0
      await withOptions({ requiredContext, isAllowed }, async (post, deployment) => {
        const wrongField = await post({ expiresIn: 0 })
        expect(wrongField.body.error_description).to.match(/^expiresIn /)
        await expectMissing(deployment, await post({ userId: 'nobody' }), 'reason')
        await expectMissing(deployment, await post({ actorId: 'alice' }), 'reason')
        expect(asked).to.deep.equal([])
      })
    })
  })

  describe('an actorId', () => {
    it('that is the user is refused', () =>
      withOptions({}, async (post, deployment) =>
        expectDenied(deployment, await post({ actorId: 'alice' }), 'actorIsNotSubject'),
      ))

    it('that is the user, named by an alias, is refused', () =>
      withOptions({}, async (post, deployment) =>
        expectDenied(
          deployment,
          await post({ userId: 'alias:alice', actorId: 'alice' }),
          'actorIsNotSubject',
        ),
      ))
  })
})
