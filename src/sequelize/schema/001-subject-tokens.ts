import type { Dialect } from '../database/dialect.ts'
import type { Migration } from './migration.ts'

/**
 * `without_actor` and `replayed` are 1 or nothing: an index that begins with them finds a page of a list. A token that
 * was spent and then revoked repeats its index in `stopped_index`. `revoked_call` names the call of a kill switch,
 * or says that no call has reported the revocation yet.
 */
function createTokens(dialect: Dialect): string {
  const { ascii, name, text } = dialect.types
  return `CREATE TABLE IF NOT EXISTS subject_tokens (
    id ${ascii} NOT NULL ${dialect.types.keyBesideSequence},
    status_index ${dialect.types.sequence},
    token_hash ${ascii} NOT NULL UNIQUE,
    issuer ${name} NOT NULL,
    user_id ${name} NOT NULL,
    context ${text} NOT NULL,
    created_by ${name} NOT NULL,
    client_id ${name},
    actor_id ${name},
    resource ${name},
    scope ${text},
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    consumed_at BIGINT,
    consumed_by ${name},
    used_actor ${text},
    used_actor_id ${name},
    used_chain ${ascii},
    used_resource ${text},
    used_scope ${text},
    access_token_format ${ascii},
    access_token_jti ${ascii},
    access_token_expires_at BIGINT,
    grant_id ${ascii},
    without_actor SMALLINT,
    revoked_at BIGINT,
    revocation ${text},
    revoked_call ${ascii},
    stopped_index BIGINT,
    replayed SMALLINT,
    replayed_at BIGINT,
    replayed_by ${name}
  )${dialect.tableOptions}`
}

/** The actors behind the newest one of a chain. `chain` is the `used_chain` of the row they belong to. */
function createActors(dialect: Dialect): string {
  const { ascii, name } = dialect.types
  return `CREATE TABLE IF NOT EXISTS subject_token_actors (
    actor_id ${name} NOT NULL,
    token_id ${ascii} NOT NULL,
    chain ${ascii} NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (actor_id, token_id, chain)
  )${dialect.tableOptions}`
}

export const subjectTokens: Migration = {
  name: '001-subject-tokens',
  statements(dialect) {
    const index = (name: string, columns: string, unless?: string) =>
      dialect.createIndex({ name: `subject_tokens_${name}`, table: 'subject_tokens', columns, unless })
    // With the issuer, a page of a list is found in the index alone, whatever share of the table a name has.
    const ofIssuer = `${dialect.indexed('issuer')}, id`
    const byName = (column: string, unless?: string) =>
      index(column, `${dialect.indexed(column)}, ${ofIssuer}`, unless)
    return [
      createTokens(dialect),
      index('issuer', ofIssuer),
      ...['user_id', 'created_by'].map((column) => byName(column)),
      ...['actor_id', 'used_actor_id', 'client_id', 'consumed_by'].map((column) => byName(column, column)),
      ...['without_actor', 'replayed'].map((mark) => index(mark, `${mark}, ${ofIssuer}`, mark)),
      index(
        'access_token_expires_at',
        `${dialect.indexed('issuer')}, access_token_expires_at, id`,
        'access_token_expires_at',
      ),
      // For the status lists: what was stopped since the last look.
      index(
        'revoked_at',
        `${dialect.indexed('issuer')}, revoked_at, stopped_index, access_token_expires_at`,
        'stopped_index',
      ),
      createActors(dialect),
      dialect.createIndex({
        name: 'subject_token_actors_expires_at',
        table: 'subject_token_actors',
        columns: 'expires_at',
      }),
    ]
  },
}
