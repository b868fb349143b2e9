/** The actor token (protocol.md §3.3): valid as introspection would say, to the second. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { actorJwt, actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { machineClient, publicClient, webClient } from '../../fixtures/clients.ts'
import { now, stopClock } from '../../fixtures/clock.ts'
import { API, type Deployment, startDeployment, withDeployment } from '../../fixtures/deployment.ts'
import { ACTOR_TOKEN_REFUSED } from '../../fixtures/refused.ts'
import { exchange, issue, managementToken, postToken } from '../../fixtures/requests.ts'
import { expectActorRefused } from './refusals.ts'

/** The life of actor tokens in seconds: `ttl.AccessToken` of the fixture. */
const LIFE = 3600

/** A client that may also get tokens for itself. */
const service = webClient({
  client_id: 'service',
  client_secret: 'service-secret',
  grant_types: ['client_credentials'],
  redirect_uris: [],
  response_types: [],
})
const pairwise = publicClient({ client_id: 'pairwise', subject_type: 'pairwise' })

describe('token exchange: the actor token', () => {
  let deployment: Deployment
  before(async () => {
    deployment = await startDeployment({
      clients: [service, pairwise],
      configuration: {
        subjectTypes: ['public', 'pairwise'],
        pairwiseIdentifier: (_ctx, accountId, client) => `${accountId}@${client.clientId}`,
      },
    })
  })
  after(() => deployment.close())

  const send = (subjectToken: string, actor: string) =>
    exchange(deployment, { subject_token: subjectToken, ...withActor(actor) })

  const refuses = (actor: string, check?: string) => expectActorRefused(deployment, actor, { check })

  for (const format of ['opaque', 'jwt'] as const) {
    describe(`in ${format} form`, () => {
      it('is named in act, with its account id', async () => {
        const { subjectToken } = await issue(deployment)
        const response = await send(subjectToken, await actorToken(deployment, { format }))
        expect(response.status, response.text).to.equal(200)
        const claims = decodeJwt(response.body.access_token)
        expect(claims.sub).to.equal('alice')
        expect(claims.act).to.deep.equal({ sub: 'bob' })
      })

      it('may be of another client and another audience', async () => {
        const { subjectToken } = await issue(deployment)
        const audience = 'https://elsewhere.example.com'
        const token = await actorToken(deployment, { format, clientId: 'web', audience })
        const response = await send(subjectToken, token)
        expect(response.status, response.text).to.equal(200)
      })

      it('may be used more than once', async () => {
        const token = await actorToken(deployment, { format })
        for (const userId of ['alice', 'dave']) {
          const { subjectToken } = await issue(deployment, { userId })
          expect((await send(subjectToken, token)).status).to.equal(200)
        }
      })

      it('satisfies a subject token bound to its account', async () => {
        const { subjectToken } = await issue(deployment, { actorId: 'bob' })
        expect((await send(subjectToken, await actorToken(deployment, { format }))).status).to.equal(200)
      })

      it('is refused without the openid scope', async () =>
        refuses(await actorToken(deployment, { format, scope: 'profile' })))

      it('is refused with a scope that only looks like openid', async () =>
        refuses(await actorToken(deployment, { format, scope: 'openid2 OpenID' })))

      it('is refused when the actor is the subject', async () =>
        refuses(await actorToken(deployment, { format, accountId: 'alice' }), 'actorIsNotSubject'))

      it('is refused when its account is disabled', () =>
        withDeployment({}, async (other) => {
          const token = await actorToken(other, { format, accountId: 'erin' })
          other.accounts.disable('erin')
          await expectActorRefused(other, token)
        }))

      it('is accepted until the second before it expires, and not in that second', async () => {
        const clock = stopClock()
        try {
          const token = await actorToken(deployment, { format })
          clock.tick(LIFE - 1)
          const { subjectToken } = await issue(deployment)
          const response = await send(subjectToken, token)
          expect(response.status, response.text).to.equal(200)
          clock.tick(1)
          await refuses(token)
        } finally {
          clock.restore()
        }
      })
    })
  }

  describe('that is no access token of ours', () => {
    it('is refused as the token of a client that is named like an account', async () => {
      const client = machineClient({ client_id: 'bob', scope: 'openid' })
      await withDeployment({ clients: [client] }, async (deployment) => {
        const request = { grant_type: 'client_credentials', resource: API, scope: 'openid' }
        const own = await postToken(deployment, request, { client })
        expect(own.body.scope).to.equal('openid')
        const { subjectToken } = await issue(deployment, { userId: 'alice' })
        const actor = withActor(own.body.access_token)
        const response = await exchange(deployment, { subject_token: subjectToken, ...actor })
        expect([response.status, response.body]).to.deep.equal([400, ACTOR_TOKEN_REFUSED])
        expect(deployment.events.at(-1)?.payload).to.include({ reason: 'a token of the client itself' })
      })
    })

    const garbage: [title: string, value: string][] = [
      ['one character', 'x'],
      ['one space', ' '],
      ['only dots', '..'],
      ['dots and garbage', 'a.b.c'],
      ['five parts, as an encrypted token has', 'a.b.c.d.e'],
      ['a NUL', '\0'],
      ['characters beyond ASCII', '🎭.🎭.🎭'],
      ['50,000 characters', 'a'.repeat(50_000)],
      ['50,000 dots', '.'.repeat(50_000)],
    ]
    for (const [title, value] of garbage) {
      it(`is refused: ${title}`, () => refuses(value))
    }

    it('is refused: a subject token', async () => refuses((await issue(deployment)).subjectToken))

    it('is refused: a management token', async () => refuses(await managementToken(deployment)))

    it('is refused: a token of a client for itself, with the openid scope', async () => {
      const parameters = { grant_type: 'client_credentials', resource: API, scope: 'openid' }
      const { body } = await postToken(deployment, parameters, { client: service })
      expect(body.scope).to.equal('openid')
      await refuses(body.access_token)
    })

    it('is refused: an opaque token of a client for itself', async () => {
      const { body } = await postToken(
        deployment,
        { grant_type: 'client_credentials', scope: 'openid' },
        { client: service },
      )
      expect(body.access_token).not.to.include('.')
      await refuses(body.access_token)
    })

    it('is refused: an ID token', async () =>
      refuses(await actorJwt(deployment, { aud: 'spa', nonce: 'n' }, { header: { typ: 'JWT' } })))

    it('is refused: an ID token that the provider signed', async () => {
      const client = await deployment.provider.Client.find('spa')
      if (!client) throw new Error('no client')
      const ctx = { oidc: { client, issuer: deployment.issuer, provider: deployment.provider, params: {} } }
      const token = new deployment.provider.IdToken({ sub: 'bob' }, { ctx: ctx as never, client } as never)
      token.set('sub', 'bob')
      token.set('scope', 'openid')
      token.set('client_id', 'spa')
      await refuses(await token.issue({ use: 'idtoken' }))
    })

    it('is refused: a refresh token', async () => {
      const client = await deployment.provider.Client.find('spa')
      const token = new deployment.provider.RefreshToken({
        accountId: 'bob',
        client,
        scope: 'openid',
      } as never)
      await refuses(await token.save())
    })
  })

  describe('as a stored token', () => {
    it('is accepted without a grant', async () => {
      const { subjectToken } = await issue(deployment)
      const response = await send(subjectToken, await actorToken(deployment, { withGrant: false }))
      expect(response.status, response.text).to.equal(200)
    })

    it('is refused when it was revoked', async () => {
      const token = await actorToken(deployment)
      await (await deployment.provider.AccessToken.find(token))?.destroy()
      await refuses(token)
    })

    it('is refused when its grant has ended', async () => {
      const token = await actorToken(deployment)
      const { grantId } = (await deployment.provider.AccessToken.find(token)) ?? {}
      await deployment.provider.Grant.adapter.destroy(grantId ?? '')
      await refuses(token)
    })

    it('is refused in the second its grant expires', async () => {
      const clock = stopClock()
      try {
        const grant = new deployment.provider.Grant({ clientId: 'spa', accountId: 'bob' })
        Object.assign(grant, { iat: now(), exp: now() + 60 })
        const token = await stored(deployment, { grantId: await grant.save() })
        const { subjectToken } = await issue(deployment)
        clock.tick(59)
        expect((await send(subjectToken, token)).status).to.equal(200)
        clock.tick(1)
        await refuses(token)
      } finally {
        clock.restore()
      }
    })

    it('is refused when its grant belongs to another client', async () => {
      const grant = new deployment.provider.Grant({ clientId: 'web', accountId: 'bob' })
      await refuses(await stored(deployment, { grantId: await grant.save() }))
    })

    it('is refused when its grant belongs to another account', async () => {
      const grant = new deployment.provider.Grant({ clientId: 'spa', accountId: 'carol' })
      await refuses(await stored(deployment, { grantId: await grant.save() }))
    })

    it('is accepted while the session it is bound to exists, and refused once that has ended', async () => {
      const { provider } = deployment
      const grant = new provider.Grant({ clientId: 'spa', accountId: 'bob' })
      const grantId = await grant.save()
      const session = Object.assign(new provider.Session(), {
        accountId: 'bob',
        authorizations: { spa: { grantId } },
      })
      await session.save(600)
      const token = await stored(deployment, { grantId, expiresWithSession: true, sessionUid: session.uid })
      const { subjectToken } = await issue(deployment)
      expect((await send(subjectToken, token)).status).to.equal(200)
      await session.destroy()
      await refuses(token)
    })

    it('is refused when another account has logged in to the session it is bound to', async () => {
      const { provider } = deployment
      const grant = new provider.Grant({ clientId: 'spa', accountId: 'bob' })
      const grantId = await grant.save()
      const session = Object.assign(new provider.Session(), {
        accountId: 'dave',
        authorizations: { spa: { grantId } },
      })
      await session.save(600)
      await refuses(await stored(deployment, { grantId, expiresWithSession: true, sessionUid: session.uid }))
    })

    it('may be of a pairwise client, and is named by its account id', async () => {
      const { subjectToken } = await issue(deployment)
      const response = await send(subjectToken, await actorToken(deployment, { clientId: 'pairwise' }))
      expect(response.status, response.text).to.equal(200)
      expect(decodeJwt(response.body.access_token).act).to.deep.equal({ sub: 'bob' })
    })
  })
})

/** A stored access token of bob with members of its own. */
async function stored({ provider }: Deployment, members: Readonly<Record<string, unknown>>): Promise<string> {
  const client = await provider.Client.find('spa')
  const token = new provider.AccessToken({
    accountId: 'bob',
    client,
    gty: 'authorization_code',
    scope: 'openid',
    ...members,
  } as never)
  return token.save()
}
