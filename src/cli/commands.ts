/** What each command does. Returns what it prints. */
import type { Sequelize } from 'sequelize'
import { endUnspent } from '../sequelize/end-unspent.ts'
import { ddlOf } from '../sequelize/schema/ddl.ts'
import { migrate } from '../sequelize/schema/migrate.ts'
import { type Purged, purge } from '../sequelize/schema/purge.ts'
import { type Status, statusOf } from '../sequelize/schema/status.ts'
import type { DatabaseCommand } from './command-line.ts'

export async function run(
  { name, retention, issuer }: DatabaseCommand,
  sequelize: Sequelize,
): Promise<string> {
  switch (name) {
    case 'migrate':
      await migrate(sequelize, { onWait: (reason) => process.stderr.write(`${reason}\n`) })
      return 'The tables are up to date.'
    case 'status':
      return describeStatus(await statusOf(sequelize))
    case 'purge': {
      const purged = await purge(sequelize, {
        retention,
        ...(process.stderr.isTTY && { onProgress: showProgress }),
      })
      return `Deleted ${describePurged(purged)}.`
    }
    case 'sql':
      return ddlOf(sequelize)
    case 'end-unspent': {
      const revoked = await endUnspent(sequelize, { issuer })
      return `Revoked ${revoked} unspent subject tokens${issuer === undefined ? '' : ` of ${issuer}`}.`
    }
  }
}

const describePurged = ({ subjectTokens, models }: Purged): string =>
  `${subjectTokens} subject tokens and ${models} models of the provider`

function showProgress(purged: Purged): void {
  process.stderr.write(`\r${describePurged(purged)} …`)
}

function describeStatus({ applied, pending, unknown, tables }: Status): string {
  const steps = [
    ...applied.map((name) => `${name}  applied`),
    ...unknown.map((name) => `${name}  applied by a later version`),
    ...pending.map((name) => `${name}  missing: run \`oidc-impersonation migrate\``),
  ]
  const counts = tables.map(({ name, rows, oldest }) => {
    const age = oldest === undefined ? '' : `, the oldest written ${new Date(oldest * 1000).toISOString()}`
    return `${name}  ${rows === undefined ? 'missing' : `${rows} rows${age}`}`
  })
  return [...steps, ...counts].join('\n')
}
