/**
 * Rehearses an upgrade: `npm run rehearse`, with 1,000,000 rows, on each database that there is. `-- <folder>` takes the
 * unpacked package of another version as the version before; `--rows` and TEST_DATABASES make it smaller. Prints a line for each,
 * and fails if a request failed or waited for too long, a token had a fate that it may not have, or the tables do not fit.
 */
import { parseArgs } from 'node:util'
import { DATABASES, isAvailable } from '../fixtures/databases.ts'
import { endRun } from '../fixtures/end-of-run.ts'
import {
  describeRehearsal,
  disturbancesOf,
  reasonsAgainst,
  rehearse,
} from '../fixtures/rehearsal/rehearse.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rows: { type: 'string', default: '1000000' } },
})
const [before] = positionals
let passed = true
for (const kind of DATABASES) {
  if (!(await isAvailable(kind))) continue
  for (const disturbance of disturbancesOf(kind)) {
    const rehearsal = {
      kind,
      rows: Number(values.rows),
      disturbance,
      ...(before !== undefined && { before }),
    }
    const outcome = await rehearse(rehearsal)
    if (!outcome) continue
    console.log(describeRehearsal(rehearsal, outcome))
    const reasons = reasonsAgainst(rehearsal, outcome)
    for (const reason of reasons) console.log(reason)
    passed &&= reasons.length === 0
  }
}
await endRun()
process.exit(passed ? 0 : 1)
