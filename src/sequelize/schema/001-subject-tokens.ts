import type { Dialect } from '../database/driver.ts'
import type { Migration } from './migration.ts'

function createTable(dialect: Dialect): string {
  const { ascii, name, text } = dialect.types
  return `CREATE TABLE IF NOT EXISTS subject_tokens (
    id ${ascii} NOT NULL PRIMARY KEY,
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
    used_resource ${text},
    used_scope ${text},
    access_token_format ${ascii},
    access_token_expires_at BIGINT,
    grant_id ${ascii},
    revoked_at BIGINT,
    revocation ${ascii}
  )${dialect.tableOptions}`
}

export const subjectTokens: Migration = {
  name: '001-subject-tokens',
  async up(sequelize, dialect) {
    await sequelize.query(createTable(dialect))
    const index = (column: string, columns: string) =>
      dialect.createIndex(sequelize, { name: `subject_tokens_${column}`, table: 'subject_tokens', columns })
    await index('user_id', `${dialect.indexed('user_id')}, id`)
    await index('actor_id', `${dialect.indexed('actor_id')}, id`)
    await index('used_actor_id', `${dialect.indexed('used_actor_id')}, id`)
    // For the retention: what has ended is deleted from its oldest end.
    await index('expires_at', 'expires_at')
  },
}
