import type { Sequelize } from 'sequelize'

export type Dialect = 'sqlite' | 'postgres' | 'mysql'

const DIALECTS: readonly string[] = ['sqlite', 'postgres', 'mysql'] satisfies Dialect[]

/** @throws {TypeError} for a dialect, or a client of one, whose statements are not written here. */
export function dialectOf(sequelize: Sequelize): Dialect {
  const dialect = sequelize.getDialect()
  if (dialect === 'mariadb') {
    throw new TypeError(
      "use dialect 'mysql' with the mysql2 package for MariaDB: the mariadb connector breaks raw queries",
    )
  }
  if (Reflect.get(Object(Reflect.get(sequelize, 'options')), 'native')) {
    throw new TypeError('pg-native is not supported: leave the option `native` out')
  }
  if (!DIALECTS.includes(dialect)) throw new TypeError(`dialect ${dialect} is not supported`)
  return dialect as Dialect
}
