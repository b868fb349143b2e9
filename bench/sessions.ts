/**
 * One kill switch and many live sessions: when the last application was told, and whether a slow one delays the others.
 *
 *     node bench/sessions.ts [memory|sqlite|postgres|mysql] [sessions]
 *
 * The applications run in a process of their own, and all respond after 20 ms, but for one in the second run.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { decodeJwt } from 'jose'
import type { DatabaseKind } from '../fixtures/databases.ts'
import { startDeployment } from '../fixtures/deployment.ts'
import { openSession, reachesLoopback, shopClient } from '../fixtures/sessions.ts'
import { createMemoryStore } from '../src/testing/index.ts'

const CLIENTS = 10
const FAST = 20
/** Just within what the provider waits for. */
const SLOW = 2_400
const SLOW_CLIENT = 'client-0'

/** How many sessions each client was told of, and when of the last one, in milliseconds since the epoch. */
type Told = Record<string, { count: number; last: number }>

function serveApplications(): void {
  const told: Told = {}
  const sessions = new Set<unknown>()
  let slow = FAST
  const server = createServer(async (request, response) => {
    const client = String(request.url).slice(1)
    const { sid } = decodeJwt(new URLSearchParams(await text(request)).get('logout_token') ?? '')
    // Not what is told again, because this machine is busy.
    if (!sessions.has(sid)) told[client] = { count: (told[client]?.count ?? 0) + 1, last: Date.now() }
    sessions.add(sid)
    await sleep(client === SLOW_CLIENT ? slow : FAST)
    response.writeHead(200).end()
  })
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
  process.on('message', (message: { slow?: number }) => {
    if (message.slow === undefined) process.send?.(told)
    else slow = message.slow
  })
  process.once('disconnect', () => process.exit())
}

const ask = async (child: ChildProcess): Promise<Told> => {
  child.send({})
  const [told] = await once(child, 'message')
  return told as Told
}

interface Run {
  readonly kind: DatabaseKind | 'memory'
  readonly sessions: number
  readonly slow: number
}

/** Seconds from the call of the kill switch: until it has answered, until the last of the fast ones is told, and of CPU. */
async function measure({ kind, sessions, slow }: Run) {
  const child = fork(fileURLToPath(import.meta.url), ['applications'])
  const [port] = await once(child, 'message')
  child.send({ slow })
  const clients = Array.from({ length: CLIENTS }, (_, index) => `client-${index}`)
  const deployment = await startDeployment({
    ...(kind !== 'memory' && { database: kind }),
    options: (baseUrl) => ({
      ...(kind === 'memory' && { store: createMemoryStore() }),
      sessions: { door: `${baseUrl}/impersonate` },
    }),
    clients: clients.map((client_id) => shopClient(`http://127.0.0.1:${port}/${client_id}`, { client_id })),
    configuration: reachesLoopback(),
  })
  try {
    for (let session = 0; session < sessions; session += 1)
      await openSession(deployment, { clientId: clients[session % CLIENTS] ?? '' })
    const spent = process.cpuUsage()
    const begun = Date.now()
    const { revoked } = await deployment.impersonation.records.stopAll({ userId: 'alice' })
    const answered = Date.now()
    if (revoked !== sessions) throw new Error(`${revoked} of ${sessions} were stopped`)
    const fast = clients.filter((name) => name !== SLOW_CLIENT)
    const names = slow === FAST ? clients : fast
    const countOf = (told: Told) => names.reduce((sum, name) => sum + (told[name]?.count ?? 0), 0)
    let told = await ask(child)
    while (countOf(told) < (sessions / CLIENTS) * names.length) {
      await sleep(50)
      told = await ask(child)
    }
    const last = Math.max(...fast.map((name) => told[name]?.last ?? 0))
    const { user, system } = process.cpuUsage(spent)
    const seconds = (milliseconds: number) => Number((milliseconds / 1000).toFixed(2))
    return {
      answered: seconds(answered - begun),
      told: seconds(last - begun),
      cpu: seconds((user + system) / 1000),
    }
  } finally {
    await deployment.close()
    child.disconnect()
  }
}

async function main([kind = 'sqlite', sessions = '1000']: readonly string[]): Promise<void> {
  const run = { kind: kind as Run['kind'], sessions: Number(sessions) }
  const quick = await measure({ ...run, slow: FAST })
  const slowed = await measure({ ...run, slow: SLOW })
  console.log(`${kind}, ${sessions} sessions of ${CLIENTS} clients, one kill switch; seconds from its call`)
  console.table({ 'all in 20 ms': quick, [`one in ${SLOW} ms`]: slowed })
  console.log(`the slow one delays the others by ${(slowed.told - quick.told).toFixed(2)} s`)
}

if (process.argv[2] === 'applications') serveApplications()
else await main(process.argv.slice(2))
