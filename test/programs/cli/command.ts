/** The command `oidc-impersonation` as a process, and tokens for it. */
import { execFile } from 'node:child_process'
import path from 'node:path'
import { FROM_SOURCE } from '../../../fixtures/packed-package.ts'
import { earliestId, mintId } from '../../../src/tokens/id.ts'
import { hashToken, mintToken } from '../../../src/tokens/secret.ts'

export const CLI = path.resolve(import.meta.dirname, '../../../src/cli/main.ts')
export const CHECK = path.resolve(import.meta.dirname, '../../../packages/check/src/main.ts')

interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

interface How {
  /** Options of Node. */
  readonly node?: readonly string[]
  readonly variables?: NodeJS.ProcessEnv
  readonly program?: string
}

export function run(
  args: readonly string[],
  databaseUrl?: string,
  { node = ['--no-warnings', FROM_SOURCE], variables, program = CLI }: How = {},
): Promise<Outcome> {
  const { DATABASE_URL: _, ...inherited } = process.env
  const env = { ...inherited, ...variables }
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [...node, program, ...args],
      { env: databaseUrl === undefined ? env : { ...env, DATABASE_URL: databaseUrl } },
      (error, stdout, stderr) => resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    )
  })
}

export const runCheck = (...args: readonly string[]): Promise<Outcome> =>
  run(args, undefined, { program: CHECK })

export const ISSUER = 'https://id.example.com/oidc'

/** A subject token that expires in so many seconds. */
export function tokenThatEnds(seconds: number, issuer = ISSUER) {
  const now = Math.floor(Date.now() / 1000)
  const id = earliestId(now - 600).slice(0, 12) + mintId().slice(12)
  return {
    id,
    tokenHash: hashToken(mintToken(id)),
    issuer,
    purpose: 'exchange' as const,
    userId: 'alice',
    context: {},
    createdBy: 'backend',
    createdAt: now - 600,
    expiresAt: now + seconds,
  }
}
