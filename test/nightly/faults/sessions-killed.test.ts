/** A process that ends a session is killed at each of its writes, and another one finds what is left (protocol.md §10.6). */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { expect } from 'chai'
import { stopClock } from '../../../fixtures/clock.ts'
import { ISSUER } from '../../../fixtures/cluster.ts'
import { DATABASES, type Database, openDatabase } from '../../../fixtures/databases.ts'
import { startDeployment } from '../../../fixtures/deployment.ts'
import { signingKey } from '../../../fixtures/keys.ts'
import type { Killing } from '../../../fixtures/session-killer.ts'
import {
  type Application,
  openSession,
  reachesLoopback,
  sessionSays,
  shopClient,
  startApplication,
} from '../../../fixtures/sessions.ts'
import { insideOf } from '../../../src/impersonation.ts'
import { sessionName } from '../../../src/sessions/provider.ts'
import { watchSessions } from '../../../src/sessions/watch.ts'

const KILLER = path.resolve(import.meta.dirname, '../../../fixtures/session-killer.ts')
const WRITES = [
  'store.revoke',
  'Session.destroy',
  'Grant.destroy',
  'AccessToken.revokeByGrantId',
  'store.report',
  'sessions.claim',
  'sessions.settle',
]

/** Ends when the process has been killed. */
async function killed(killing: Killing): Promise<void> {
  const child = fork(KILLER, { execArgv: ['--no-warnings'], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  child.send(killing)
  const [, signal] = await once(child, 'exit')
  expect(signal, killing.call).to.equal('SIGKILL')
}

for (const kind of DATABASES) {
  describe(`sessions on ${kind}: a process that is killed while it ends one`, function () {
    this.timeout(60_000)
    const jwks = { keys: [signingKey('ES256', 'shared')] }
    let database: Database
    let application: Application
    before(async () => {
      database = await openDatabase(kind)
      application = await startApplication()
    })
    after(async () => {
      await database?.close()
      await application?.close()
    })

    for (const call of WRITES) {
      for (const when of ['before', 'after'] as const) {
        it(`leaves nothing that another process does not end: ${when} ${call}`, async () => {
          const deployment = await startDeployment({
            database,
            issuer: ISSUER,
            clients: [shopClient(application.uri)],
            configuration: { ...reachesLoopback(), jwks },
          })
          const watch = watchSessions(insideOf(deployment.impersonation))
          const { id } = await openSession(deployment, { ttl: 900 })
          const { provider } = deployment
          await killed({
            databaseUrl: database.url,
            issuer: ISSUER,
            jwks,
            uri: application.uri,
            id,
            call,
            when,
          })
          const clock = stopClock()
          try {
            const wasStopped = call !== 'store.revoke' || when === 'after'
            // What the process had claimed is free again after 5 s; a session that no one has stopped ends by itself.
            clock.tick(wasStopped ? 6 : 901)
            await watch.look()
            clock.tick(11)
            await watch.look()
            const told = application.told.filter(({ sid }) => sid === sessionName(id))
            expect(told.length).to.be.within(1, 3)
            expect(await sessionSays(deployment, id)).to.include({ logout: 'confirmed' })
            expect(await provider.Session.findByUid(sessionName(id))).to.equal(undefined)
            expect(await provider.Grant.find(sessionName(id))).to.equal(undefined)
            const { store } = insideOf(deployment.impersonation)
            const left = await store.sessions?.findDue(ISSUER, Number.MAX_SAFE_INTEGER, 10)
            expect(left).to.deep.equal([])
          } finally {
            clock.restore()
            watch.stop()
            await deployment.close()
          }
        })
      }
    }
  })
}
