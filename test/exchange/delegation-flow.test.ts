/** Delegation from a real login to its record: chains, keys, ends, and no one is framed. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { withActor } from '../../fixtures/actor-tokens.ts'
import { stopClock } from '../../fixtures/clock.ts'
import { API, type Deployment, OPAQUE_API } from '../../fixtures/deployment.ts'
import { dpopKey } from '../../fixtures/dpop.ts'
import { onEachDatabase } from '../../fixtures/each-database.ts'
import { credentials, form, type Parameters, send } from '../../fixtures/http.ts'
import { login, loginClient } from '../../fixtures/logins.ts'
import { manage, show } from '../../fixtures/management.ts'
import { exchange, introspect, issue } from '../../fixtures/requests.ts'
import { expectActorRefused } from './refusals.ts'

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
          const response = await exchange(on.deployment, parameters)
          return { ...response, id }
        }

        for (const resource of [undefined, API]) {
          it(`nests from a login ${resource ? 'with a JWT' : 'with an opaque token'} until the depth is used up`, async () => {
            let { access_token: token } = (await login(on.deployment, { resource })).tokens
            const chain = ['bob']
            for (const [index, userId] of ['alice', 'carol', 'dave', 'erin'].slice(0, depth).entries()) {
              const response = await become(userId, token, { resource: index % 2 === 0 ? OPAQUE_API : API })
              expect([response.status, response.body.scope], response.text).to.deep.equal([200, 'openid'])
              expect(response.body).not.to.have.any.keys('refresh_token', 'id_token')
              token = response.body.access_token
              const claims = index % 2 === 0 ? await introspect(on.deployment, token) : decodeJwt(token)
              expect([claims.sub, claims.act]).to.deep.equal([userId, actOf(chain)])

              const { clientId, ...shown } = (await show(on.deployment, response.id)).body.actor
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
          const response = await become('alice', tokens.access_token)
          expect(decodeJwt(response.body.access_token).act).to.deep.equal({ sub: 'bob' })
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
              const response = await exchange(on.deployment, {
                subject_token: subjectToken,
                resource,
                ...parameters,
              })
              const { access_token: token, scope } = response.body
              if (response.status === 400) {
                expect(response.body.error, response.text).to.equal('invalid_scope')
                continue
              }
              expect([response.status, scope?.split(' ').includes('openid') ?? false]).to.deep.equal([
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
              const response = await manage(on.deployment, method, path, { token: body.access_token })
              expect([response.status, response.body.error]).to.deep.equal([401, 'invalid_token'])
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
              const response = await send(`${issuer}/token/revocation`, { method: 'POST', body: revocation })
              expect(response.status, response.text).to.equal(200)
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
