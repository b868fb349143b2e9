/**
 * Reads an access token of this provider that a request holds: valid as introspection would judge it, without clock
 * tolerance. Opaque tokens are looked up, JWTs are verified; a token with a `status` is looked up by it, too.
 */
import type { AccessToken, Client } from 'oidc-provider'
import { epochTime, type Seconds } from '../base/clock.ts'
import { TOKEN_EXCHANGE } from '../base/constants.ts'
import { isOfSession, type SpentSubjectToken } from '../tokens/subject-token.ts'
import { findClient } from './client-metadata.ts'
import type { AccessTokenPayload } from './jwt-verification.ts'
import type { GrantContext } from './lib-grants.ts'
import type { Service } from './settings.ts'
import { readStatusIndex } from './status-claim.ts'

export interface OwnToken {
  /** The user: the account id in an opaque token; in a JWT the identifier by which its client knows the user. */
  readonly sub: string
  readonly client: Client
  readonly scope?: string
  readonly exp: Seconds
  /** The id of a JWT; that of an opaque token is its value. */
  readonly jti?: string
  /** Claims as they stand in the token: what they must be differs between endpoints. */
  readonly aud: unknown
  readonly act: unknown
  readonly cnf: unknown
  /** The token says so, or its record does. */
  readonly readOnly: boolean
  /** All claims of a JWT; those of an opaque token that the provider does not write itself. */
  readonly claims: Readonly<Record<string, unknown>>
  /** The record that its `status` leads to. It was exchanged, and not stopped. */
  readonly record?: SpentSubjectToken
  /** The stored token of an opaque one, which is passed to `findAccount`. */
  readonly model?: AccessToken
}

/** The refusal of the parameter that the token came in. */
type Refused = (says: { readonly private: string }) => Error

interface Reading extends Service {
  readonly ctx: GrantContext
  readonly refused: Refused
}

export async function findOwnToken(reading: Reading, value: string): Promise<OwnToken> {
  // An opaque token is base64url: only a JWT has dots.
  const read = value.includes('.') ? await readJwt(reading, value) : await readOpaque(reading, value)
  const { clientId, ...token } = read
  if (token.sub === clientId) throw reading.refused({ private: 'a token of the client itself' })
  const client = await findClient(reading.ctx.oidc.provider, clientId)
  if (!client) throw reading.refused({ private: 'its client is gone' })
  return { ...token, client }
}

/** A token whose client has not been looked up. */
type Read = Omit<OwnToken, 'client'> & { readonly clientId: string }

async function readJwt(reading: Reading, value: string): Promise<Read> {
  const claims = await verify(reading, value)
  const { sub, client_id: clientId, scope, exp, jti, aud, act, cnf, status } = claims
  const record = status === undefined ? undefined : await findRecord(reading, status)
  const text = typeof scope === 'string' ? scope : undefined
  const readOnly = isReadOnly(claims, record)
  return { sub, clientId, scope: text, exp, jti, aud, act, cnf, readOnly, claims, record }
}

/** A value that no one has issued is taken for the stricter one. */
const isReadOnly = (claims: OwnToken['claims'], record: SpentSubjectToken | undefined): boolean =>
  record?.readOnly === true || (claims.read_only !== undefined && claims.read_only !== false)

async function verify({ ctx, settings, refused }: Reading, value: string): Promise<AccessTokenPayload> {
  try {
    return await settings.verifyAccessToken(value, ctx.oidc.issuer)
  } catch (error) {
    // The message is a code, never what the token holds.
    throw refused({ private: error instanceof Error ? error.message : 'not a JWT access token of ours' })
  }
}

async function readOpaque(reading: Reading, value: string): Promise<Read> {
  const { ctx, refused } = reading
  // Finds nothing for a token whose session has ended.
  const model = await ctx.oidc.provider.AccessToken.find(value)
  // `find` allows the provider's clock tolerance.
  if (!model?.isValid || !model.accountId || !model.clientId || !model.exp)
    throw refused({ private: 'unknown or expired' })
  const { accountId: sub, clientId, scope, exp, aud, jkt, 'x5t#S256': thumbprint, extra = {} } = model
  if (model.grantId) await assertGrant(reading, model)
  const record = await recordOf(reading, model)
  return {
    sub,
    clientId,
    scope,
    exp,
    aud,
    act: extra.act,
    cnf:
      jkt || thumbprint ? { ...(jkt && { jkt }), ...(thumbprint && { 'x5t#S256': thumbprint }) } : undefined,
    readOnly: isReadOnly(extra, record),
    claims: extra,
    record,
    model,
  }
}

async function assertGrant(
  { ctx, refused }: Reading,
  { grantId, clientId, accountId }: AccessToken,
): Promise<void> {
  const grant = await ctx.oidc.provider.Grant.find(grantId)
  if (!grant?.isValid) throw refused({ private: 'its grant has ended' })
  if (grant.clientId !== clientId || grant.accountId !== accountId) {
    throw refused({ private: 'its grant belongs to another client or account' })
  }
}

/** A token that was exchanged has a record in any case. */
async function recordOf(
  reading: Reading,
  { extra, gty, grantId }: AccessToken,
): Promise<SpentSubjectToken | undefined> {
  const exchanged = gty === TOKEN_EXCHANGE
  if (!exchanged && extra?.status === undefined) return undefined
  const record = await findRecord(reading, extra?.status)
  if (exchanged && record.use.grantId !== grantId)
    throw reading.refused({ private: 'its status is of another token' })
  return record
}

/** The record that a `status` refers to. Refuses a token that was stopped, and one whose status is not ours. */
async function findRecord(
  { ctx, store, statusLists, refused }: Reading,
  status: unknown,
): Promise<SpentSubjectToken> {
  const index = statusLists && readStatusIndex(statusLists, status)
  if (index === undefined) throw refused({ private: 'its status is in no list of ours' })
  const record = await store.findByStatusIndex(ctx.oidc.issuer, index)
  if (!record) throw refused({ private: 'its status has no record' })
  if (record.revokedAt !== undefined) throw refused({ private: 'stopped' })
  const { use } = record
  // The place may belong to a later token after a restore.
  if (!use) throw refused({ private: 'its status is of a token that was not exchanged' })
  // Whatever `exp` the deployment has given it.
  if (isOfSession(record) && use.accessToken.expiresAt <= epochTime())
    throw refused({ private: 'of a session that has ended' })
  return { ...record, use }
}
