/**
 * The actors behind the actor of an exchange, in the table `subject_token_actors`. The row of a subject token
 * holds the newest actor; the others are found here, because no index looks into a chain.
 *
 * They are written just before the spend, so the loser of a race leaves some behind. Each use therefore has a
 * name of its own, `chain`, which the spend writes to the row: only what has the name in the row counts. A use
 * without further links has one too: it tells which of several spends wrote a row.
 */
import { randomUUID } from 'node:crypto'
import type { ActClaim, SubjectTokenUse } from '../subject-tokens/subject-token.ts'
import type { Database } from './database/database.ts'
import type { Bound } from './database/text.ts'

interface Spend {
  readonly issuer: Bound
  readonly hash: string
  readonly now: number
  readonly use: SubjectTokenUse
}

/**
 * Writes the further links of a chain of actors. Returns the name of this use, by which they are found, and
 * `undefined` where the subject token cannot be spent any more.
 */
export async function writeFurtherActors(
  database: Database,
  { issuer, hash, now, use }: Spend,
): Promise<string | undefined> {
  const actors = furtherActors(use.actor).map((sub) => database.dialect.bindName(sub))
  const chain = randomUUID()
  if (actors.length === 0) return chain
  const bind = [hash, issuer, now, chain, use.accessToken.expiresAt, ...actors]
  return (await database.alone.write(insert(actors.length), bind)) === actors.length ? chain : undefined
}

function furtherActors(actor: ActClaim | undefined): string[] {
  const found: string[] = []
  for (let link = actor?.act; link; link = link.act) found.push(link.sub)
  return found
}

/** Kept as long as their record: until it has ended, and then for the retention. One text for each length. */
function insert(count: number): string {
  const actors = Array.from({ length: count }, (_, index) => `SELECT $${index + 6} AS id`).join(' UNION ALL ')
  return `INSERT INTO subject_token_actors (actor_id, token_id, chain, expires_at)
  SELECT actor.id, t.id, $4, CASE WHEN t.expires_at > $5 THEN t.expires_at ELSE $5 END
  FROM subject_tokens t CROSS JOIN (${actors}) actor
  WHERE t.token_hash = $1 AND t.issuer = $2 AND t.consumed_at IS NULL AND t.revoked_at IS NULL AND t.expires_at > $3`
}
