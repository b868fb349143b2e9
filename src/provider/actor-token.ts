/**
 * Reads an actor token: an access token of this provider, valid as introspection would judge it, without clock
 * tolerance. Opaque tokens are looked up, JWTs are verified; a token with a `status` is looked up by it, too.
 */
import type { AccessToken } from 'oidc-provider'
import { TOKEN_EXCHANGE } from '../constants.ts'
import { isPlainObject, isStorableName } from '../plain-json.ts'
import { actorTokenRefused } from '../refusals.ts'
import type { SubjectTokenStore } from '../subject-tokens/store.ts'
import type { ActClaim, SubjectToken, SubjectTokenUse } from '../subject-tokens/subject-token.ts'
import type { AccessTokenPayload } from './access-token-jwt.ts'
import { findClient } from './clients.ts'
import type { GrantContext } from './grants.ts'
import type { Settings } from './settings.ts'
import { readStatusIndex, type StatusLists } from './status-reference.ts'

export interface ActorToken {
  readonly accountId: string
  readonly clientId: string
  readonly audiences: readonly string[]
  readonly scopes: ReadonlySet<string>
  /** The earlier actors, who acted through this account. */
  readonly act?: ActClaim
  /** The key the token is bound to (RFC 7800): a DPoP key, a certificate, or none. */
  readonly confirmation: { readonly jkt?: string; readonly thumbprint?: string }
  /** The stored token of an opaque one, which is passed to `findAccount`. */
  readonly model?: AccessToken
}

/** What an actor token is read with. */
export interface ActorTokenReader {
  readonly settings: Pick<Settings, 'verifyAccessToken'>
  readonly store: Pick<SubjectTokenStore, 'findByStatusIndex'>
  /** Absent where the deployment has none. */
  readonly statusLists: StatusLists | undefined
}

/** An actor token, and whether it names people by account ids whatever the subjects of its client are. */
type Read = ActorToken & { readonly namesAccounts: boolean }

export async function findActorToken(
  ctx: GrantContext,
  reader: ActorTokenReader,
  value: string,
): Promise<ActorToken> {
  // An opaque token is base64url: only a JWT has dots.
  const read = value.includes('.') ? await readJwt(ctx, reader, value) : await readOpaque(ctx, reader, value)
  const { namesAccounts, ...token } = read
  assertStorable(token)
  const client = await findClient(ctx.oidc.provider, token.clientId)
  if (!client) throw actorTokenRefused({ private: 'its client is gone' })
  if (client.subjectType === 'pairwise' && !namesAccounts) {
    throw actorTokenRefused({
      private: 'of a client with pairwise subjects, which cannot be mapped to accounts',
    })
  }
  return token
}

/** The record that a `status` refers to. Refuses a token that was stopped, and one whose status is not ours. */
async function findRecord(
  ctx: GrantContext,
  { store, statusLists }: ActorTokenReader,
  status: unknown,
): Promise<SubjectToken & { readonly use: SubjectTokenUse }> {
  const index = statusLists && readStatusIndex(statusLists, status)
  if (index === undefined) throw actorTokenRefused({ private: 'its status is in no list of ours' })
  const record = await store.findByStatusIndex(ctx.oidc.issuer, index)
  if (!record) throw actorTokenRefused({ private: 'its status has no record' })
  if (record.revokedAt !== undefined) throw actorTokenRefused({ private: 'stopped' })
  const { use } = record
  // After a restore, the place may have been given to a later token.
  if (!use) throw actorTokenRefused({ private: 'its status is of a token that was not exchanged' })
  return { ...record, use }
}

/** The record of the spend holds these names: one that no store can keep would fail every time. */
function assertStorable({ accountId, clientId, act }: ActorToken): void {
  const links: unknown[] = []
  for (let link = act; link; link = link.act) links.push(link.sub)
  if (![accountId, clientId, ...links].every(isStorableName))
    throw actorTokenRefused({ private: 'a name that cannot be stored' })
}

async function readOpaque(ctx: GrantContext, reader: ActorTokenReader, value: string): Promise<Read> {
  const { provider } = ctx.oidc
  // Finds nothing for a token whose session has ended.
  const model = await provider.AccessToken.find(value)
  // `find` allows the provider's clock tolerance.
  if (!model?.isValid || !model.accountId || !model.clientId)
    throw actorTokenRefused({ private: 'unknown or expired' })
  if (model.grantId) await assertGrant(ctx, model)
  const act = await earlierActors(ctx, reader, model)
  return {
    accountId: model.accountId,
    clientId: model.clientId,
    audiences: readAudiences(model.aud),
    scopes: model.scopes,
    confirmation: { jkt: model.jkt, thumbprint: model['x5t#S256'] },
    model,
    ...act,
  }
}

