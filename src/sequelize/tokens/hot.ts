/** Issue and exchange: one statement to insert, one to find, one to spend, and one more for a chain of several actors. */
import { randomBytes } from 'node:crypto'
import type { Seconds } from '../../clock.ts'
import type {
  ActClaim,
  NewSubjectToken,
  StoredSubjectToken,
  SubjectTokenDraft,
  SubjectTokenUse,
} from '../../subject-tokens/subject-token.ts'
import { type Dialect, textOf } from '../database/dialect.ts'
import { withoutEffect } from '../database/storage-error.ts'
import type { Row } from '../database/text.ts'
import { ACTORS, columnsOf, TOKENS, USES } from '../tables.ts'
import { type Place, REST } from './place.ts'
import { ISSUED, issuedRow, OPENED, RECORD, readHash, readToken, USED, useRow } from './rows.ts'

const makeTexts = (dialect: Dialect) => ({
  insert: textOf(dialect, { to: 'insert', table: TOKENS.name, columns: ISSUED }),
  find: textOf(dialect, {
    to: 'find',
    table: `${TOKENS.name} t`,
    join: REST,
    columns: RECORD,
    key: 't.id',
    equal: ['t.issuer'],
    index: 'PRIMARY',
  }),
  /** Makes a token single-use: of any number of rows with one key, a database takes one. */
  spend: textOf(dialect, { to: 'claim', table: USES.name, columns: USED }),
  open: textOf(dialect, { to: 'claim', table: USES.name, columns: OPENED }),
})

const texts = new WeakMap<Dialect, ReturnType<typeof makeTexts>>()

function textsOf(dialect: Dialect): ReturnType<typeof makeTexts> {
  const made = texts.get(dialect) ?? makeTexts(dialect)
  texts.set(dialect, made)
  return made
}

export async function insert({ database, dialect, number }: Place, token: NewSubjectToken): Promise<void> {
  await database.writeRow(textsOf(dialect).insert, issuedRow(dialect, number, token), token.id)
}

/** The record of this id, with all that others have committed. */
export const readRow = ({ database, dialect, number }: Place, id: string): Promise<Row | undefined> =>
  database.findRow(textsOf(dialect).find, [dialect.bindId(id), number])

export async function find(place: Place, id: string): Promise<StoredSubjectToken | undefined> {
  const row = await readRow(place, id)
  return row && { ...readToken(place, row, true), tokenHash: readHash(row) }
}

interface Spend {
  readonly token: SubjectTokenDraft
  readonly now: Seconds
  readonly use: SubjectTokenUse
}

/** What the record says of the time needs no condition: it never changes. A stop is a row with the same key. */
export async function consume(place: Place, { token, now, use }: Spend): Promise<boolean> {
  if (token.expiresAt <= now) return false
  const { database, dialect, number: issuer } = place
  const chain = await withoutEffect(writeFurtherActors(place, token.id, use.actor))
  const { spend, open } = textsOf(dialect)
  const row = useRow(dialect, { issuer, token, use, chain })
  return database.writeRow(use.session ? open : spend, row, token.id)
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
  const sql = dialect.insert({ table: ACTORS.name, columns: columnsOf(ACTORS), rows: rows.length })
  await database.writeAlone({ sql }, rows.flat())
  return chain
}
