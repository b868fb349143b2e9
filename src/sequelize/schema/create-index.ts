import { QueryTypes, type Sequelize } from 'sequelize'
import type { Dialect } from '../database/dialect.ts'

interface Index {
  readonly name: string
  readonly table: string
  readonly columns: string
}

/** Makes an index unless it is there; MySQL has no `IF NOT EXISTS` for it. */
export async function createIndex(
  sequelize: Sequelize,
  dialect: Dialect,
  { name, table, columns }: Index,
): Promise<void> {
  if (dialect !== 'mysql') {
    await sequelize.query(`CREATE INDEX IF NOT EXISTS ${name} ON ${table} (${columns})`)
    return
  }
  const found = await sequelize.query(
    `SELECT 1 FROM information_schema.statistics
      WHERE table_schema = DATABASE() AND table_name = $1 AND index_name = $2 LIMIT 1`,
    { bind: [table, name], type: QueryTypes.SELECT, useMaster: true },
  )
  if (found.length === 0) await sequelize.query(`CREATE INDEX ${name} ON ${table} (${columns})`)
}
