/** A record of the domain, and the rows of `subject_tokens`, `subject_token_uses` and `subject_token_stops` it is made of. */
import { isPlainObject, isStorableName, type JsonObject, withoutUndefined } from '../../base/json.ts'
import type { TokenHash } from '../../tokens/secret.ts'
import type { Revoked } from '../../tokens/store.ts'
import type {
  ActClaim,
  ActingParty,
  IssuedAccessToken,
  NewSubjectToken,
  Replay,
  Revocation,
  RevocationCause,
  SessionLogout,
  SubjectToken,
  SubjectTokenDraft,
  SubjectTokenUse,
} from '../../tokens/subject-token.ts'
import type { Dialect } from '../database/dialect.ts'
import { failedFor } from '../database/storage-error.ts'
import { type Bound, bytesOf, hexOf, optionalNumber, optionalText, type Row, text } from '../database/text.ts'
import { columnsOf, LOGOUTS, STOPS, TOKENS, USES } from '../tables.ts'

/** Seconds in which rows share what finds them by their end. */
const STEP = 300

/** The step that a time is in. */
export const stepOf = (at: number): number => Math.floor(at / STEP)

type Values<Name extends string> = Readonly<Record<Name, Bound>>

const inOrder = <Name extends string>(columns: readonly Name[], values: Values<Name>): Bound[] =>
  columns.map((column) => values[column])

/** All but the number, which the database hands out. */
export const ISSUED = columnsOf(TOKENS).filter((column) => column !== 'number')

export function issuedRow(dialect: Dialect, issuer: number, token: NewSubjectToken): Bound[] {
  const name = dialect.bindName
  const { ticketId } = token.context
  return inOrder(ISSUED, {
    created_at: token.createdAt,
    expires_at: token.expiresAt,
    id: dialect.bindId(token.id),
    issuer,
    open: stepOf(token.expiresAt),
    purpose: token.purpose === 'session' ? 1 : 0,
    secret_hash: Buffer.from(token.tokenHash, 'base64url'),
    user_id: name(token.userId),
    created_by: name(token.createdBy),
    client_id: name(token.clientId),
    actor_id: name(token.actorId),
    ticket_id: name(isStorableName(ticketId) ? ticketId : undefined),
    resource: resourceText(token.resource),
    scope: token.scope ?? null,
    context: JSON.stringify(token.context),
    read_only: token.readOnly ? 1 : null,
  })
}

/** No absolute URI begins as a list does. */
const resourceText = (resource: SubjectToken['resource']): string | null =>
  typeof resource === 'string' ? resource : resource ? JSON.stringify(resource) : null

const without = <Name extends string, Other extends Name>(columns: readonly Name[], ...others: Other[]) =>
  columns.filter((column): column is Exclude<Name, Other> => !others.some((other) => other === column))

/** The columns that an exchange writes. */
export const USED = without(columnsOf(USES), 'session_due', 'session_logout', 'session_logout_at')
/** The columns that a session writes: its mark, and its application's answer, in the same row. */
export const OPENED = [...USED, 'session_due', 'session_logout'] as const

/** The values of `USED`, or of `OPENED` for a session. */
export function useRow(
  dialect: Dialect,
  issuer: number,
  token: SubjectTokenDraft,
  use: SubjectTokenUse,
  chain?: string,
): Bound[] {
  const name = dialect.bindName
  const { expiresAt, kept } = use.accessToken
  const { sub = '', act, clientId } = use.actor ?? {}
  const used = inOrder(USED, {
    used_at: use.at,
    access_token_expires_at: expiresAt,
    token_id: dialect.bindId(token.id),
    issuer,
    live: stepOf(expiresAt),
    kept: kept ? 1 : null,
    client_id: use.clientId === token.clientId ? null : name(use.clientId),
    actor_id: sub === token.actorId ? null : name(sub),
    actor: act || clientId !== undefined ? JSON.stringify({ act, clientId }) : null,
    chain: chain === undefined ? null : dialect.bindId(chain),
    resource: resourceText(use.resource),
    scope: use.scope ?? null,
    grant_id: use.grantId ?? null,
  })
  return use.session ? [...used, expiresAt, LOGOUTS[use.session.logout]] : used
}

/** The facts about a stop, apart from its cause. */
export function revocationText({ cause: _, ...rest }: Revocation): string | null {
  return Object.values(rest).some((value) => value !== undefined) ? JSON.stringify(rest) : null
}

const COLUMNS = {
  t: without(columnsOf(TOKENS), 'issuer', 'open', 'ticket_id'),
  u: without(columnsOf(USES), 'issuer', 'live', 'chain', 'session_due'),
  s: without(columnsOf(STOPS), 'issuer', 'number', 'ends', 'replayed'),
}

const nameOf = (alias: string, column: string): string => (alias === 't' ? column : `${alias}_${column}`)

/** The columns of a record in one table, under its alias. */
export const partOf = (alias: keyof typeof COLUMNS): string =>
  COLUMNS[alias].map((column) => `${alias}.${column} AS ${nameOf(alias, column)}`).join(', ')

/** All that a record is made of, but for its acknowledgements. */
export const RECORD = [partOf('t'), partOf('u'), partOf('s')].join(', ')

/** A record's columns of a table where it has no row. */
export const NO_ROW: Row = Object.fromEntries(
  (['u', 's'] as const).flatMap((alias) => COLUMNS[alias].map((column) => [nameOf(alias, column), null])),
)

/** Reads rows of one issuer. */
export interface Reader {
  readonly issuer: string
  /** Told once of each record of which something cannot be read. */
  readonly unreadable: (id: string) => void
}

