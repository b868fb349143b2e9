/**
 * Token exchange as one writes it by hand on top of oidc-provider, after its documentation of custom grants: the
 * subject token is an access token, and the actor goes into `act`. It works, and that is all it was tried for.
 */
import {
  type Configuration,
  errors,
  type KoaContextWithOIDC,
  Provider,
  type ResourceServer,
} from 'oidc-provider'

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'

const PARAMETERS = [
  'audience',
  'resource',
  'scope',
  'requested_token_type',
  'subject_token',
  'subject_token_type',
  'actor_token',
  'actor_token_type',
]

type GetResourceServerInfo = (ctx: unknown, resource: string) => ResourceServer

export interface TutorialOptions {
  readonly issuer: string
  readonly configuration: Configuration
  readonly getResourceServerInfo: GetResourceServerInfo
}

const actors = new WeakMap<object, string>()

export function tutorialProvider({
  issuer,
  configuration,
  getResourceServerInfo,
}: TutorialOptions): Provider {
  const provider = new Provider(issuer, {
    ...configuration,
    extraTokenClaims: (ctx) => {
      const sub = actors.get(ctx)
      return sub === undefined ? undefined : { act: { sub } }
    },
  })
  provider.registerGrantType(
    TOKEN_EXCHANGE,
    async (ctx) => {
      ctx.body = await exchange(provider, ctx, getResourceServerInfo)
    },
    PARAMETERS,
    ['audience', 'resource'],
  )
  return provider
}

async function exchange(
  provider: Provider,
  ctx: KoaContextWithOIDC,
  getResourceServerInfo: GetResourceServerInfo,
): Promise<Readonly<Record<string, unknown>>> {
  const { client, params } = ctx.oidc
  const {
    subject_token: subjectToken,
    actor_token: actorToken,
    scope,
    resource,
  } = params as Record<string, string>
  if (!client || !subjectToken) throw new errors.InvalidRequest('subject_token is required')
  const subject = await provider.AccessToken.find(subjectToken)
  if (!subject) throw new errors.InvalidGrant('the subject token is invalid')
  if (actorToken) {
    const actor = await provider.AccessToken.find(actorToken)
    if (!actor) throw new errors.InvalidGrant('the actor token is invalid')
    actors.set(ctx, actor.accountId)
  }
  const token = new provider.AccessToken({
    accountId: subject.accountId,
    client,
    grantId: subject.grantId ?? '',
    gty: TOKEN_EXCHANGE,
    scope: scope ?? subject.scope ?? '',
  })
  const [first] = [resource].flat()
  if (first) {
    token.resourceServer = new provider.ResourceServer(first, getResourceServerInfo(ctx, first))
  }
  return {
    access_token: await token.save(),
    issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    token_type: 'Bearer',
    expires_in: token.expiration,
    scope: token.scope,
  }
}