/**
 * Who acted before. Of a token that was exchanged, only its record says so in account ids: the token says it as its
 * client knew these people then, and the subjects of the client may have changed since.
 */
async function earlierActors(
  ctx: GrantContext,
  reader: ActorTokenReader,
  { extra, gty, grantId }: AccessToken,
): Promise<Pick<Read, 'act' | 'namesAccounts'>> {
  if (gty !== TOKEN_EXCHANGE) {
    if (extra?.status !== undefined) await findRecord(ctx, reader, extra.status)
    const act = readAct(extra?.act)
    return { act, namesAccounts: act === undefined }
  }
  const { use } = await findRecord(ctx, reader, extra?.status)
  if (use.grantId !== grantId) throw actorTokenRefused({ private: 'its status is of another token' })
  return { act: use.actor && identitiesOf(use.actor), namesAccounts: true }
}

const identitiesOf = ({ sub, act }: ActClaim): ActClaim => (act ? { sub, act: identitiesOf(act) } : { sub })

async function assertGrant(ctx: GrantContext, { grantId, clientId, accountId }: AccessToken): Promise<void> {
  const grant = await ctx.oidc.provider.Grant.find(grantId, { ignoreExpiration: true })
  if (!grant?.isValid) throw actorTokenRefused({ private: 'its grant has ended' })
  if (grant.clientId !== clientId || grant.accountId !== accountId) {
    throw actorTokenRefused({ private: 'its grant belongs to another client or account' })
  }
}

async function readJwt(ctx: GrantContext, reader: ActorTokenReader, value: string): Promise<Read> {
  const payload = await verify(reader.settings, value, ctx.oidc.issuer)
  if (payload.sub === payload.client_id) throw actorTokenRefused({ private: 'a token of the client itself' })
  if (payload.status !== undefined) await findRecord(ctx, reader, payload.status)
  return {
    accountId: payload.sub,
    clientId: payload.client_id,
    audiences: readAudiences(payload.aud),
    scopes: new Set(typeof payload.scope === 'string' ? payload.scope.split(' ') : []),
    act: readAct(payload.act),
    confirmation: readConfirmation(payload.cnf),
    namesAccounts: false,
  }
}

async function verify(
  settings: ActorTokenReader['settings'],
  value: string,
  issuer: string,
): Promise<AccessTokenPayload> {
  try {
    return await settings.verifyAccessToken(value, issuer)
  } catch (error) {
    // The message is a code, never what the token holds.
    throw actorTokenRefused({
      private: error instanceof Error ? error.message : 'not a JWT access token of ours',
    })
  }
}

function readConfirmation(cnf: unknown): ActorToken['confirmation'] {
  if (cnf === undefined) return {}
  const { jkt, 'x5t#S256': thumbprint, ...unknown } = isPlainObject(cnf) ? cnf : {}
  const known = [jkt, thumbprint].filter((member) => typeof member === 'string')
  // A kind of key that this request cannot prove is a key that was not proven.
  if (known.length === 0 || Object.keys(unknown).length > 0)
    throw actorTokenRefused({ private: 'bound to an unknown kind of key' })
  return {
    ...(typeof jkt === 'string' && { jkt }),
    ...(typeof thumbprint === 'string' && { thumbprint }),
  }
}

/** Reads an `act` claim (RFC 8693 §4.1), and refuses one with other members than `sub` and `act`. */
function readAct(value: unknown): ActClaim | undefined {
  if (value === undefined) return undefined
  const { sub, act, ...rest } = isPlainObject(value) ? value : {}
  if (typeof sub !== 'string' || sub === '' || Object.keys(rest).length > 0) {
    throw actorTokenRefused({ private: 'a malformed act claim' })
  }
  return act === undefined ? { sub } : { sub, act: readAct(act) }
}

/** All audiences (RFC 7519 §4.1.3), because each of them has seen the token. `[]` for none. */
function readAudiences(value: unknown): readonly string[] {
  const audiences: readonly unknown[] = Array.isArray(value) ? value : value === undefined ? [] : [value]
  const names = audiences.filter((audience) => typeof audience === 'string')
  if (names.length < audiences.length) throw actorTokenRefused({ private: 'a malformed aud claim' })
  return names
}
