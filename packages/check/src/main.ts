#!/usr/bin/env node
/** `oidc-impersonation-check`: looks at a deployment before its users do. */
import { parseArgs } from 'node:util'
import { runCommand, UsageError, versionOf } from 'oidc-provider-impersonation/inside'
import { check } from './check.ts'

const HELP = `Usage: oidc-impersonation-check <module> [options]

Looks at a deployment before its users do, and writes nothing.

Module
  A file that exports \`provider\` and \`impersonation\` (and \`sequelize\`, to
  have rights looked at), or a function as default that returns them.

Options
  --example <file>  JSON of an impersonation to try: userId, createdBy,
                    clientId, resource; actorId, scope, context, onBehalfOf,
                    session and expect ("denied") as needed
  --json            print JSON
  --help            show this
  --version         show the version

Exit code: 0 no fault, 1 a fault was found, 2 invalid usage.
`

const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
  example: { type: 'string' },
  json: { type: 'boolean' },
} as const

function parse(args: string[]) {
  try {
    return parseArgs({ args, allowPositionals: true, options: OPTIONS })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

await runCommand('oidc-impersonation-check', async (args) => {
  const { positionals, values } = parse(args)
  if (values.help) return HELP
  if (values.version) return versionOf(new URL('../package.json', import.meta.url))
  const [module, ...others] = positionals
  if (module === undefined) throw new UsageError('missing module')
  if (others.length > 0) throw new UsageError(`unexpected argument: ${others.join(' ')}`)
  const { text, failed } = await check({ module, ...values })
  if (failed) process.exitCode = 1
  return text
})
