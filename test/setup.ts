import path from 'node:path'
import { endRun } from '../fixtures/end-of-run.ts'
import { limitByProcesses } from '../fixtures/limits.ts'

// Compiled once for all the processes that tests start. Coverage is exact without it only.
if (!process.env.NODE_V8_COVERAGE)
  process.env.NODE_COMPILE_CACHE ??= path.resolve('node_modules/.cache/compiled')

// oidc-provider warns about development defaults; the tests choose theirs on purpose.
process.env.NODE_NO_WARNINGS = '1'

limitByProcesses()

interface Runner {
  isParallelMode(): boolean
}

/** Servers are started once for all workers. In a run of one process a test starts what it needs. */
export async function mochaGlobalSetup(this: Runner): Promise<void> {
  if (!this.isParallelMode()) return
  const { shareServers } = await import('../fixtures/databases.ts')
  try {
    await shareServers()
  } catch (error) {
    await endRun()
    throw error
  }
}

export const mochaGlobalTeardown = endRun
