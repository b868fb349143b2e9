/** docs/integrate.md, "The engineer's token": one sign-in gives a token that acts, and one for the application's own API. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { Middleware } from 'koa'
import type { ClientMetadata } from 'oidc-provider'
import * as openid from 'openid-client'
import { Browser } from '../../../example/demo/browser.ts'
import { allowWhatIsMissing } from '../../../example/login/grant.ts'
import { withActor } from '../../../fixtures/actor-tokens.ts'
import { CALLBACK, publicClient, webClient } from '../../../fixtures/clients.ts'
import { API, type Deployment, withDeployment } from '../../../fixtures/deployment.ts'
import type { HttpResponse } from '../../../fixtures/http.ts'
import { usePrograms } from '../../../fixtures/markdown.ts'
import { exchange, introspect, issue } from '../../../fixtures/requests.ts'

const GRANTS = { grant_types: [...(publicClient().grant_types ?? []), 'refresh_token'] }
const CLIENTS: Readonly<Record<string, ClientMetadata>> = {
  'public client': publicClient({ client_id: 'support-desk', ...GRANTS }),
  'confidential client': webClient({ client_id: 'support-desk', ...GRANTS }),
}

/** Bob's sign-in at the application, as he does it in a browser. */
interface SignIn {
  readonly application: openid.Configuration
  /** Resolves to where the browser returns to. */
  authorize(parameters?: Readonly<Record<string, string>>): Promise<URL>
  /** For its authorization code. */
  readonly checks: openid.AuthorizationCodeGrantChecks
}

describe("docs: the engineer's token", () => {
  const programs = usePrograms('docs/integrate.md')

  /** The provider of the page, with `changes` to its resource indicators. */
  async function signingIn(
    client: ClientMetadata,
    changes: Readonly<Record<string, unknown>>,
    use: (deployment: Deployment, signIn: SignIn) => Promise<void>,
  ): Promise<void> {
    const { features } = await programs.load('engineers-token.ts')
    const resourceIndicators = { ...features.resourceIndicators, ...changes }
    let deployment: Deployment
    /** The pages of the provider: they ask nothing. */
    const signIn: Middleware = async (ctx, next) => {
      const { provider } = deployment
      ctx.app.keys = provider.keys
      if (ctx.path !== '/sign-in') return next()
      const interaction = await provider.interactionDetails(ctx.req, ctx.res)
      const result =
        interaction.prompt.name === 'login'
          ? { login: { accountId: 'bob' } }
          : { consent: { grantId: await allowWhatIsMissing(provider, interaction) } }
      ctx.respond = false
      await provider.interactionFinished(ctx.req, ctx.res, result, { mergeWithLastSubmission: true })
    }
    const configuration = { interactions: { url: () => '/sign-in' }, features: { resourceIndicators } }
    await withDeployment({ clients: [client], configuration, before: [signIn] }, async (own) => {
      deployment = own
      const secret = client.client_secret ? openid.ClientSecretBasic(client.client_secret) : openid.None()
      const application = await openid.discovery(new URL(own.issuer), client.client_id, undefined, secret, {
        execute: [openid.allowInsecureRequests],
      })
      const pkceCodeVerifier = openid.randomPKCECodeVerifier()
      const browser = new Browser(fetch, CALLBACK)
      const authorize = async (parameters = {}) =>
        browser.visit(
          openid.buildAuthorizationUrl(application, {
            redirect_uri: CALLBACK,
            scope: 'openid offline_access orders:read',
            prompt: 'consent',
            code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
            code_challenge_method: 'S256',
            ...parameters,
          }),
        )
      await use(own, { application, authorize, checks: { pkceCodeVerifier } })
    })
  }

  const exchangedBy = async (
    deployment: Deployment,
    client: ClientMetadata,
    actorToken: string,
  ): Promise<HttpResponse> => {
    const { subjectToken } = await issue(deployment, { actorId: 'bob' })
    return exchange(deployment, { subject_token: subjectToken, ...withActor(actorToken) }, { client })
  }

  const expectActs = async (deployment: Deployment, client: ClientMetadata, token: string): Promise<void> => {
    const { status, text, body } = await exchangedBy(deployment, client, token)
    expect(status, text).to.equal(200)
    expect(decodeJwt(body.access_token)).to.deep.include({ sub: 'alice', act: { sub: 'bob' } })
    expect(await introspect(deployment, token)).to.include({ active: true, sub: 'bob' })
  }

  const expectOfApi = (token: string): void => {
    expect(token, 'a JWT').to.match(/^[\w-]+\.[\w-]+\.[\w-]+$/)
    expect(decodeJwt(token)).to.deep.include({ sub: 'bob', aud: API, scope: 'orders:read' })
  }

  for (const [kind, client] of Object.entries(CLIENTS)) {
    describe(`of a ${kind}`, () => {
      it('is missing where the provider uses the granted resource for every client', async () => {
        await signingIn(client, { useGrantedResource: () => true }, async (deployment, signIn) => {
          const { application, authorize, checks } = signIn
          const callback = await authorize()
          const tokens = await openid.authorizationCodeGrant(application, callback, checks)
          expectOfApi(tokens.access_token)
          const { status, body } = await exchangedBy(deployment, client, tokens.access_token)
          expect([status, body.error_description]).to.deep.equal([400, 'actor_token is invalid'])
        })
      })

      it('comes with the code, and a refresh brings the token of the API, and another that acts', async () => {
        const { signedIn } = await programs.load('engineers-sign-in.ts')
        await signingIn(client, {}, async (deployment, { application, authorize, checks }) => {
          const tokens = await signedIn(application, await authorize(), checks)
          await expectActs(deployment, client, tokens.actorToken)
          expectOfApi(tokens.apiToken)
          const later = await openid.refreshTokenGrant(application, tokens.refreshToken)
          await expectActs(deployment, client, later.access_token)
        })
      })

      it('comes without a default resource, where the authorization request names the API', async () => {
        const { signedIn } = await programs.load('engineers-sign-in.ts')
        const none = { defaultResource: undefined, useGrantedResource: undefined }
        await signingIn(client, none, async (deployment, { application, authorize, checks }) => {
          const tokens = await signedIn(application, await authorize({ resource: API }), checks)
          await expectActs(deployment, client, tokens.actorToken)
          expectOfApi(tokens.apiToken)
        })
      })

      it('comes without refresh tokens, where a second authorization request brings the token of the API', async () => {
        await signingIn(client, {}, async (deployment, { application, authorize, checks }) => {
          const acting = await openid.authorizationCodeGrant(application, await authorize(), checks)
          await expectActs(deployment, client, acting.access_token)
          const callback = await authorize({ prompt: 'none' })
          const own = await openid.authorizationCodeGrant(application, callback, checks, { resource: API })
          expectOfApi(own.access_token)
        })
      })
    })
  }

  it('needs prompt=consent for a refresh token', async () => {
    const { signedIn } = await programs.load('engineers-sign-in.ts')
    const client = publicClient({ client_id: 'support-desk', ...GRANTS })
    await signingIn(client, {}, async (_deployment, { application, authorize, checks }) => {
      await authorize()
      const callback = await authorize({ prompt: '' })
      const error = await signedIn(application, callback, checks).catch((thrown: unknown) => thrown)
      expect(error).to.have.property('message', 'no refresh token')
    })
  })
})
