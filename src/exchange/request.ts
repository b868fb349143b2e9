import type { TokenEndpointGrantContext } from 'oidc-provider'
import { ACCESS_TOKEN_TYPE } from '../base/constants.ts'
import {
  audienceRefused,
  grantNotAllowed,
  invalidParameter,
  scopeRefused,
  targetRefused,
} from '../base/errors.ts'
import { isResourceIndicator, isStorableName } from '../base/json.ts'

/** A token exchange request that keeps the rules of RFC 8693 §2.1. */
export interface ExchangeRequest {
  readonly subjectToken: string
  /** Came together with its type, so later stages need only the token. */
  readonly actorToken?: string
  readonly scopes: readonly string[]
}

/** Every parameter that is read here: the provider silently strips those it is not told about. */
export const PARAMETERS = [
  'subject_token',
  'subject_token_type',
  'actor_token',
  'actor_token_type',
  'requested_token_type',
  'resource',
  'scope',
  'audience',
  'authorization_details',
] as const

/** Parameters whose repetition is refused here, with an error of their own (RFC 8693 §2.2.2). */
export const REPEATABLE = ['resource', 'audience'] as const

/** The request as the provider passes it on. It has refused the repetition of every other parameter. */
export type ExchangeContext = TokenEndpointGrantContext<{
  [Name in (typeof PARAMETERS)[number]]?: Name extends (typeof REPEATABLE)[number]
    ? string | string[]
    : string
}>

/** The limit counts what was sent, repeats included: a refused request leaves the subject token unused, and can be repeated. */
const MAX_SCOPES = 256

export function parseRequest(ctx: ExchangeContext): ExchangeRequest {
  const { client, params } = ctx.oidc
  if (client.clientIdMetadataDocument)
    throw grantNotAllowed({ private: 'the client describes itself in a metadata document' })
  // The record of the spend holds the client id: one that no store can keep would fail every time.
  if (!isStorableName(client.clientId)) throw grantNotAllowed({ private: 'the id of the client is too long' })

  // Read from the body, because the provider drops an empty list of authorization details.
  if (ctx.oidc.body?.authorization_details)
    throw invalidParameter({ public: 'authorization_details is not supported' })
  if (!params.subject_token) throw invalidParameter({ public: 'subject_token is required' })
  if (!params.subject_token_type) throw invalidParameter({ public: 'subject_token_type is required' })
  assertTokenType('subject_token_type', params.subject_token_type)
  assertTokenType('requested_token_type', params.requested_token_type)
  if (params.audience) throw audienceRefused()
  if (Array.isArray(params.resource)) throw targetRefused({ private: 'more than one resource' })
  if (params.resource !== undefined && !isResourceIndicator(params.resource)) {
    throw targetRefused({ private: 'not an absolute URI without fragment' })
  }
  return {
    subjectToken: params.subject_token,
    actorToken: parseActorToken(ctx),
    scopes: parseScopes(params.scope),
  }
}

/** RFC 6749 §3.3. The provider has checked the syntax. */
function parseScopes(scope: string | undefined): string[] {
  const names = scope?.split(' ') ?? []
  if (names.length > MAX_SCOPES)
    throw scopeRefused({ public: `more than ${MAX_SCOPES} scopes were requested` })
  return [...new Set(names)]
}

function parseActorToken(ctx: ExchangeContext): string | undefined {
  const { actor_token: token, actor_token_type: type } = ctx.oidc.params
  if (token && !type) throw invalidParameter({ public: 'actor_token_type is required with actor_token' })
  if (type && !token) throw invalidParameter({ public: 'actor_token is required with actor_token_type' })
  assertTokenType('actor_token_type', type)
  return token
}

function assertTokenType(parameter: string, type: string | undefined): void {
  if (type && type !== ACCESS_TOKEN_TYPE) throw invalidParameter({ public: `${parameter} is not supported` })
}
