/** What the deployment's functions are asked about an example, as its requests would ask them. */
import type { Account } from 'oidc-provider'
import { epochTime } from '../../clock.ts'
import { TOKEN_EXCHANGE } from '../../constants.ts'
import type {
  CustomClaimsRequest,
  ImpersonationPolicyRequest,
  OnBehalfOfPolicyRequest,
} from '../../options.ts'
import type { JsonObject } from '../../plain-json.ts'
import type { Deployment, Example, Step } from './module.ts'
import { resourceLookUp } from './resources.ts'

/** The engineer, signed in at the application: the actor token is its own. */
const actorOf = ({ actorId, clientId }: Example) =>
  actorId === undefined ? undefined : { sub: actorId, clientId }

/** At the issuance, all that the example names is a constraint. An opaque actor token has no audience. */
export function policyRequest(
  stage: 'issuance' | 'exchange',
  example: Example,
  account: Account,
): ImpersonationPolicyRequest {
  const { clientId, createdBy, resource, scope, context } = example
  const actor = actorOf(example)
  return {
    stage,
    use: 'exchange',
    userId: account.accountId,
    account,
    ...(actor &&
      (stage === 'exchange'
        ? { actor: { ...actor, audiences: [], verified: true } }
        : { actor: { sub: actor.sub, verified: false } })),
    client: { id: clientId },
    createdBy: { id: createdBy },
    context: context as JsonObject,
    resource,
    ...(scope !== undefined && { scope }),
  }
}

/** What the step of an API begins with. */
export interface Begun {
  readonly account: Account
  readonly subjectTokenId: string
  /** Of the access token that the API received. */
  readonly claims: JsonObject
}

/** The first API, with the access token that the example's exchange issues. */
export async function stepRequest(
  deployment: Deployment,
  { example, step, begun }: { readonly example: Example; readonly step: Step; readonly begun: Begun },
): Promise<OnBehalfOfPolicyRequest> {
  const { clientId, createdBy, resource, scope, context } = example
  const { account, subjectTokenId } = begun
  const actor = actorOf(example)
  return {
    stage: 'onBehalfOf',
    userId: account.accountId,
    account,
    ...(actor && { actor: { ...actor, verified: true } }),
    client: { id: step.clientId },
    through: [],
    subjectToken: {
      clientId,
      audience: await audienceOf(deployment, clientId, resource),
      ...(scope !== undefined && { scope }),
      bound: false,
    },
    resource: step.resource,
    ...(step.scope !== undefined && { scope: step.scope }),
    createdBy: { id: createdBy },
    context: context as JsonObject,
    subjectTokenId,
    use: 'exchange',
  }
}

/** What `aud` of the client's access tokens says; the resource where that cannot be told. */
async function audienceOf(deployment: Deployment, clientId: string, resource: string): Promise<string> {
  const client = await deployment.inside.provider.Client.find(clientId).catch(() => undefined)
  const found = client && (await resourceLookUp(deployment)(resource, client))
  return typeof found === 'object' ? found.audience : resource
}

interface ClaimsExample {
  readonly example: Example
  /** Of the access token that is issued. */
  readonly issued: Pick<Step, 'clientId' | 'resource' | 'scope'>
  readonly account: Account
  readonly kind: Omit<CustomClaimsRequest['context']['grant'], 'type' | 'subjectTokenContext'>
}

/** For an opaque access token: there is no `jti`. */
export function claimsRequest(
  { options }: Deployment['inside'],
  { example, issued: { clientId, resource, scope }, account, kind }: ClaimsExample,
): Omit<CustomClaimsRequest, 'environmentVariables'> {
  const actor = actorOf(example)
  const iat = epochTime()
  return {
    token: {
      sub: account.accountId,
      aud: resource,
      ...(scope !== undefined && { scope }),
      clientId,
      iat,
      exp: iat + options.maxAccessTokenTTL,
    },
    context: {
      grant: { type: TOKEN_EXCHANGE, subjectTokenContext: example.context as JsonObject, ...kind },
      user: { id: account.accountId },
      client: { id: clientId },
      ...(actor && { actor }),
    },
  }
}
