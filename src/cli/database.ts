/** The database of a command: that of a deployment's module, or of `DATABASE_URL`. */
import { Sequelize } from 'sequelize'
import { codeOf } from '../sequelize/database/driver.ts'
import { databaseOf } from '../sequelize/drivers.ts'
import { isReadOnly, isRefused, missingRights } from '../sequelize/schema/rights.ts'
import { sequelizeOf } from '../sequelize/tokens/store.ts'
import type { DatabaseCommand } from './command-line.ts'
import { connect } from './connect.ts'
import { messageOf, UsageError } from './process.ts'

export interface Opened {
  readonly sequelize: Sequelize
  close(): Promise<void>
}

/** Connects at the first statement. @throws {UsageError} for a URL that is wrong, and without any. */
export async function open({ module, dialect }: DatabaseCommand): Promise<Opened> {
  if (module !== undefined) return openDeployment(module)
  const sequelize = openUrl(dialect)
  return { sequelize, close: () => sequelize.close() }
}

/** The provider, an optional peer, is loaded for this only. */
async function openDeployment(module: string): Promise<Opened> {
  const { closeDeployment, loadDeployment } = await import('./deployment.ts')
  const deployment = await loadDeployment(module)
  const sequelize = sequelizeOf(deployment.inside.options.store)
  if (sequelize) return { sequelize, close: () => closeDeployment({ ...deployment, sequelize }) }
  await closeDeployment(deployment)
  throw new Error(
    'the store of this deployment is not what createSubjectTokenStore returned: set DATABASE_URL instead of naming a module',
  )
}

function openUrl(dialect: DatabaseCommand['dialect']): Sequelize {
  if (dialect === 'sqlite') return connect('sqlite:')
  if (dialect !== undefined) return new Sequelize({ dialect, logging: false })
  const url = process.env.DATABASE_URL
  if (!url) throw new UsageError('DATABASE_URL is not set')
  try {
    return connect(url)
  } catch (error) {
    throw new UsageError(messageOf(error))
  }
}

/** The name of a database in messages, without credentials. */
export function nameOf(sequelize: Sequelize): string {
  const dialect = sequelize.getDialect()
  const { storage, replication } = Object(Reflect.get(sequelize, 'options'))
  const { host, port, database } = { ...sequelize.config, ...Object(replication).write }
  if (dialect === 'sqlite') return `sqlite ${storage}`
  // A password that ends the host, because it was not encoded, would be a part of the name.
  return /@/.test(`${host}${database}`) ? dialect : `${dialect} ${host}:${port}/${database}`
}

/** @throws {Error} that names the database which cannot be had. */
export async function assertConnected(sequelize: Sequelize): Promise<void> {
  // `databaseOf` limits the time of the attempt.
  databaseOf(sequelize)
  try {
    await sequelize.authenticate({ logging: false })
  } catch (error) {
    // Two addresses that both refuse make an error without a message.
    const reason = messageOf(error) || codeOf(error)
    throw new Error(`no connection to ${nameOf(sequelize)}: ${reason}`)
  }
}

/** A right that a role lacks has only a code in the error: which one it is, is looked up. */
export async function explain(error: unknown, sequelize: Sequelize): Promise<unknown> {
  if (isReadOnly(error)) return new Error(`${nameOf(sequelize)} can only be read`)
  if (!isRefused(error)) return error
  const missing = await missingRights(sequelize).catch(() => [])
  if (missing.length === 0) return error
  return new Error(missing.map(({ right, table }) => `the role has no ${right} on ${table}`).join('; '))
}
