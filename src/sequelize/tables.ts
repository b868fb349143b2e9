/** Every table once: its columns, its keys, what its indexes serve, and what the role of the servers may do with it. */

/** The kind of a column's values. */
export type Kind =
  /** Sixteen bytes: an id of our own, which sorts by time, or a random name. */
  | 'id'
  /** A SHA-256. */
  | 'hash'
  /** A short text of our own, in ASCII. */
  | 'ascii'
  /** A name from outside, compared byte by byte: up to 255 code points. */
  | 'name'
  /** The same, up to 255 bytes. */
  | 'shortName'
  /** Text that is only read back. */
  | 'text'
  /** A whole number: a time, say. */
  | 'big'
  /** The same, of 32 bits. */
  | 'int'
  /** The same, of few bits. */
  | 'small'
  /** A whole number that the database hands out at insertion, and never twice. */
  | 'sequence'

export interface Table {
  readonly name: string
  /** In the order of the table; `?` where a row may have none. */
  readonly columns: Readonly<Record<string, Kind | `${Kind}?`>>
  readonly key: readonly string[]
  /** Another column that no two rows share. */
  readonly unique?: string
  /** Its rows lie in the order of the key, where the database has a choice. */
  readonly byKey?: true
  readonly indexes: readonly Index[]
  /** The statements that the servers' role runs on its rows, the purge included. */
  readonly rights: readonly Right[]
  /** An expression for when a row was written, in seconds. */
  readonly written?: string
}

export type Right = 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE'

export interface Index {
  /** The end of its name, after the table's. */
  readonly name: string
  readonly columns: readonly string[]
  /** A column without which a row is left out, where the database has such indexes. */
  readonly unless?: string | undefined
}

/** An index by a name, then by the key: a page of a list is found in it alone, whatever share of the table a name has. */
const byName = (name: string, id: string, unless?: string): Index => ({
  name,
  columns: [name, 'issuer', id],
  unless,
})

/** An index by a time. Only keys begin with the issuer: a planner without statistics would take another such index for one. */
const byTime = (name: string, unless?: string): Index => ({
  name,
  columns: [name, 'issuer'],
  unless,
})

/** Tokens as issued. Never updated. The widest columns of whole numbers come first, so that rows have no gaps. */
export const TOKENS = {
  name: 'subject_tokens',
  columns: {
    /** The status index. */
    number: 'sequence',
    created_at: 'big',
    expires_at: 'big',
    id: 'id',
    /** The first 32 bits of the issuer's SHA-256: its number in `impersonation_issuers`. */
    issuer: 'int',
    /** `expires_at` in steps of 300 s: the rows of a step share an entry of the index, where the database can. */
    open: 'int',
    /** 0 exchange, 1 session. */
    purpose: 'small',
    secret_hash: 'hash',
    user_id: 'name',
    created_by: 'name',
    client_id: 'name?',
    actor_id: 'name?',
    /** `context.ticketId`, where that obeys the rules of names. */
    ticket_id: 'name?',
    /** A list is JSON. */
    resource: 'text?',
    scope: 'text?',
    context: 'text',
    /** 1: what comes of it changes nothing. */
    read_only: 'small?',
  },
  key: ['issuer', 'id'],
  indexes: [
    byName('user_id', 'id'),
    byName('created_by', 'id'),
    ...['client_id', 'actor_id', 'ticket_id'].map((name) => byName(name, 'id', name)),
    byTime('open'),
  ],
  rights: ['SELECT', 'INSERT', 'DELETE'],
  written: 'MIN(created_at)',
} as const satisfies Table

/**
 * How a token ended. One row decides: an exchange or a session inserts it, or a stop that came first: a tombstone, without
 * `used_at`. Never updated, but for what becomes of the end of a session.
 */
