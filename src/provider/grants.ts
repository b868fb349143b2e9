/**
 * The one import of oidc-provider's module for custom grants. It is outside semantic versioning, so it is
 * named here once and the peer range is held to one minor release.
 */
import type { X509Certificate } from 'node:crypto'
import type { Account, Client, errors, Provider, TokenEndpointGrantContext } from 'oidc-provider'
import * as grants from 'oidc-provider/lib/helpers/grants.js'
import { proofRefused } from '../refusals.ts'

/** The request of a grant, as the provider hands it to the handler. Its parameters are the handler's to name. */
export type GrantContext = TokenEndpointGrantContext

/** What proves that the sender holds a key: at most one of the two ends up in the token. */
export interface SenderConstraint {
  readonly dPoP?: grants.DPoPValidationResult
  readonly certificate?: string | X509Certificate
}

export const validateDpop = (ctx: GrantContext) => grants.validateDpop(ctx.oidc.provider, ctx)
export const checkMtlsCert = (ctx: GrantContext) => grants.checkMtlsCert(ctx.oidc.provider, ctx)
export const checkDpopRequired = (ctx: GrantContext, { dPoP }: SenderConstraint) =>
  grants.checkDpopRequired(ctx.oidc.provider, ctx, dPoP)

/** Records the DPoP proof, and refuses one that was seen before (RFC 9449 §11.1). */
export async function recordProof(ctx: GrantContext, { dPoP }: SenderConstraint): Promise<void> {
  try {
    await grants.checkDpopReplay(ctx.oidc.provider, ctx, dPoP, ctx.oidc.client.clientId)
  } catch (error) {
    throw proofRefused(error)
  }
}

/** The resource servers that the request's `resource`, or `defaultResource`, names (RFC 8707). */
export function requestedResourceServers(ctx: GrantContext) {
  return grants.resolveRequestedResources(ctx.oidc.provider, ctx)
}

/** Whether the client's `scope` metadata, where present, lets it ask for this scope of the provider's own. */
export function clientMayRequest(ctx: GrantContext, scope: string, InvalidScope: typeof errors.InvalidScope) {
  try {
    grants.validateClientScope(ctx.oidc.provider, ctx, [scope])
    return true
  } catch (error) {
    if (error instanceof InvalidScope) return false
    throw error
  }
}

/** A context whose `oidc` belongs to the provider: the token endpoint's, or one made for the management API. */
export type AccountContext = Omit<TokenEndpointGrantContext, 'oidc'> & {
  oidc: { readonly provider: Provider; readonly client?: Client | undefined }
}

/**
 * The account that `findAccount` answers, checked for its shape. `source` is the access token that names the
 * account, where there is one.
 */
export function findAccount(
  ctx: AccountContext,
  accountId: string,
  source?: object,
): Promise<Account | undefined> {
  return grants.findAccount(ctx.oidc.provider, ctx as TokenEndpointGrantContext, accountId, source)
}

export const buildTokenResponse = grants.buildTokenResponse
