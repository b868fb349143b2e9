/** `npm run demo`: the whole flow on a free port and a temporary database. Every response is checked. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { runFlow } from './demo/flow.ts'
import * as screen from './demo/screen.ts'
import { startExample } from './deployment.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'impersonation-demo-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    console.error('\nStopped before the end.')
    process.exit(130)
  })
}

screen.title(
  'A support engineer becomes a customer: in one application, or for one access token, and on the record',
)
const example = await startExample({ port: 0, storage: path.join(folder, 'demo.sqlite') })
const start = performance.now()
const { found, checks, passed } = await runFlow(example)
await example.close()
screen.stopped()

screen.summary(checks, passed, (performance.now() - start) / 1000)
if (found.length > 0) {
  console.error(`\nNot as promised:\n${found.map((difference) => `  - ${difference}`).join('\n')}`)
  process.exitCode = 1
}
