/** No input can make the spend fail forever: what a database cannot store is refused before it (protocol.md §2.1, §3.2). */
import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import type { ResourceServer } from 'oidc-provider'
import { actorJwt, actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { machineClient, publicClient } from '../../fixtures/clients.ts'
import { DATABASES } from '../../fixtures/databases.ts'
import { type Deployment, type DeploymentOverrides, startDeployment } from '../../fixtures/deployment.ts'
import { list, show } from '../../fixtures/management.ts'
import { beforeOn } from '../../fixtures/on-database.ts'
import { exchange, issue, managementToken, postSubjectToken } from '../../fixtures/requests.ts'
import { expectActorRefused, expectRefused } from './refusals.ts'

const ASTRAL = '🎭'
/** Longer than a column, and too irregular for an index to compress. */
const TOO_LONG = randomBytes(4000).toString('hex')

const NAMES: [title: string, name: string][] = [
  ['with a NUL', 'bob\0'],
  ['that is nothing but a NUL', '\0'],
  ['of 256 characters', 'b'.repeat(256)],
  ['of 256 characters beyond the basic plane', ASTRAL.repeat(256)],
  ['of 8,000 characters', TOO_LONG],
  ['with a lone surrogate', 'bob\ud800'],
]

const longest = publicClient({ client_id: 'c'.repeat(255) })
const tooLong = publicClient({ client_id: TOO_LONG })
const longBackend = machineClient({ client_id: TOO_LONG.slice(0, 1100) })

/** A resource and scopes that do not fit into the constraints of a subject token. */
const LONG_RESOURCE = `https://api.example.com/${'r'.repeat(5000)}`
const LONG_SCOPE = Array.from({ length: 256 }, (_, index) => `scope-${index}-${'s'.repeat(60)}`).join(' ')
const resources: Record<string, ResourceServer> = {
  [LONG_RESOURCE]: {
    scope: LONG_SCOPE,
    audience: LONG_RESOURCE,
    accessTokenFormat: 'jwt',
    jwt: { sign: { alg: 'ES256' } },
  },
  'https://api.example.com': {
    scope: 'orders:read',
    audience: 'https://api.example.com',
    accessTokenFormat: 'jwt',
    jwt: { sign: { alg: 'ES256' } },
  },
}

for (const kind of DATABASES) {
  describe(`token exchange: names that cannot be stored, on ${kind}`, () => {
    let deployment: Deployment
    const asked: string[] = []
    beforeOn(kind, async () => {
      const overrides: DeploymentOverrides = {
        database: kind,
        clients: [longest, tooLong, longBackend],
        resources,
        options: { maxDelegationDepth: 3 },
        configuration: {
          async findAccount(_ctx, id) {
            asked.push(id)
            return { accountId: id, claims: () => ({ sub: id }) }
          },
        },
      }
      deployment = await startDeployment(overrides)
    })
    after(() => deployment?.close())

    for (const [title, name] of NAMES) {
      it(`refuses an actor ${title} like an invalid actor token, and never looks it up`, async () => {
        for (const format of ['opaque', 'jwt'] as const) {
          await expectActorRefused(deployment, await actorToken(deployment, { accountId: name, format }))
        }
        expect(asked).not.to.include(name)
      })

      it(`refuses a link ${title} in the chain of an actor`, async () => {
        await expectActorRefused(deployment, await actorJwt(deployment, { act: { sub: name } }))
        const act = { sub: 'carol', act: { sub: name } }
        await expectActorRefused(deployment, await actorJwt(deployment, { act }), { validActor: 'dave' })
      })
    }

    it('accepts names of 255 characters beyond the basic plane, and finds them again', async () => {
      const [actor, inner] = [ASTRAL.repeat(255), `${ASTRAL.repeat(254)}x`]
      const { subjectToken, id } = await issue(deployment, { userId: `y${ASTRAL.repeat(254)}` })
      const token = await actorJwt(deployment, { sub: actor, act: { sub: inner } })
      const response = await exchange(
        deployment,
        { subject_token: subjectToken, ...withActor(token) },
        { client: longest },
      )
      expect(response.status, response.text).to.equal(200)
      const { body } = await list(deployment, { actorId: actor })
      expect(body.items).to.have.lengthOf(1)
      expect(body.items[0]).to.deep.include({ id, usedBy: 'c'.repeat(255) })
      expect(body.items[0].actor).to.deep.include({ sub: actor, act: { sub: inner } })
    })

    it('refuses an actor token of a client whose id is too long', async () =>
      expectActorRefused(deployment, await actorToken(deployment, { clientId: TOO_LONG })))

    it('refuses a client whose id is too long, like one that may not exchange', async () => {
      await expectRefused(deployment, {
        attempt: (subjectToken) => exchange(deployment, { subject_token: subjectToken }, { client: tooLong }),
        error: 'invalid_request',
        description: 'requested grant type is not allowed for this client',
        check: 'request',
      })
    })

    it('fails for a backend whose id is too long, and says so to the operator', async () => {
      const token = await managementToken(deployment, { client: longBackend })
      const failures = deployment.errors.length
      const response = await postSubjectToken(deployment, { userId: 'alice' }, token)
      expect([response.status, response.body.error], response.text).to.deep.equal([500, 'server_error'])
      expect(response.headers.get('retry-after')).to.equal(null)
      expect(String(deployment.errors[failures])).to.include('id of the client')
    })

    it('keeps a resource and a scope of any length', async () => {
      const { subjectToken, id } = await issue(deployment)
      const response = await exchange(deployment, {
        subject_token: subjectToken,
        resource: LONG_RESOURCE,
        scope: LONG_SCOPE,
      })
      expect(response.status, response.text).to.equal(200)
      expect((await show(deployment, id)).body).to.include({ resource: LONG_RESOURCE, scope: LONG_SCOPE })
    })
  })
}
