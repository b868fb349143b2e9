/** When the custom claims function is called, and where its result goes (protocol.md §4, §5). */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { actorJwt, actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { listener, withClaims } from '../../fixtures/claims-function.ts'
import { API, type Deployment, OPAQUE_API } from '../../fixtures/deployment.ts'
import { list, statesOf } from '../../fixtures/management.ts'
import { exchange, introspect, issue } from '../../fixtures/requests.ts'
import type { CustomClaimsRequest } from '../../src/index.ts'

describe('token exchange: custom claims', () => {
  describe('the time it is called', () => {
    it('is once for every exchange, while the subject token is unspent', async () => {
      const states: unknown[] = []
      const place: { deployment?: Deployment } = {}
      const ask = async () => {
        if (place.deployment) states.push(...statesOf(await list(place.deployment)))
        return {}
      }
      await withClaims(ask, async (deployment) => {
        place.deployment = deployment
        const { subjectToken } = await issue(deployment)
        expect((await exchange(deployment, { subject_token: subjectToken })).status).to.equal(200)
        expect(states).to.deep.equal(['active'])
      })
    })

    it('is not at issuance, and not for a request that is refused earlier', async () => {
      const { asked, ask } = listener()
      await withClaims(ask, async (deployment) => {
        const { subjectToken } = await issue(deployment)
        await exchange(deployment, { subject_token: subjectToken, resource: 'https://unknown.example.com' })
        await exchange(deployment, { subject_token: 'unknown' })
        await exchange(deployment, { subject_token: subjectToken, scope: 'unknown' })
        expect(asked).to.deep.equal([])
      })
    })

    it('is not for other grants', async () => {
      const { asked, ask } = listener({ mark: true })
      await withClaims(ask, async (deployment) => {
        const token = await actorToken(deployment, { format: 'jwt' })
        expect(decodeJwt(token)).not.to.have.property('mark')
        expect(asked).to.deep.equal([])
      })
    })
  })

  describe('the result', () => {
    const results: [title: string, ask: (request: CustomClaimsRequest) => object | Promise<object>][] = [
      ['returned synchronously', () => ({ team: 'support', level: 2 })],
      ['resolved later', async () => ({ team: 'support', level: 2 })],
      ['without prototype', () => Object.assign(Object.create(null), { team: 'support', level: 2 })],
    ]
    for (const [title, ask] of results) {
      for (const resource of [API, OPAQUE_API]) {
        it(`${title} appears at the top level of the token for ${resource}`, () =>
          withClaims(ask, async (deployment) => {
            const { subjectToken } = await issue(deployment)
            const { body } = await exchange(deployment, { subject_token: subjectToken, resource })
            const token = body.access_token
            const claims = resource === API ? decodeJwt(token) : await introspect(deployment, token)
            expect(claims).to.include({ team: 'support', level: 2, sub: 'alice' })
          }))
      }
    }

    it('may contain every JSON value, with any member names', () => {
      const claims = {
        a: [1, [2], { b: null }],
        t: true,
        f: 0.5,
        s: '',
        o: {},
        toString: 'x',
        hasOwnProperty: 1,
      }
      return withClaims(
        () => claims,
        async (deployment) => {
          const { subjectToken } = await issue(deployment)
          const response = await exchange(deployment, { subject_token: subjectToken })
          expect(response.status, String(deployment.errors[0])).to.equal(200)
          expect(decodeJwt(response.body.access_token)).to.deep.include(claims)
        },
      )
    })

    it('is copied: what the function does to it later changes nothing', async () => {
      const claims = { team: 'support', list: [1] }
      const ask = () => {
        setTimeout(() => Object.assign(claims, { team: 'changed' }), 0)
        queueMicrotask(() => claims.list.push(2))
        return claims
      }
      await withClaims(ask, async (deployment) => {
        const { subjectToken } = await issue(deployment)
        const { body } = await exchange(deployment, { subject_token: subjectToken, resource: OPAQUE_API })
        const token = await introspect(deployment, body.access_token)
        expect(token.team).to.equal('support')
      })
    })

    it('{} adds nothing', () =>
      withClaims(
        () => ({}),
        async (deployment) => {
          const { subjectToken } = await issue(deployment)
          const { body } = await exchange(deployment, { subject_token: subjectToken, scope: 'orders:read' })
          const names = ['iss', 'aud', 'sub', 'exp', 'iat', 'client_id', 'jti', 'scope', 'status']
          expect(decodeJwt(body.access_token)).to.have.all.keys(names)
        },
      ))

    it('does not follow the user into tokens of other grants', () =>
      withClaims(
        () => ({ team: 'support' }),
        async (deployment) => {
          await exchange(deployment, { subject_token: (await issue(deployment)).subjectToken })
          expect(decodeJwt(await actorToken(deployment, { format: 'jwt' }))).not.to.have.property('team')
        },
      ))
  })

  it('appear next to act, which they cannot change', () =>
    withClaims(
      ({ context }) => ({ acting: context.actor?.sub ?? null }),
      async (deployment) => {
        for (const resource of [API, OPAQUE_API]) {
          const { subjectToken } = await issue(deployment)
          const actor = withActor(await actorJwt(deployment))
          const { body } = await exchange(deployment, { subject_token: subjectToken, resource, ...actor })
          const token = body.access_token
          const claims = resource === API ? decodeJwt(token) : await introspect(deployment, token)
          expect(claims).to.deep.include({ acting: 'bob', act: { sub: 'bob' } })
        }
      },
    ))
})
