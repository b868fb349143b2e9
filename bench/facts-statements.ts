/** How many statements an issue and an exchange send: over HTTP, and for a chain of actors at the store. */
import type { DatabaseKind } from '../fixtures/databases.ts'
import { recordRuns } from '../fixtures/runs.ts'
import { unstopped } from './facts-fill.ts'
import type { Facts } from './facts-ledger.ts'
import { exchangeOne, issueMany, openFilled } from './facts-work.ts'
import { openScene } from './scene.ts'
import { countStatements } from './statements.ts'

export async function measureStatements(kind: DatabaseKind, facts: Facts): Promise<void> {
  const scene = await openScene({ database: kind, algorithm: 'ES256', clients: 'static' })
  try {
    const counts = await countStatements(scene)
    facts.atMost('statements of an issue', counts.issue, 1)
    facts.atMost('statements of an exchange', counts.exchange, 2)
    facts.atMost('statements on behalf of', counts['on behalf of'], 1)
  } finally {
    await scene.close()
  }
  const filled = await openFilled(kind, unstopped(1, false))
  try {
    const [, draft] = await issueMany(filled, 2)
    const chain = { sub: 'one', act: { sub: 'two', act: { sub: 'three' } } }
    const runs = await recordRuns(filled.database, async () => draft && exchangeOne(filled, draft, chain))
    facts.atMost('statements of an exchange by a chain of actors', runs.length, 3)
  } finally {
    await filled.close()
  }
}
