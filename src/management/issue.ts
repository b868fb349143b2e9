import { type Account, errors, type Provider } from 'oidc-provider'
import { assertPolicyAllows } from '../callbacks/policy.ts'
import { epochTime } from '../clock.ts'
import { emit } from '../events.ts'
import type { ResolvedOptions } from '../options.ts'
import { isStorableName, MAX_NAME_LENGTH } from '../plain-json.ts'
import { findAccount } from '../provider/grants.ts'
import { checkOf, misconfigured, reasonOf } from '../refusals.ts'
import { mintId } from '../subject-tokens/id.ts'
import { hashSecret, mintSecret } from '../subject-tokens/secret.ts'
import type { SubjectTokenStore } from '../subject-tokens/store.ts'
import type { SubjectToken } from '../subject-tokens/subject-token.ts'
import type { ManagementContext } from './authenticate.ts'
import { readJsonObject } from './body.ts'
import { userNotFound } from './errors.ts'
import { type IssueRequest, parseIssueRequest } from './issue-request.ts'

interface Issuer {
  readonly provider: Provider
  readonly store: SubjectTokenStore
  readonly options: ResolvedOptions
  /** The collection the new token joins; never built from the Host header. */
  readonly location: string
}

/** `POST /subject-tokens` (CONTRACT §2.1): one subject token for an account that exists. */
export async function issueSubjectToken(ctx: ManagementContext, issuer: Issuer): Promise<void> {
  const { provider, store, options, location } = issuer
  const request = parseIssueRequest(await readJsonObject(ctx), options)
  const account = await findAccount(ctx, request.userId)
  if (!account) throw userNotFound()
  assertStorable(ctx, account)
  await assertIssuanceAllowed(ctx, issuer, request, account)

  const { expiresIn, ...constraints } = request
  const createdAt = epochTime()
  const token: SubjectToken = {
    ...constraints,
    id: mintId(),
    issuer: provider.issuer,
    // What findAccount answers, not what was asked for: an alias must not become a `sub`.
    userId: account.accountId,
    createdBy: ctx.oidc.client.clientId,
    createdAt,
    expiresAt: createdAt + expiresIn,
  }
  const secret = mintSecret()
  await store.insert({ ...token, tokenHash: hashSecret(secret) })
  emitIssued(provider, token)

  ctx.status = 201
  ctx.set('Location', `${location}/${token.id}`)
  ctx.body = { subjectToken: secret, expiresIn }
}

/** What is stored and comes from the deployment. The store would fail over it for ever. */
function assertStorable(ctx: ManagementContext, { accountId }: Account): void {
  if (!isStorableName(accountId)) {
    throw misconfigured({
      private: `findAccount answered an accountId of more than ${MAX_NAME_LENGTH} characters, or with NUL`,
    })
  }
  if (!isStorableName(ctx.oidc.client.clientId)) {
    throw misconfigured({ private: `the id of the client has more than ${MAX_NAME_LENGTH} characters` })
  }
}

async function assertIssuanceAllowed(
  ctx: ManagementContext,
  { provider, options }: Issuer,
  { actorId, clientId, context, resource, scope }: IssueRequest,
  account: Account,
): Promise<void> {
  const createdBy = ctx.oidc.client.clientId
  try {
    await assertPolicyAllows(options, {
      stage: 'issuance',
      userId: account.accountId,
      account,
      ...(actorId !== undefined && { actor: { sub: actorId, verified: false } }),
      ...(clientId !== undefined && { client: { id: clientId } }),
      createdBy: { id: createdBy },
      context,
      resource,
      scope,
    })
  } catch (error) {
    if (error instanceof errors.AccessDenied) {
      emit(provider, 'subject_token.refused', {
        stage: 'issuance',
        error: error.error,
        check: checkOf(error) ?? error.error,
        reason: reasonOf(error),
        clientId: createdBy,
        userId: account.accountId,
        actor: actorId === undefined ? undefined : { sub: actorId },
        resource,
        scope,
      })
    }
    throw error
  }
}

function emitIssued(provider: Provider, token: SubjectToken): void {
  const { id, userId, createdBy, clientId, actorId, resource, scope, expiresAt } = token
  emit(provider, 'subject_token.issued', {
    id,
    userId,
    createdBy,
    clientId,
    actorId,
    resource,
    scope,
    expiresAt,
  })
}