export const USES = {
  name: 'subject_token_uses',
  columns: {
    used_at: 'big?',
    access_token_expires_at: 'big?',
    token_id: 'id',
    issuer: 'int',
    /** `access_token_expires_at` in steps of 300 s, stopped or not. */
    live: 'int?',
    /** 1: a JWT without `status`, which nothing can end. */
    kept: 'small?',
    /** Absent: the client of the constraint. */
    client_id: 'name?',
    /** Absent: the actor of the constraint. Empty: no actor. */
    actor_id: 'name?',
    /** Further facts about the actor, as JSON: more links of the chain, and the client of the actor token. */
    actor: 'text?',
    /** Only with further links: names their rows in `subject_token_actors`. */
    chain: 'id?',
    resource: 'text?',
    scope: 'text?',
    /** The Grant of an opaque access token or of a session; no other use has one. */
    grant_id: 'ascii?',
    /** For an open session: when it is to be ended, or its end is to be told again. */
    session_due: 'big?',
    /** For every session, and no other use: its application's answer to the end, one of `LOGOUTS`. */
    session_logout: 'small?',
    /** When it confirmed, or that was given up. */
    session_logout_at: 'big?',
  },
  key: ['issuer', 'token_id'],
  byKey: true,
  indexes: [
    ...['client_id', 'actor_id'].map((name) => byName(name, 'token_id', name)),
    byTime('live', 'live'),
    byTime('session_due', 'session_due'),
  ],
  // MariaDB and MySQL want UPDATE where a tombstone finds a row, which stays as it is.
  rights: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
} as const satisfies Table

/** Stored as numbers: a planner without statistics takes rows with texts for wide, and tables for small. */
export const LOGOUTS = { pending: 1, confirmed: 2, gaveUp: 3, unsupported: 4 } as const

/** Tokens that were stopped, or used again. */
export const STOPS = {
  name: 'subject_token_stops',
  columns: {
    /** Absent where there is only a replay. */
    stopped_at: 'big?',
    replayed_at: 'big?',
    /** The token's index, and when its access token expires, so that status lists read this table alone. */
    number: 'big',
    /** Absent: it was not spent when it was stopped. */
    ends: 'big?',
    /** A random number of the call that reported the stop. Absent: no one has. */
    reported: 'big?',
    token_id: 'id',
    issuer: 'int',
    /** 1 where there is a replay. */
    replayed: 'small?',
    cause: 'ascii?',
    /** Further facts about the stop, as JSON. */
    revocation: 'text?',
    replayed_by: 'name?',
    replayed_account: 'name?',
  },
  key: ['issuer', 'token_id'],
  byKey: true,
  indexes: [byTime('stopped_at'), byName('replayed', 'token_id', 'replayed')],
  rights: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
} as const satisfies Table

/** The actors behind the newest one of a chain, because no index looks into JSON. */
export const ACTORS = {
  name: 'subject_token_actors',
  columns: { token_id: 'id', issuer: 'int', actor_id: 'name', chain: 'id' },
  key: ['actor_id', 'issuer', 'token_id', 'chain'],
  byKey: true,
  // For the purge.
  indexes: [{ name: 'token_id', columns: ['issuer', 'token_id'] }],
  rights: ['SELECT', 'INSERT', 'DELETE'],
} as const satisfies Table

/** Who has looked into the alarms of a record. */
export const ACKNOWLEDGEMENTS = {
  name: 'subject_token_acknowledgements',
  columns: {
    acknowledged_at: 'big',
    token_id: 'id',
    issuer: 'int',
    /** 1 where the record had its replay by then. */
    covers_replay: 'small',
    acknowledged_by: 'text',
    note: 'text',
  },
  key: ['issuer', 'token_id', 'covers_replay'],
  byKey: true,
  indexes: [],
  rights: ['SELECT', 'INSERT', 'DELETE'],
} as const satisfies Table

/** Rows that only move the sequence of status indexes are of no issuer. */
export const NO_ISSUER = 0

/** The issuers by their numbers. */
export const ISSUERS = {
  name: 'impersonation_issuers',
  columns: { number: 'int', issuer: 'name' },
  key: ['number'],
  unique: 'issuer',
  indexes: [],
  rights: ['SELECT', 'INSERT'],
} as const satisfies Table

