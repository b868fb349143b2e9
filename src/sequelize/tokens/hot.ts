/** Issue and exchange: one statement to insert, one to find, one to spend, and one more for a chain of several actors. */
import { randomBytes } from 'node:crypto'
import type { Seconds } from '../../base/clock.ts'
import type {
  ActClaim,
  NewSubjectToken,
  StoredSubjectToken,
  SubjectTokenDraft,
  SubjectTokenUse,
} from '../../tokens/subject-token.ts'
import { insertInto } from '../database/standard.ts'
import { withoutEffect } from '../database/storage-error.ts'
import type { Row } from '../database/text.ts'
import { ACTORS, columnsOf } from '../tables.ts'
import type { Place } from './place.ts'
import { issuedRow, readHash, readToken, useRow } from './rows.ts'

export async function insert(
  { database, dialect, number, texts }: Place,
  token: NewSubjectToken,
): Promise<void> {
  await database.writeRow(texts.insert, issuedRow(dialect, number, token), token.id)
}

/** The record of this id, with all that others have committed. */
export const readRow = ({ database, dialect, number, texts }: Place, id: string): Promise<Row | undefined> =>
  database.findRow(texts.find, [dialect.bindId(id), number])

export async function find(place: Place, id: string): Promise<StoredSubjectToken | undefined> {
  const row = await readRow(place, id)
  return row && { ...readToken(place, row, true), tokenHash: readHash(row) }
}

/** The record's times need no condition: they never change. A stop is a row with the same key. */
export async function consume(
  place: Place,
  token: SubjectTokenDraft,
  now: Seconds,
  use: SubjectTokenUse,
): Promise<boolean> {
  if (token.expiresAt <= now) return false
  const { database, dialect, number: issuer, texts } = place
  const chain = await withoutEffect(writeFurtherActors(place, token.id, use.actor))
  const row = useRow(dialect, issuer, token, use, chain)
  return database.writeRow(use.session ? texts.open : texts.spend, row, token.id)
}

/**
 * Writes the further links of a chain of actors, just before the spend. The loser of a race leaves some behind: each use
 * has a name of its own, which the spend writes too, and only what has that name counts. Returns it.
 */
async function writeFurtherActors(
  { database, dialect, number }: Place,
  id: string,
  actor: ActClaim | undefined,
): Promise<string | undefined> {
  const links = new Set<string>()
  for (let link = actor?.act; link; link = link.act) links.add(link.sub)
  if (links.size === 0) return undefined
  const chain = randomBytes(16).toString('hex')
  const rows = [...links].map((sub) => [
    ...[dialect.bindId(id), number, dialect.bindName(sub), dialect.bindId(chain)],
  ])
  const sql = insertInto({ table: ACTORS.name, columns: columnsOf(ACTORS), rows: rows.length })
  await database.writeAlone({ sql }, rows.flat())
  return chain
}
