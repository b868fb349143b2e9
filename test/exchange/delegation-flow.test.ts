/** Delegation from a real login to its record (issue 4): chains, keys, ends, and no one is framed. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { actorJwt, actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { stopClock } from '../../fixtures/clock.ts'
import { API, type Deployment, OPAQUE_API } from '../../fixtures/deployment.ts'
import { dpopKey } from '../../fixtures/dpop.ts'
import { onEachDatabase } from '../../fixtures/each-database.ts'
import { credentials, form, type Parameters, send } from '../../fixtures/http.ts'
import { login, loginClient } from '../../fixtures/logins.ts'
import { manage, show } from '../../fixtures/management.ts'
import { exchange, introspect, issue, postSubjectToken } from '../../fixtures/requests.ts'
import { AccessDenied, type ImpersonationOptions, type PolicyRequest } from '../../src/index.ts'
import { expectActorRefused, expectRefused, onlyEvent } from './refusals.ts'

const pairwise = loginClient({ client_id: 'pairwise', subject_type: 'pairwise' })
const clients = [loginClient(), pairwise]
const configuration = {
  subjectTypes: ['public', 'pairwise'] as ('public' | 'pairwise')[],
  pairwiseIdentifier: (_ctx: unknown, accountId: string, client: { clientId: string }) =>
    `${accountId}@${client.clientId}`,
  features: { revocation: { enabled: true, allowedPolicy: () => true } } as never,
}

const actOf = (chain: readonly string[]): object | undefined =>
  chain.reduceRight<object | undefined>((act, sub) => ({ sub, ...(act && { act }) }), undefined)

describe('token exchange: delegation, from the login', () => {
  for (const depth of [2, 3]) {
    describe(`with maxDelegationDepth ${depth}`, () => {
      onEachDatabase({ options: { maxDelegationDepth: depth }, clients, configuration }, (on) => {
        const become = async (userId: string, actor: string, changes: Parameters = {}) => {
          const { subjectToken, id } = await issue(on.deployment, { userId })
          const parameters = { subject_token: subjectToken, scope: 'openid', ...withActor(actor), ...changes }
          const answer = await exchange(on.deployment, parameters)
          return { ...answer, id }
        }

        for (const resource of [undefined, API]) {
          it(`nests from a login ${resource ? 'with a JWT' : 'with an opaque token'} until the depth is used up`, async () => {
            let { access_token: token } = (await login(on.deployment, { resource })).tokens
            const chain = ['bob']
            for (const [index, userId] of ['alice', 'carol', 'dave', 'erin'].slice(0, depth).entries()) {
              const answer = await become(userId, token, { resource: index % 2 === 0 ? OPAQUE_API : API })
              expect([answer.status, answer.body.scope], answer.text).to.deep.equal([200, 'openid'])
              expect(answer.body).not.to.have.any.keys('refresh_token', 'id_token')
              token = answer.body.access_token
              const claims = index % 2 === 0 ? await introspect(on.deployment, token) : decodeJwt(token)
              expect([claims.sub, claims.act]).to.deep.equal([userId, actOf(chain)])

              const { clientId, ...shown } = (await show(on.deployment, answer.id)).body.actor
              expect(shown).to.deep.equal(actOf(chain))
              expect(clientId).to.equal(index === 0 ? 'portal' : 'spa')
              const told = on.deployment.events.at(-1)
              expect(told?.name).to.equal('subject_token.exchanged')
              expect(told?.payload).to.have.deep.property('actor', { ...shown, clientId })
              chain.unshift(userId)
            }
            expect(chain).to.have.lengthOf(depth + 1)
            const userId = 'erin'
            await expectActorRefused(on.deployment, token, {
              check: 'maxDelegationDepth',
              userId,
              validActor: 'bob',
            })
          })
        }

        it('names subject and actors pairwise for a pairwise client, and by account in record and event', async () => {
          const { tokens } = await login(on.deployment)
          const alice = await become('alice', tokens.access_token)
          for (const resource of [API, OPAQUE_API]) {
            const { subjectToken, id } = await issue(on.deployment, { userId: 'carol' })
            const parameters = {
              subject_token: subjectToken,
              resource,
              ...withActor(alice.body.access_token),
            }
            const { body, text } = await exchange(on.deployment, parameters, { client: pairwise })
            const token = body.access_token
            expect(token, text).to.be.a('string')
            const { sub, act } = resource === API ? decodeJwt(token) : await introspect(on.deployment, token)
            expect([sub, act]).to.deep.equal(['carol@pairwise', actOf(['alice@pairwise', 'bob@pairwise'])])
            const item = (await show(on.deployment, id)).body
            expect([item.userId, item.actor.sub, item.actor.act]).to.deep.equal([
              'carol',
              'alice',
              { sub: 'bob' },
            ])
            expect(on.deployment.events.at(-1)?.payload).to.have.nested.property('actor.act.sub', 'bob')
          }
        })

        it('accepts a login of a pairwise client if its token is opaque, and names the account', async () => {
          const { tokens } = await login(on.deployment, { client: pairwise })
          const answer = await become('alice', tokens.access_token)
          expect(decodeJwt(answer.body.access_token).act).to.deep.equal({ sub: 'bob' })
          const jwt = await login(on.deployment, { client: pairwise, resource: API })
          await expectActorRefused(on.deployment, jwt.tokens.access_token)
        })

        it('frames no one: without an actor, no request gets a token that could act', async () => {
          const asked: [issued: Parameters, parameters: Parameters][] = [
            [{}, { scope: 'openid' }],
            [{}, { scope: 'openid orders:read' }],
            [{ scope: 'openid' }, { scope: 'openid' }],
            [{ scope: 'openid orders:read' }, { scope: 'orders:read openid openid' }],
            [{}, { scope: 'openid offline_access orders:read' }],
            [{}, { scope: 'openid orders:read', actor_token: '', actor_token_type: '' }],
            [{}, {}],
          ]
          for (const resource of [API, OPAQUE_API]) {
            for (const [issued, parameters] of asked) {
              const { subjectToken } = await issue(on.deployment, issued)
              const answer = await exchange(on.deployment, {
                subject_token: subjectToken,
                resource,
                ...parameters,
              })
              const { access_token: token, scope } = answer.body
              if (answer.status === 400) {
                expect(answer.body.error, answer.text).to.equal('invalid_scope')
                continue
              }
              expect([answer.status, scope?.split(' ').includes('openid') ?? false]).to.deep.equal([
                200,
                false,
              ])
              await expectActorRefused(on.deployment, token, { userId: 'dave' })
            }
          }
        })

        it('is no way into the management API', async () => {
          const { tokens } = await login(on.deployment)
          for (const resource of [API, OPAQUE_API]) {
            const { body } = await become('alice', tokens.access_token, { resource })
            for (const [method, path] of [
              ['GET', ''],
              ['POST', ''],
              ['DELETE', '?userId=alice'],
            ] as const) {
              const answer = await manage(on.deployment, method, path, { token: body.access_token })
              expect([answer.status, answer.body.error]).to.deep.equal([401, 'invalid_token'])
            }
          }
        })

        it('needs a proof of the key that a login is bound to, and binds the issued token to that key', async () => {
          const [key, other] = [await dpopKey(), await dpopKey()]
          for (const resource of [undefined, API]) {
            const headers = { dpop: await key.proof(on.deployment) }
            const { tokens } = await login(on.deployment, { resource, headers })
            expect(tokens.token_type).to.equal('DPoP')
            await expectActorRefused(on.deployment, tokens.access_token)
            const wrong = { dpop: await other.proof(on.deployment) }
            await expectActorRefused(on.deployment, tokens.access_token, { headers: wrong })
            const { subjectToken } = await issue(on.deployment)
            const proven = await exchange(
              on.deployment,
              { subject_token: subjectToken, ...withActor(tokens.access_token) },
              { headers: { dpop: await key.proof(on.deployment) } },
            )
            expect([proven.status, proven.body.token_type], proven.text).to.deep.equal([200, 'DPoP'])
            const { cnf, act } = decodeJwt(proven.body.access_token)
            expect([cnf, act]).to.deep.equal([{ jkt: key.thumbprint }, { sub: 'bob' }])
          }
        })

        const ends: [
          title: string,
          end: (on: Deployment, session: Awaited<ReturnType<typeof login>>) => Promise<unknown>,
        ][] = [
          ['its Grant is destroyed', ({ provider }, { grantId }) => provider.Grant.adapter.destroy(grantId)],
          ['its session is destroyed', (_on, { session }) => session.destroy()],
          [
            'its refresh token is revoked at the revocation endpoint',
            async ({ issuer }, { tokens }) => {
              const { body } = credentials(loginClient())
              const revocation = form({ ...body, token: tokens.refresh_token })
              const answer = await send(`${issuer}/token/revocation`, { method: 'POST', body: revocation })
              expect(answer.status, answer.text).to.equal(200)
            },
          ],
        ]
        for (const [title, end] of ends) {
          it(`refuses a login once ${title}, and keeps what was delegated before`, async () => {
            const session = await login(on.deployment, { withSession: true })
            const before = await become('alice', session.tokens.access_token, { resource: OPAQUE_API })
            expect(before.status, before.text).to.equal(200)
            await end(on.deployment, session)
            await expectActorRefused(on.deployment, session.tokens.access_token)
            expect((await introspect(on.deployment, before.body.access_token)).active).to.equal(true)
          })
        }

        it('refuses a delegated token once its subject token was revoked, or it expired', async () => {
          const clock = stopClock()
          try {
            const { tokens } = await login(on.deployment)
            const [revoked, expired] = [
              await become('alice', tokens.access_token, { resource: OPAQUE_API }),
              await become('alice', tokens.access_token, { resource: OPAQUE_API }),
            ]
            await manage(on.deployment, 'DELETE', `/${revoked.id}`)
            await expectActorRefused(on.deployment, revoked.body.access_token, { userId: 'dave' })
            clock.tick(600)
            await expectActorRefused(on.deployment, expired.body.access_token, { userId: 'dave' })
          } finally {
            clock.restore()
          }
        })
      })
    })
  }
})

describe('token exchange: a refusal names its check', () => {
  onEachDatabase({}, (on) => {
    type Case = [
      check: string,
      options: Partial<ImpersonationOptions>,
      error: string,
      parameters: () => Promise<Parameters>,
    ]
    const bob = async () => withActor(await actorJwt(on.deployment))
    const none = async () => ({})
    const cases: Case[] = [
      [
        'actorIsNotSubject',
        {},
        'invalid_request',
        async () => withActor(await actorJwt(on.deployment, { sub: 'alice' })),
      ],
      ['requireActor', { requireActor: true }, 'invalid_request', none],
      ['requiredContext', { requiredContext: ['ticketId', 'reason'] }, 'access_denied', bob],
      [
        'maxDelegationDepth',
        { maxDelegationDepth: 2 },
        'invalid_request',
        async () => withActor(await actorJwt(on.deployment, { act: actOf(['carol', 'dave']) })),
      ],
      ['isAllowed', { isAllowed: ({ stage }: PolicyRequest) => stage === 'issuance' }, 'access_denied', bob],
      [
        'getCustomJwtClaims',
        {
          getCustomJwtClaims: () => {
            throw new AccessDenied('private: ticket is closed')
          },
        },
        'access_denied',
        none,
      ],
    ]
    for (const [check, options, error, parameters] of cases) {
      it(`${check}, in the event and never in the response, and spends nothing`, async () => {
        const strict = await on.start({ issuer: on.deployment.issuer, options })
        const { subjectToken, id } = await issue(on.deployment, { context: { ticketId: 'T-1' } })
        const answer = await exchange(strict, { subject_token: subjectToken, ...(await parameters()) })
        expect([answer.status, answer.body.error], answer.text).to.deep.equal([400, error])
        for (const secret of [check, 'private', 'reason', 'carol']) expect(answer.text).not.to.include(secret)
        const event = onlyEvent(strict, 'subject_token.refused')
        expect(event).to.include({ check, error, stage: 'exchange' })
        expect(event.id ?? id).to.equal(id)
        // If the rule does not apply, the same token still works.
        const lenient = await exchange(on.deployment, { subject_token: subjectToken })
        expect(lenient.status, lenient.text).to.equal(200)
      })
    }

    it('at the issuance, too', async () => {
      const strict = await on.start({ options: { isAllowed: () => false } })
      const answers = [
        await postSubjectToken(strict, { userId: 'alice', actorId: 'alice' }),
        await postSubjectToken(strict, { userId: 'alice' }),
      ]
      for (const answer of answers) {
        expect([answer.status, answer.text]).to.deep.equal([403, answers[0]?.text])
      }
      const checks = strict.events.map(({ payload }) => 'check' in payload && payload.check)
      expect(checks).to.deep.equal(['actorIsNotSubject', 'isAllowed'])
    })

    it('of an actor constraint: a missing actor, and another actor', async () => {
      for (const [attempt, valid] of [
        [none, bob],
        [async () => withActor(await actorToken(on.deployment, { accountId: 'carol' })), bob],
      ] as const) {
        await expectRefused(on.deployment, {
          issued: { actorId: 'bob' },
          attempt: async (token) => exchange(on.deployment, { subject_token: token, ...(await attempt()) }),
          valid: async (token) => exchange(on.deployment, { subject_token: token, ...(await valid()) }),
          error: 'invalid_request',
          description: 'subject_token is invalid',
          check: 'subject_token',
        })
      }
    })
  })
})
