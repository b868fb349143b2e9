/** Mapping between a subject token and its row in the table `subject_tokens`. */
import { type JsonObject, withoutUndefined } from '../plain-json.ts'
import type {
  ActingParty,
  NewSubjectToken,
  SubjectToken,
  SubjectTokenUse,
} from '../subject-tokens/subject-token.ts'
import type { Bound, Dialect, Row } from './database/driver.ts'
import { optionalText, text } from './database/values.ts'

/** The columns a read answers: all but the hash, which no one needs back. */
export const COLUMNS = `id, issuer, user_id, context, created_by, client_id, actor_id, resource, scope, created_at,
  expires_at, consumed_at, consumed_by, used_actor, used_actor_id, used_resource, used_scope, access_token_format,
  access_token_expires_at, grant_id, revoked_at`

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
    use.accessToken.expiresAt,
    use.grantId ?? null,
  ]
}

/** An absent member is absent, so that a token reads back as it was written. */
export function fromRow(row: Row): SubjectToken {
  return withoutUndefined({
    id: text(row.id),
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
    accessToken: {
      format: text(row.access_token_format) === 'jwt' ? 'jwt' : 'opaque',
      expiresAt: Number(row.access_token_expires_at),
    },
    grantId: optionalText(row.grant_id),
  })
}
