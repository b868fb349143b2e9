#!/usr/bin/env node
/** `oidc-impersonation`: what a deployment runs beside its processes. */
import { parseArgs } from 'node:util'
import type { Sequelize } from 'sequelize'
import { migrate, purge } from '../sequelize/index.ts'
import type { Purged } from '../sequelize/schema/purge.ts'
import { connect } from './connect.ts'

const HELP = `Usage: oidc-impersonation <command> [options]

Commands
  migrate              bring the tables up to date; safe from many processes at once
  purge                delete ended subject tokens after the retention, and expired models of the provider

Options
  --retention <seconds>  with purge: how long records of ended impersonations are kept (default 7776000: 90 days)
  --help                 show this

Environment
  DATABASE_URL         sqlite:<file>, postgres://…, mysql://… or mariadb://…

Exit code: 0 done, 1 the database failed, 2 invalid usage.
`

class UsageError extends Error {}

interface Command {
  readonly name: 'migrate' | 'purge'
  readonly retention?: number
}

/** Reads the command line; `undefined` asks for help. */
function parseCommand(args: string[]): Command | undefined {
  const { positionals, values } = parse(args)
  if (values.help) return undefined
  const [name, ...others] = positionals
  if (name !== 'migrate' && name !== 'purge')
    throw new UsageError(name ? `unknown command: ${name}` : 'missing command')
  if (others.length > 0) throw new UsageError(`unexpected argument: ${others.join(' ')}`)
  if (values.retention === undefined) return { name }
  if (name !== 'purge') throw new UsageError('--retention is only valid with purge')
  if (!/^\d{1,12}$/.test(values.retention)) throw new UsageError('--retention takes whole seconds')
  return { name, retention: Number(values.retention) }
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: { help: { type: 'boolean', short: 'h' }, retention: { type: 'string' } },
    })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

async function run({ name, retention }: Command, sequelize: Sequelize): Promise<string> {
  if (name === 'migrate') {
    await migrate(sequelize)
    return 'The tables are up to date.'
  }
  const purged = await purge(sequelize, {
    retention,
    ...(process.stderr.isTTY && { onProgress: showProgress }),
  })
  return `Deleted ${describe(purged)}.`
}

const describe = ({ subjectTokens, models }: Purged): string =>
  `${subjectTokens} subject tokens and ${models} models of the provider`

function showProgress(purged: Purged): void {
  process.stderr.write(`\r${describe(purged)} …`)
}

function open(): Sequelize {
  const url = process.env.DATABASE_URL
  if (!url) throw new UsageError('DATABASE_URL is not set')
  try {
    return connect(url)
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

async function main(args: string[]): Promise<void> {
  const command = parseCommand(args)
  if (!command) {
    console.log(HELP)
    return
  }
  const sequelize = open()
  try {
    const message = await run(command, sequelize)
    if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
    console.log(message)
  } finally {
    await sequelize.close()
  }
}

try {
  await main(process.argv.slice(2))
} catch (error) {
  const message = error instanceof Error ? error.message : String(error)
  console.error(`oidc-impersonation: ${message}`)
  if (error instanceof UsageError) console.error('\nTry: oidc-impersonation --help')
  process.exitCode = error instanceof UsageError ? 2 : 1
}
