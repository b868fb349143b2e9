import type { Sequelize } from 'sequelize'

export type Dialect = 'sqlite' | 'postgres' | 'mysql'

const DIALECTS: readonly string[] = ['sqlite', 'postgres', 'mysql'] satisfies Dialect[]

/** @throws {TypeError} for a dialect whose statements are not written here. */
export function dialectOf(sequelize: Sequelize): Dialect {
  const dialect = sequelize.getDialect()
  if (dialect === 'mariadb') {
    throw new TypeError(
      "use dialect 'mysql' with the mysql2 package for MariaDB: the mariadb connector breaks raw queries",
    )
  }
  if (!DIALECTS.includes(dialect)) throw new TypeError(`dialect ${dialect} is not supported`)
  return dialect as Dialect
}
