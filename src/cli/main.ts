#!/usr/bin/env node
/** `oidc-impersonation`: what a deployment runs beside its processes. */
import { readFileSync } from 'node:fs'
import { Sequelize } from 'sequelize'
import { withoutCredentials } from './check/finding.ts'
import {
  type CheckCommand,
  type DatabaseCommand,
  HELP,
  parseCommandLine,
  UsageError,
} from './command-line.ts'
import { run } from './commands.ts'
import { connect } from './connect.ts'

async function main(args: string[]): Promise<string> {
  const command = parseCommandLine(args)
  if (command === 'help') return HELP
  if (command === 'version') return version()
  if (command.name === 'check') return runCheck(command)
  const sequelize = usage(() => open(command))
  try {
    const message = await run(command, sequelize)
    if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
    return message
  } finally {
    await sequelize.close()
  }
}

/** Loaded here, because no other command needs the provider, which is an optional peer. */
async function runCheck(command: CheckCommand): Promise<string> {
  const { check } = await import('./check/check.ts')
  // Whatever the deployment prints, and by whichever way: stdout is for the findings.
  const { write } = process.stdout
  process.stdout.write = process.stderr.write.bind(process.stderr)
  try {
    const { text, failed } = await check(command)
    if (failed) process.exitCode = 1
    return text
  } finally {
    process.stdout.write = write
  }
}

function version(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  return String(version)
}

/** Connects at the first statement, and printing SQL has none. */
function open({ dialect }: DatabaseCommand): Sequelize {
  if (dialect === undefined) return connect(databaseUrl())
  return dialect === 'sqlite' ? connect('sqlite:') : new Sequelize({ dialect, logging: false })
}

function databaseUrl(): string {
  const url = process.env.DATABASE_URL
  if (!url) throw new UsageError('DATABASE_URL is not set')
  return url
}

/** A URL that is wrong is the caller's mistake, not the database's. */
function usage<Value>(read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

/** The deployment that `check` has loaded may hold the process: a pool, a listener, an interval. */
async function end(): Promise<never> {
  // Before the exit, which drops what a pipe has not taken yet.
  for (const stream of [process.stdout, process.stderr]) {
    // Its reader has gone, or its disk is full: there is no one to tell.
    stream.on('error', () => {})
    await new Promise((written) => stream.write('', written))
  }
  process.exit()
}

try {
  process.stdout.write(`${await main(process.argv.slice(2))}\n`)
} catch (error) {
  const message = error instanceof Error ? error.message : String(error)
  const plain = withoutCredentials(message).replace(/[^\P{Cc}\n]/gu, ' ')
  console.error(`oidc-impersonation: ${plain}`)
  if (error instanceof UsageError) console.error('\nTry: oidc-impersonation --help')
  process.exitCode = error instanceof UsageError ? 2 : 1
}
await end()
