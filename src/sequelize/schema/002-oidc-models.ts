import type { Dialect } from '../database/dialect.ts'
import { COLUMN_TYPES, indexed, tableOptions } from './column-types.ts'
import { createIndex } from './create-index.ts'
import type { Migration } from './migrations.ts'

function createTable(dialect: Dialect): string {
  const { ascii, name, text } = COLUMN_TYPES[dialect]
  // The key of InnoDB holds 3072 bytes.
  const namespace = dialect === 'mysql' ? 'VARBINARY(255)' : name
  return `CREATE TABLE IF NOT EXISTS oidc_models (
    namespace ${namespace} NOT NULL,
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
  )${tableOptions(dialect)}`
}

export const oidcModels: Migration = {
  name: '002-oidc-models',
  async up(sequelize, dialect) {
    await sequelize.query(createTable(dialect))
    const index = (column: string, columns: string) =>
      createIndex(sequelize, dialect, { name: `oidc_models_${column}`, table: 'oidc_models', columns })
    await index('grant_id', indexed(dialect, 'grant_id'))
    await index('user_code', indexed(dialect, 'user_code'))
    await index('uid', indexed(dialect, 'uid'))
    await index('expires_at', 'expires_at')
  },
}
