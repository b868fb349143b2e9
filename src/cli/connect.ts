import { Sequelize } from 'sequelize'
import { nodeSqlite } from '../sequelize/node-sqlite.ts'

/**
 * Opens the database a URL names: `sqlite:<file>`, `postgres://…`, `mysql://…` or `mariadb://…`.
 *
 * @throws {TypeError} for any other URL.
 */
export function connect(url: string): Sequelize {
  const [scheme = ''] = url.split(':', 1)
  switch (scheme) {
    case 'sqlite':
      return new Sequelize({
        dialect: 'sqlite',
        dialectModule: nodeSqlite,
        storage: url.slice('sqlite:'.length).replace(/^\/\//, ''),
        logging: false,
      })
    case 'postgres':
    case 'postgresql':
      return new Sequelize(url, { dialect: 'postgres', logging: false })
    case 'mysql':
    case 'mariadb':
      return new Sequelize(url.replace(/^mariadb:/, 'mysql:'), { dialect: 'mysql', logging: false })
    default:
      throw new TypeError('DATABASE_URL must start with sqlite:, postgres:, mysql: or mariadb:')
  }
}
