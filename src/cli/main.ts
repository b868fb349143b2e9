#!/usr/bin/env node
/** `oidc-impersonation`: what a deployment runs beside its processes. */
import { HELP, parseCommandLine } from './command-line.ts'
import { run } from './commands.ts'
import { open } from './database.ts'
import { runCommand, versionOf } from './process.ts'

await runCommand('oidc-impersonation', async (args) => {
  const command = parseCommandLine(args)
  if (command === 'help') return HELP
  if (command === 'version') return versionOf(new URL('../../package.json', import.meta.url))
  const { sequelize, close } = await open(command)
  try {
    return await run(command, sequelize)
  } finally {
    await close()
  }
})