/** `strictly` where someone decides by what it says: a record of which that cannot be read is an error then. */
export function readToken(reader: Reader, row: Row, strictly = false): SubjectToken {
  const id = hexOf(row.id)
  const parse = parserOf(reader, id, strictly)
  return withoutUndefined({
    id,
    statusIndex: Number(row.number),
    issuer: reader.issuer,
    purpose: Number(row.purpose) === 1 ? ('session' as const) : ('exchange' as const),
    userId: text(row.user_id),
    context: (parse(row.context) ?? {}) as JsonObject,
    createdBy: text(row.created_by),
    clientId: optionalText(row.client_id),
    actorId: optionalText(row.actor_id),
    resource: readResource(optionalText(row.resource)),
    scope: optionalText(row.scope),
    readOnly: readReadOnly(row),
    createdAt: Number(row.created_at),
    expiresAt: Number(row.expires_at),
    use: row.u_used_at === null ? undefined : readUse(row, parse(row.u_actor)),
    revokedAt: optionalNumber(row.s_stopped_at),
    revocation: readRevocation(row, parserOf(reader, id, false)),
    replay: readReplay(row),
  })
}

/** A row from before the column has none. */
export const readReadOnly = ({ read_only: stored }: Row): true | undefined =>
  stored === null ? undefined : true

/** The hash that only the row of a token has. */
export const readHash = (row: Row): TokenHash => bytesOf(row.secret_hash).toString('base64url') as TokenHash

/** The columns that a stop does not report stay unread: a record in which they are damaged can be stopped, too. */
const UNTOLD: Row = { context: null, resource: null, u_resource: null }

/** The columns that a stop reports, without the rest of the record: many are in memory at a time. */
export function readRevoked(reader: Reader, row: Row): Revoked {
  const { id, userId, clientId, actorId, use, revocation } = readToken(reader, { ...row, ...UNTOLD })
  return {
    token: withoutUndefined({ id, userId, clientId, actorId, use, revocation }),
    unreported: row.s_stopped_at !== null && row.s_reported === null,
  }
}

function readUse(row: Row, details: Record<string, unknown> | undefined): SubjectTokenUse {
  const sub = readActorId(row)
  return withoutUndefined({
    at: Number(row.u_used_at),
    clientId: readClientId(row),
    actor: sub === undefined ? undefined : readActor(sub, details),
    resource: readResource(optionalText(row.u_resource)),
    scope: optionalText(row.u_scope),
    accessToken: readAccessToken(row),
    grantId: optionalText(row.u_grant_id),
    session: isSession(row)
      ? withoutUndefined({ logout: readLogout(row), logoutAt: optionalNumber(row.u_session_logout_at) })
      : undefined,
  })
}

/** A missing Grant does not tell it from an exchange. */
const isSession = (row: Row): boolean => row.u_session_logout !== null

/** An answer that cannot be read is no confirmation. */
export function readLogout(row: Row): SessionLogout {
  const names = Object.keys(LOGOUTS) as SessionLogout[]
  return names.find((name) => LOGOUTS[name] === Number(row.u_session_logout)) ?? 'pending'
}

function readActor(sub: string, details: Record<string, unknown> = {}): ActingParty {
  const { act, clientId } = details
  return withoutUndefined({ sub, act: act as ActClaim | undefined, clientId: clientId as string | undefined })
}

/** An exchange that obeyed the constraint does not repeat it. */
export const readClientId = (row: Row): string => text(row.u_client_id ?? row.client_id)

export function readActorId(row: Row): string | undefined {
  const sub = optionalText(row.u_actor_id ?? row.actor_id)
  return sub === '' ? undefined : sub
}

const readAccessToken = (row: Row): IssuedAccessToken => ({
  format: isSession(row) ? 'session' : row.u_grant_id === null ? 'jwt' : 'opaque',
  expiresAt: Number(row.u_access_token_expires_at),
  ...(row.u_kept !== null && { kept: true }),
})

function readResource(stored: string | undefined): SubjectToken['resource'] {
  return stored?.startsWith('[') ? (JSON.parse(stored) as string[]) : stored
}

const CAUSES: Readonly<Record<RevocationCause, true>> = {
  ...{ api: true, self: true, continued: true, console: true, host: true },
  ...{ replay: true, signedOut: true, command: true, unknown: true },
}

function readRevocation(row: Row, parse: Parse): Revocation | undefined {
  if (row.s_stopped_at === null) return undefined
  const cause = optionalText(row.s_cause) ?? ''
  const rest = row.s_revocation === null ? {} : parse(row.s_revocation)
  if (!rest || !Object.hasOwn(CAUSES, cause)) return { cause: 'unknown' }
  return { ...rest, cause: cause as RevocationCause }
}

function readReplay(row: Row): Replay | undefined {
  if (row.s_replayed_at === null) return undefined
  return withoutUndefined({
    at: Number(row.s_replayed_at),
    clientId: optionalText(row.s_replayed_by),
    by: optionalText(row.s_replayed_account),
  })
}

type Parse = (stored: unknown) => Record<string, unknown> | undefined

const UNREADABLE = 'a record cannot be read: the log has its id'

function parserOf({ unreadable }: Reader, id: string, strictly: boolean): Parse {
  return (stored) => {
    if (stored === null) return undefined
    const value = parsed(text(stored))
    if (isPlainObject(value)) return value
    unreadable(id)
    if (strictly) throw failedFor(UNREADABLE)
    return undefined
  }
}

function parsed(stored: string): unknown {
  try {
    return JSON.parse(stored)
  } catch {
    return undefined
  }
}
