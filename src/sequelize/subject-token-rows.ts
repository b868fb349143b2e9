/** Mapping between a subject token and its row in the table `subject_tokens`. */
import { type JsonObject, withoutUndefined } from '../plain-json.ts'
import type { RevokedToken } from '../subject-tokens/store.ts'
import type {
  ActingParty,
  IssuedAccessToken,
  NewSubjectToken,
  Revocation,
  SubjectToken,
  SubjectTokenUse,
} from '../subject-tokens/subject-token.ts'
import type { Dialect } from './database/dialect.ts'
import type { Bound, Row } from './database/text.ts'
import { optionalText, text } from './database/values.ts'

/** The columns that a read returns: all that a token is made of, except for the hash, which no one needs back. */
export const COLUMNS = `id, status_index, issuer, user_id, context, created_by, client_id, actor_id, resource, scope,
  created_at, expires_at, consumed_at, consumed_by, used_actor, used_resource, used_scope, access_token_format,
  access_token_jti, access_token_expires_at, grant_id, revoked_at, revocation, replayed_at, replayed_by`

/** The columns that a kill switch reads; there may be many rows. */
export const REVOKED_COLUMNS = `id, user_id, client_id, actor_id, consumed_at, consumed_by, used_actor_id, access_token_format,
  access_token_jti, access_token_expires_at, grant_id, revoked_call`

/** The columns that `toRow` returns the values of. */
export const ISSUED_COLUMNS = [
  'id',
  'token_hash',
  'issuer',
  'user_id',
  'context',
  'created_by',
  'client_id',
  'actor_id',
  'resource',
  'scope',
  'created_at',
  'expires_at',
]

export function toRow(dialect: Dialect, token: NewSubjectToken): Bound[] {
  const name = dialect.bindName
  return [
    token.id,
    token.tokenHash,
    name(token.issuer),
    name(token.userId),
    JSON.stringify(token.context),
    name(token.createdBy),
    name(token.clientId),
    name(token.actorId),
    name(token.resource),
    token.scope ?? null,
    token.createdAt,
    token.expiresAt,
  ]
}

/** The columns that `toUseColumns` returns the values of. */
export const USE_COLUMNS = [
  'consumed_at',
  'consumed_by',
  'used_actor',
  'used_actor_id',
  'used_resource',
  'used_scope',
  'access_token_format',
  'access_token_jti',
  'access_token_expires_at',
  'grant_id',
  'without_actor',
]

export function toUseColumns(dialect: Dialect, use: SubjectTokenUse): Bound[] {
  const name = dialect.bindName
  return [
    use.at,
    name(use.clientId),
    use.actor ? JSON.stringify(use.actor) : null,
    name(use.actor?.sub),
    name(use.resource),
    use.scope ?? null,
    use.accessToken.format,
    use.accessToken.jti ?? null,
    use.accessToken.expiresAt,
    use.grantId ?? null,
    use.actor ? null : 1,
  ]
}

/** An absent member is absent, so that a token reads back as it was written. */
export function fromRow(row: Row): SubjectToken {
  return withoutUndefined({
    id: text(row.id),
    statusIndex: Number(row.status_index),
    issuer: text(row.issuer),
    userId: text(row.user_id),
    context: JSON.parse(text(row.context)) as JsonObject,
    createdBy: text(row.created_by),
    clientId: optionalText(row.client_id),
    actorId: optionalText(row.actor_id),
    resource: optionalText(row.resource),
    scope: optionalText(row.scope),
    createdAt: Number(row.created_at),
    expiresAt: Number(row.expires_at),
    use: row.consumed_at === null ? undefined : useFromRow(row),
    revokedAt: row.revoked_at === null ? undefined : Number(row.revoked_at),
    revocation: row.revocation === null ? undefined : (JSON.parse(text(row.revocation)) as Revocation),
    replay:
      row.replayed_at === null ? undefined : { at: Number(row.replayed_at), clientId: text(row.replayed_by) },
  })
}

export function fromRevokedRow(row: Row): RevokedToken {
  return withoutUndefined({
    id: text(row.id),
    userId: text(row.user_id),
    clientId: optionalText(row.client_id),
    actorId: optionalText(row.actor_id),
    use: row.consumed_at === null ? undefined : revokedUseFromRow(row),
  })
}

function revokedUseFromRow(row: Row): RevokedToken['use'] {
  const actor = optionalText(row.used_actor_id)
  return withoutUndefined({
    clientId: text(row.consumed_by),
    actor: actor === undefined ? undefined : { sub: actor },
    accessToken: accessTokenFromRow(row),
    grantId: optionalText(row.grant_id),
  })
}

function useFromRow(row: Row): SubjectTokenUse {
  const actor = optionalText(row.used_actor)
  return withoutUndefined({
    at: Number(row.consumed_at),
    clientId: text(row.consumed_by),
    actor: actor === undefined ? undefined : (JSON.parse(actor) as ActingParty),
    resource: text(row.used_resource),
    scope: optionalText(row.used_scope),
    accessToken: accessTokenFromRow(row),
    grantId: optionalText(row.grant_id),
  })
}

const accessTokenFromRow = (row: Row): IssuedAccessToken =>
  withoutUndefined({
    format: text(row.access_token_format) === 'jwt' ? ('jwt' as const) : ('opaque' as const),
    jti: optionalText(row.access_token_jti),
    expiresAt: Number(row.access_token_expires_at),
  })
