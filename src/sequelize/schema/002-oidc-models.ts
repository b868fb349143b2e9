import type { Dialect } from '../database/dialect.ts'
import type { Migration } from './migration.ts'

function createTable(dialect: Dialect): string {
  const { ascii, name, shortName, text } = dialect.types
  return `CREATE TABLE IF NOT EXISTS oidc_models (
    namespace ${shortName} NOT NULL,
    model ${ascii} NOT NULL,
    id ${name} NOT NULL,
    payload ${text} NOT NULL,
    grant_id ${name},
    user_code ${name},
    uid ${name},
    written_at BIGINT NOT NULL,
    consumed_at BIGINT,
    expires_at BIGINT,
    PRIMARY KEY (namespace, model, id)
  )${dialect.tableOptions}`
}

export const oidcModels: Migration = {
  name: '002-oidc-models',
  statements(dialect) {
    const index = (column: string, columns: string) =>
      dialect.createIndex({ name: `oidc_models_${column}`, table: 'oidc_models', columns })
    return [
      createTable(dialect),
      index('grant_id', dialect.indexed('grant_id')),
      index('user_code', dialect.indexed('user_code')),
      index('uid', dialect.indexed('uid')),
      index('expires_at', 'expires_at'),
    ]
  },
}
