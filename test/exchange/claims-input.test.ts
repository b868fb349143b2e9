/** What the custom claims function receives (protocol.md §5.2). */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { listener, withClaims } from '../../fixtures/claims-function.ts'
import { publicClient } from '../../fixtures/clients.ts'
import { now } from '../../fixtures/clock.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import { TOKEN_EXCHANGE } from '../../src/index.ts'

function expectDeeplyFrozen(value: unknown, path = 'input'): void {
  if (typeof value !== 'object' || value === null) return
  expect(value, path).to.be.frozen
  for (const key of Reflect.ownKeys(value))
    expectDeeplyFrozen(Reflect.get(value, key), `${path}.${String(key)}`)
}

describe('token exchange: custom claims', () => {
  describe('the input', () => {
    it('is exactly what protocol.md §5.2 lists, without an actor', async () => {
      const { asked, ask } = listener()
      const environmentVariables = { region: 'eu', nested: { on: true } }
      await withClaims(
        ask,
        async (deployment) => {
          const context = { ticketId: 'T-1', list: [1, { two: null }] }
          const { id, subjectToken } = await issue(deployment, { userId: 'alias:alice', context })
          const { body } = await exchange(deployment, { subject_token: subjectToken })
          const { jti, iat, exp } = decodeJwt(body.access_token)
          expect(asked).to.deep.equal([
            {
              token: { jti, sub: 'alice', aud: API, clientId: 'spa', iat, exp },
              context: {
                grant: {
                  type: TOKEN_EXCHANGE,
                  kind: 'impersonation',
                  subjectTokenId: id,
                  subjectTokenContext: context,
                },
                user: { id: 'alice' },
                client: { id: 'spa' },
              },
              environmentVariables,
            },
          ])
          expect(jti).to.be.a('string')
          expect(iat).to.be.closeTo(now(), 2)
          expect(exp).to.equal((iat ?? 0) + 600)
        },
        { options: { environmentVariables } },
      )
    })

    it('names the scope that was granted and the actor, with the account id', async () => {
      const { asked, ask } = listener()
      await withClaims(ask, async (deployment) => {
        const { subjectToken } = await issue(deployment)
        const actor = withActor(await actorToken(deployment, { clientId: 'web' }))
        const scope = 'orders:read orders:delete'
        await exchange(deployment, { subject_token: subjectToken, scope, ...actor })
        expect(asked[0]?.token.scope).to.equal('orders:read')
        expect(asked[0]?.context.actor).to.deep.equal({ sub: 'bob', clientId: 'web' })
      })
    })

    it('has no jti for an opaque token, whose id is its value', async () => {
      const { asked, ask } = listener()
      await withClaims(ask, async (deployment) => {
        const { subjectToken } = await issue(deployment)
        const { body } = await exchange(deployment, { subject_token: subjectToken, resource: OPAQUE_API })
        expect(asked[0]?.token).not.to.have.property('jti')
        expect(asked[0]?.token.aud).to.equal(OPAQUE_API)
        expect(JSON.stringify(asked)).not.to.include(body.access_token)
        expect(JSON.stringify(asked)).not.to.include(subjectToken)
      })
    })

    it('has an empty context when none was sent, and an empty environment by default', async () => {
      const { asked, ask } = listener()
      await withClaims(ask, async (deployment) => {
        const { subjectToken } = await issue(deployment)
        await exchange(deployment, { subject_token: subjectToken })
        expect(asked[0]?.context.grant.subjectTokenContext).to.deep.equal({})
        expect(asked[0]?.environmentVariables).to.deep.equal({})
      })
    })

    it('keeps __proto__ in the context as a member, and changes no prototype', async () => {
      const { asked, ask } = listener()
      await withClaims(ask, async (deployment) => {
        const context = JSON.parse('{"__proto__":{"admin":true},"inner":{"__proto__":1},"constructor":"x"}')
        const { subjectToken } = await issue(deployment, { context })
        await exchange(deployment, { subject_token: subjectToken })
        const seen = asked[0]?.context.grant.subjectTokenContext ?? {}
        expect(JSON.stringify(seen)).to.equal(JSON.stringify(context))
        expect(Object.hasOwn(seen, '__proto__')).to.equal(true)
        expect(Object.getPrototypeOf(seen)).to.equal(Object.prototype)
        expect(Reflect.get({}, 'admin')).to.equal(undefined)
      })
    })

    it('keeps every JSON value in the context as it was sent', async () => {
      const { asked, ask } = listener()
      await withClaims(ask, async (deployment) => {
        const context = {
          n: [0, -1.5, 1e21, 5e-324],
          t: ['', '🎫 \u2028 \u007f', '\u00e9', 'e\u0301'],
          x: [null, true, {}],
        }
        const { subjectToken } = await issue(deployment, { context })
        await exchange(deployment, { subject_token: subjectToken })
        expect(asked[0]?.context.grant.subjectTokenContext).to.deep.equal(context)
      })
    })

    it('names the subject pairwise for a pairwise client, and the user by the account id', async () => {
      const { asked, ask } = listener()
      const client = publicClient({ client_id: 'pairwise', subject_type: 'pairwise' })
      await withClaims(
        ask,
        async (deployment) => {
          const { subjectToken } = await issue(deployment)
          const actor = withActor(await actorToken(deployment))
          const { body } = await exchange(deployment, { subject_token: subjectToken, ...actor }, { client })
          expect(asked[0]?.token.sub).to.equal('pairwise of alice')
          expect(decodeJwt(body.access_token).sub).to.equal('pairwise of alice')
          expect(asked[0]?.context.user.id).to.equal('alice')
          expect(asked[0]?.context.actor?.sub).to.equal('bob')
        },
        {
          clients: [client],
          configuration: {
            subjectTypes: ['public', 'pairwise'],
            pairwiseIdentifier: (_ctx, accountId) => `pairwise of ${accountId}`,
          },
        },
      )
    })

    it('is frozen to the last member', async () => {
      const { asked, ask } = listener()
      await withClaims(
        ask,
        async (deployment) => {
          const { subjectToken } = await issue(deployment, { context: { a: [{ b: {} }] } })
          const actor = withActor(await actorToken(deployment))
          await exchange(deployment, { subject_token: subjectToken, ...actor })
          expectDeeplyFrozen(asked[0])
        },
        { options: { environmentVariables: { deep: { er: [1] } } } },
      )
    })

    it('is a copy for each exchange', async () => {
      const { asked, ask } = listener()
      await withClaims(
        ask,
        async (deployment) => {
          for (const _ of [1, 2]) {
            await exchange(deployment, { subject_token: (await issue(deployment)).subjectToken })
          }
          expect(asked[0]?.environmentVariables).not.to.equal(asked[1]?.environmentVariables)
          expect(asked[0]?.token.jti).not.to.equal(asked[1]?.token.jti)
        },
        { options: { environmentVariables: { region: 'eu' } } },
      )
    })
  })
})
