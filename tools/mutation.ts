/**
 * Changes the code of a room in every small way, and runs the room's tests on each change: `npm run mutation [-- room …]`.
 * An argument may also be a pattern of files in one room. Prints a table, and fails if a mutant survives that
 * `test/mutation/survivors.json` does not name, or if it names one that does not survive.
 */
import { parseArgs } from 'node:util'
import { type Outcome, outcomeOf } from './mutation/outcome.ts'
import { ROOMS, type Room, roomWith } from './mutation/rooms.ts'
import { runRoom, unrepeatable } from './mutation/stryker.ts'
import type { Place } from './mutation/survivors.ts'

const { values, positionals } = parseArgs({
  options: { jobs: { type: 'string', default: '2' } },
  allowPositionals: true,
})

function roomOf(argument: string): [string, Room] {
  const named = ROOMS[argument]
  if (named) return [argument, named]
  const [name, room] = roomWith(argument) ?? []
  if (!name || !room)
    throw new Error(`not a room, nor files of one: ${argument} (rooms: ${Object.keys(ROOMS).join(', ')})`)
  return [name, { ...room, mutate: [argument] }]
}

const show = ({ file, line, mutated }: Place): string => `${file}\n  - ${line}\n  + ${mutated}`

const table: Record<string, Outcome['row']> = {}
for (const argument of positionals.length > 0 ? positionals : Object.keys(ROOMS)) {
  const [name, room] = roomOf(argument)
  // Once for a room: it takes as long as its tests take twice.
  const failed = name === argument ? await unrepeatable(room) : ''
  if (failed) throw new Error(`tests that fail, or fail the second time in one process:\n${failed}`)
  const { row, unnamed, stale } = outcomeOf(await runRoom(name, room, Number(values.jobs)))
  table[argument] = row
  for (const { status, ...place } of unnamed)
    console.log(`${status === 'NoCoverage' ? 'No test reaches' : 'Survived'}: ${show(place)}`)
  for (const place of stale) console.log(`Named as a survivor, and does not survive: ${show(place)}`)
  if (unnamed.length + stale.length > 0) process.exitCode = 1
  if (unnamed.length > 0)
    console.log(
      JSON.stringify(
        unnamed.map(({ status: _, ...place }) => place),
        null,
        2,
      ),
    )
  console.table({ [argument]: row })
}
if (Object.keys(table).length > 1) console.table(table)
