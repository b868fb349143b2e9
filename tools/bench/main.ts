/** `npm run bench`: see docs/contributing/bench.md. */

import { endRun } from '../../fixtures/end-of-run.ts'
import { measureFacts } from './facts.ts'
import { parseOptions } from './options.ts'
import { MACHINE } from './report.ts'
import { CORES } from './scene.ts'
import { measureTable } from './table.ts'

/** Shows progress on one line, and only in a terminal. */
function tell(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`)
}

const options = parseOptions(process.argv.slice(2))
// An interrupt reaches the children, too. When they end, the measurement fails and the database is dropped.
process.on('SIGINT', () => {})
const { processor, cores, memory, node, load } = MACHINE
const { database, algorithm, concurrency, rounds, seconds } = options
console.log(`${processor}, ${cores} cores, ${memory}, Node ${node}`)
if (load > 0.5)
  console.log(`This machine is busy (load average ${load.toFixed(1)}): do not trust the figures below.`)
console.log(
  CORES.server === undefined
    ? 'Processes are not pinned (no taskset, or one core): server and generator disturb each other.'
    : `Server on core ${CORES.server}; generator, and the database if it can be moved, on ${CORES.others}.`,
)
console.log(`${database}, ${algorithm}, concurrency ${concurrency}, ${rounds} rounds of ${seconds} s\n`)
try {
  await (options.facts ? measureFacts(options, tell) : measureTable(options, tell))
} finally {
  await endRun()
}