/** The steps of the schema that have finished. */
export const STEPS = {
  name: 'impersonation_steps',
  columns: { name: 'ascii', fingerprint: 'ascii', older: 'ascii', finished_at: 'big' },
  key: ['name'],
  indexes: [],
  rights: ['SELECT'],
} as const satisfies Table

/** Who migrates. */
export const LEASE = {
  name: 'impersonation_lease',
  columns: { id: 'int', holder: 'ascii', expires_at: 'big' },
  key: ['id'],
  indexes: [],
  rights: [],
} as const satisfies Table

/** The models of oidc-provider. */
export const MODELS = {
  name: 'oidc_models',
  columns: {
    namespace: 'shortName',
    model: 'ascii',
    id: 'name',
    payload: 'text',
    grant_id: 'name?',
    user_code: 'name?',
    uid: 'name?',
    written_at: 'big',
    consumed_at: 'big?',
    expires_at: 'big?',
  },
  key: ['namespace', 'model', 'id'],
  indexes: ['grant_id', 'user_code', 'uid', 'expires_at'].map((name) => ({ name, columns: [name] })),
  rights: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  written: 'MIN(written_at) / 1000000',
} as const satisfies Table

/**
 * Seconds a row is found beyond its expiry. The provider judges `exp` itself and allows its clock tolerance
 * (15 s unless configured); after the grace the row is not found, purged or not.
 */
export const GRACE = 60

/** The tables whose rows belong to a token. */
export const PARTS: readonly Table[] = [USES, STOPS, ACTORS, ACKNOWLEDGEMENTS]

/** The tables of the store of subject tokens. */
export const TOKEN_TABLES: readonly Table[] = [TOKENS, ...PARTS, ISSUERS]

/** The tables with which the servers work. */
export const SERVED: readonly Table[] = [...TOKEN_TABLES, STEPS, MODELS]

export const columnsOf = <Name extends string>(table: {
  readonly columns: Readonly<Record<Name, unknown>>
}): Name[] => Object.keys(table.columns) as Name[]

const shown = <Name extends string>(
  alias: string,
  { columns }: { readonly columns: Readonly<Record<Name, string>> },
  names: readonly NoInfer<Name>[],
) => names.map((name) => [columns[name].replace('?', '') as Kind, `${alias}.${name}`, name] as const)

/** For people with a client of the database. No code of ours reads it. */
export const RECORDS_VIEW = {
  name: 'subject_token_records',
  /** Each column's kind, expression and name. */
  columns: [
    ...shown('t', TOKENS, ['number', 'id']),
    ...shown('i', ISSUERS, ['issuer']),
    ...shown('t', TOKENS, ['purpose', 'user_id', 'created_by', 'client_id', 'actor_id', 'ticket_id']),
    ...shown('t', TOKENS, ['resource', 'scope', 'context', 'created_at', 'expires_at']),
    ...shown('u', USES, ['used_at']),
    ['name', 'CASE WHEN u.used_at IS NOT NULL THEN COALESCE(u.client_id, t.client_id) END', 'used_by'],
    [
      'name',
      `CASE WHEN u.used_at IS NOT NULL THEN NULLIF(COALESCE(u.actor_id, t.actor_id), '') END`,
      'used_actor_id',
    ],
    ['text', 'u.resource', 'used_resource'],
    ['text', 'u.scope', 'used_scope'],
    ...shown('u', USES, ['access_token_expires_at']),
    ...shown('s', STOPS, ['stopped_at', 'cause', 'revocation']),
    ...shown('s', STOPS, ['replayed_at', 'replayed_by', 'replayed_account']),
  ] satisfies readonly (readonly [Kind, string, string])[],
  from: `${TOKENS.name} t JOIN ${ISSUERS.name} i ON i.number = t.issuer
    LEFT JOIN ${USES.name} u ON u.issuer = t.issuer AND u.token_id = t.id
    LEFT JOIN ${STOPS.name} s ON s.issuer = t.issuer AND s.token_id = t.id`,
} as const
