#!/usr/bin/env node
/** `oidc-impersonation`: what a deployment runs beside its processes. */
import { readFileSync } from 'node:fs'
import { withoutCredentials } from './check/finding.ts'
import {
  type CheckCommand,
  type DatabaseCommand,
  HELP,
  parseCommandLine,
  UsageError,
} from './command-line.ts'
import { run } from './commands.ts'
import { open } from './database.ts'

async function main(args: string[]): Promise<string> {
  const command = parseCommandLine(args)
  if (command === 'help') return HELP
  if (command === 'version') return version()
  return apart(() => (command.name === 'check' ? runCheck(command) : runOnDatabase(command)))
}

async function runOnDatabase(command: DatabaseCommand): Promise<string> {
  const { sequelize, close } = await open(command)
  try {
    return await run(command, sequelize)
  } finally {
    await close()
  }
}

/** Loaded here, because no other command needs it. */
async function runCheck(command: CheckCommand): Promise<string> {
  const { check } = await import('./check/check.ts')
  const { text, failed } = await check(command)
  if (failed) process.exitCode = 1
  return text
}

/** Whatever a deployment prints goes to stderr: stdout is for what the command returns. */
async function apart<Value>(work: () => Promise<Value>): Promise<Value> {
  const { write } = process.stdout
  process.stdout.write = process.stderr.write.bind(process.stderr)
  try {
    return await work()
  } finally {
    process.stdout.write = write
  }
}

function version(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  return String(version)
}

/** The deployment may hold the process: a pool, a listener, an interval. */
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
