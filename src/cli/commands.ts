/** The commands. Each returns the text that it prints. */
import type { Sequelize } from 'sequelize'
import type { Seconds } from '../base/clock.ts'
import { migrate } from '../sequelize/schema/migrate.ts'
import { type Purged, purge } from '../sequelize/schema/purge.ts'
import { ddlOf, type Estimate, estimate, type Status, statusOf } from '../sequelize/schema/status.ts'
import { endUnspent } from '../sequelize/tokens/end-unspent.ts'
import type { DatabaseCommand } from './command-line.ts'
import { assertConnected, explain, nameOf } from './database.ts'

export async function run(command: DatabaseCommand, sequelize: Sequelize): Promise<string> {
  if (command.name !== 'sql') await assertConnected(sequelize)
  try {
    return await perform(command, sequelize)
  } catch (error) {
    throw await explain(error, sequelize)
  }
}

async function perform(
  { name, retention, issuer, role, dryRun, json }: DatabaseCommand,
  sequelize: Sequelize,
): Promise<string> {
  switch (name) {
    case 'migrate': {
      const estimates = await estimate(sequelize)
      if (dryRun) return estimates.map(describeEstimate).join('\n') || 'There is nothing to do.'
      // An empty table takes no time.
      const slow = estimates.filter(({ rows = 0 }) => rows > 0)
      for (const one of slow) process.stderr.write(`${describeEstimate(one)}\n`)
      await migrate(sequelize, { onWait: (reason) => process.stderr.write(`${reason}\n`) })
      return 'The tables are up to date.'
    }
    case 'status': {
      const database = nameOf(sequelize)
      const status = await statusOf(sequelize)
      if (status.faults.length > 0) process.exitCode = 1
      return json
        ? JSON.stringify({ database, ...status }, null, 2)
        : `${database}\n${describeStatus(status)}`
    }
    case 'sql':
      return ddlOf(sequelize, role)
    case 'purge':
      return `Deleted ${await purgeWithProgress(sequelize, retention)}.`
    case 'end-unspent': {
      const revoked = await endUnspent(sequelize, { issuer })
      return `Revoked ${revoked} unspent subject tokens${issuer === undefined ? '' : ` of ${issuer}`}.`
    }
  }
}

/** Milliseconds. */
const PROGRESS = 10_000

/** Shows how far it is: in one line on a terminal, elsewhere in a new one now and then. Returns the total. */
async function purgeWithProgress(sequelize: Sequelize, retention: Seconds | undefined): Promise<string> {
  const { stderr } = process
  let deleted = describePurged({ subjectTokens: 0, models: 0 })
  const timer = stderr.isTTY ? undefined : setInterval(() => stderr.write(`${deleted} …\n`), PROGRESS)
  const onProgress = (purged: Purged) => {
    deleted = describePurged(purged)
    if (stderr.isTTY) stderr.write(`\r${deleted} …`)
  }
  try {
    await purge(sequelize, { retention, onProgress })
    return deleted
  } finally {
    clearInterval(timer)
    if (stderr.isTTY) stderr.write('\r\u001b[K')
  }
}

const describePurged = ({ subjectTokens, models }: Purged): string =>
  `${subjectTokens} subject tokens and ${models} models of the provider`

function describeEstimate({ step, sql, rows, bytes, seconds }: Estimate): string {
  const size = [
    ...(rows === undefined ? ['a new table'] : [`${rows} rows`]),
    ...(bytes === undefined ? [] : [`${bytes} bytes`]),
    `about ${seconds < 1 ? 'no time' : `${Math.round(seconds)} s`}`,
  ]
  return `${step}  ${sql.replaceAll(/\s+/g, ' ')}  (${size.join(', ')})`
}

function describeStatus({ applied, pending, unknown, tables, faults }: Status): string {
  const steps = [
    ...applied.map((name) => `${name}  applied`),
    ...unknown.map((name) => `${name}  applied by a later version`),
    ...pending.map((name) => `${name}  missing: run \`oidc-impersonation migrate\``),
  ]
  const counts = tables.map(({ name, rows, oldest }) => {
    const age = oldest === undefined ? '' : `, the oldest written ${new Date(oldest * 1000).toISOString()}`
    return `${name}  ${rows === undefined ? 'missing' : `${rows} rows${age}`}`
  })
  const verdict = faults.length === 0 ? ['up to date'] : faults.map((fault) => `fault: ${fault}`)
  return [...steps, ...counts, ...verdict].join('\n')
}
