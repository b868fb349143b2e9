/** Who has looked into the alarms of records: read for those that have some, and never for a token that is unspent. */
import { type Acknowledgement, isAlarming, type SubjectToken } from '../../tokens/subject-token.ts'
import { textOf } from '../database/standard.ts'
import { hexOf, type Row, text } from '../database/text.ts'
import { ACKNOWLEDGEMENTS, columnsOf } from '../tables.ts'
import type { Place } from './place.ts'

const COLUMNS = columnsOf(ACKNOWLEDGEMENTS)

/** Adds their acknowledgements to records, oldest first. */
export async function withAcknowledgements(
  place: Place,
  tokens: readonly SubjectToken[],
): Promise<readonly SubjectToken[]> {
  const alarming = tokens.filter(isAlarming).map(({ id }) => id)
  if (alarming.length === 0) return tokens
  const found = await acknowledgementsOf(place, alarming)
  return tokens.map((token) => {
    const acknowledged = found.get(token.id)
    return acknowledged ? { ...token, acknowledged } : token
  })
}

export async function acknowledge(
  place: Place,
  { id }: SubjectToken,
  { at, by, note, coversReplay }: Acknowledgement,
): Promise<void> {
  const given = (await acknowledgementsOf(place, [id])).get(id) ?? []
  if (given.some((one) => one.coversReplay || !coversReplay)) return
  const { database, dialect, number } = place
  const claim = textOf(dialect, { to: 'claim', table: ACKNOWLEDGEMENTS.name, columns: COLUMNS })
  const bind = [at, dialect.bindId(id), number, coversReplay ? 1 : 0, by, note]
  await database.writeAlone({ ...claim, rare: true }, bind)
}

async function acknowledgementsOf(
  place: Place,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly Acknowledgement[]>> {
  const { database, dialect, number } = place
  const { among, bind } = dialect.idsFrom(2, ids)
  const rows = await database.find(
    `SELECT ${COLUMNS.join(', ')} FROM ${ACKNOWLEDGEMENTS.name} WHERE issuer = $1 AND ${among('token_id')}
      ORDER BY acknowledged_at, covers_replay`,
    [number, ...bind],
  )
  const byToken = Map.groupBy(rows, (row) => hexOf(row.token_id))
  return new Map([...byToken].map(([id, given]) => [id, given.map(readAcknowledgement)]))
}

const readAcknowledgement = (row: Row): Acknowledgement => ({
  at: Number(row.acknowledged_at),
  by: text(row.acknowledged_by),
  note: text(row.note),
  coversReplay: Number(row.covers_replay) === 1,
})
