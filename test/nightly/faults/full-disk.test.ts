/**
 * A disk without room, and room again (protocol.md §2.4, §3.2). The deployment is one process, from the first request to the
 * last.
 */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { startProcess } from '../../../fixtures/cluster.ts'
import { DATABASES, type DatabaseKind } from '../../../fixtures/databases.ts'
import { type Addresses, addressesOf } from '../../../fixtures/deployment.ts'
import type { HttpResponse } from '../../../fixtures/http.ts'
import { signingKey } from '../../../fixtures/keys.ts'
import { idsOf, list, postRevocation, show } from '../../../fixtures/management.ts'
import { startMariadb } from '../../../fixtures/mariadb.ts'
import { describeOn } from '../../../fixtures/on-database.ts'
import { startPostgres } from '../../../fixtures/postgres.ts'
import { warnIfMissing } from '../../../fixtures/programs.ts'
import { exchange, idFrom, keptToken, postSubjectToken } from '../../../fixtures/requests.ts'
import type { OwnServer } from '../../../fixtures/server-process.ts'
import { mountSmallDisk, type SmallDisk } from '../../../fixtures/small-disk.ts'
import { type Impersonation, impersonate, statusOf, stoppedIndexes } from '../../../fixtures/status-lists.ts'
import { connect } from '../../../src/cli/connect.ts'
import { hashToken, type SubjectTokenText } from '../../../src/tokens/secret.ts'

const CLI = path.resolve(import.meta.dirname, '../../../src/cli/main.ts')
const MEGABYTES = 64
/** Of each kind of request while the disk is full. */
const ATTEMPTS = 30
/** So many uses that the pages of their table have no room for them. */
const EXCHANGES = 150
/** Rows so long that a page has no room for many. */
const context = { note: 'x'.repeat(400) }
const reason = 'x'.repeat(1000)

/** How each database says that it has no room. */
const NO_ROOM = { sqlite: 'SQLITE_FULL', postgres: '53100', mysql: 'ER_RECORD_FILE_FULL' }

/** Without a server, the database is a file. */
const SERVERS = {
  sqlite: async () => undefined,
  postgres: (disk: SmallDisk) => startPostgres({ disk }),
  mysql: (disk: SmallDisk) => startMariadb({ disk }),
}

interface Service extends Addresses {
  readonly disk: SmallDisk
  readonly server: OwnServer | undefined
  readonly isRunning: () => boolean
  /** What its operator has been told. */
  told(): Promise<string>
  close(): Promise<void>
}

async function startService(kind: DatabaseKind): Promise<Service | undefined> {
  const disk = await mountSmallDisk(MEGABYTES)
  if (!disk) return undefined
  const server = await SERVERS[kind](disk)
  if (!server && kind !== 'sqlite') {
    await disk.remove()
    return undefined
  }
  const databaseUrl = server?.url ?? `sqlite:${disk.folder}/database.sqlite`
  const migration = disk.inside({ command: process.execPath, args: ['--no-warnings', CLI, 'migrate'] })
  execFileSync(migration.command, migration.args, { env: { ...process.env, DATABASE_URL: databaseUrl } })
  const jwks = { keys: [signingKey()] }
  const { child, address } = await startProcess({ databaseUrl, jwks }, disk)
  return {
    ...addressesOf(address),
    disk,
    server,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    async told() {
      child.send('tell')
      const [text] = await once(child, 'message')
      return String(text)
    },
    async close() {
      child.kill('SIGKILL')
      await server?.stop()
      await disk.remove()
    },
  }
}

const newSubjectToken = (service: Service) => postSubjectToken(service, { userId: 'alice', context })

/** Checks that a response is one of success, or an outage that ends by itself. Returns whether it is an outage. */
function isOutage({ status, headers, body, text }: HttpResponse, success: number): boolean {
  if (status === success) return false
  expect([status, body?.error], text).to.deep.equal([503, 'temporarily_unavailable'])
  expect(Number(headers.get('retry-after')), text).to.be.greaterThan(0)
  return true
}

async function eachOf<Item>(items: readonly Item[], send: (item: Item) => Promise<HttpResponse>) {
  const received: HttpResponse[] = []
  for (const item of items) received.push(await send(item))
  return received
}

const issueTo = async (service: Service, attempts: readonly unknown[], body: object) =>
  (await eachOf(attempts, () => postSubjectToken(service, { userId: 'alice', ...body }))).map((response) => ({
    id: idFrom(response),
    subjectToken: String(response.body.subjectToken),
  }))

/** Until no subject token can be stored. Returns the ids of those that were. */
async function fillUp(service: Service): Promise<string[]> {
  service.disk.fill()
  const ids: string[] = []
  for (;;) {
    const response = await newSubjectToken(service)
    if (isOutage(response, 201)) return ids
    ids.push(idFrom(response))
  }
}

const startOrSkip = async (kind: DatabaseKind, skip: () => never): Promise<Service> =>
  warnIfMissing(await startService(kind), `small disk for ${kind} (Linux, root)`) ?? skip()

const spend = (service: Service, { subjectToken }: { subjectToken: string }) =>
  exchange(service, { subject_token: subjectToken })

const attempts = Array.from({ length: ATTEMPTS })

for (const kind of DATABASES) {
  describe(`a full disk under ${kind}`, function () {
    this.timeout(60_000)
    let service: Service
    let issued: { id: string; subjectToken: string }[]
    const used: Impersonation[] = []
    /** Of the records that there must be. */
    const ids: string[] = []
    let exchanges: HttpResponse[]
    const stop = ({ id }: { id: string }) => postRevocation(service, { id, reason })

    before(async function () {
      service = await startOrSkip(kind, () => this.skip())
      for (const _ of attempts) used.push(await impersonate(service, {}, { context }))
      issued = await issueTo(service, Array.from({ length: EXCHANGES }), { context })
      ids.push(...[...used, ...issued].map(({ id }) => id), ...(await fillUp(service)))
    })
    after(() => service?.close())

    it('is an outage of what must be stored', async () => {
      const issues = await eachOf(attempts, () => newSubjectToken(service))
      ids.push(...issues.filter(({ status }) => status === 201).map(idFrom))
      exchanges = await eachOf(issued, (token) => spend(service, token))
      const stops = await eachOf(used, stop)
      for (const [responses, success] of [
        [issues, 201],
        [exchanges, 200],
        [stops, 200],
      ] as const)
        expect(responses.filter((response) => isOutage(response, success))).to.not.deep.equal([])
    })

    it('lists and shows what is stored', async () => {
      const { id } = used[0] ?? expect.fail('none')
      expect([(await list(service)).status, (await show(service, id)).status]).to.deep.equal([200, 200])
    })

    it('spends each token once, and completes each stop, when there is room again', async () => {
      service.disk.free()
      const again = await eachOf(issued, (token) => spend(service, token))
      const statuses = exchanges.map(({ status }, index) => [status, again[index]?.status].join(', '))
      expect([...new Set(statuses)]).to.include('503, 200')
      for (const both of statuses) expect(both).to.be.oneOf(['503, 200', '200, 400'])
      for (const token of issued) expect((await spend(service, token)).status).to.equal(400)
      for (const { status, text } of await eachOf(used, stop)) expect(status, text).to.equal(200)
      const stopped = await stoppedIndexes(service)
      for (const { id, accessToken } of used) {
        expect((await show(service, id)).body).to.include({ state: 'revoked' })
        expect(stopped).to.include(statusOf(accessToken).idx)
      }
    })

    it('leaves nothing half-written', async () => {
      expect((await newSubjectToken(service)).status).to.equal(201)
      const found: string[] = []
      for (let cursor: string | null | undefined = null; cursor !== undefined; ) {
        const page: HttpResponse = await list(service, { limit: '100', cursor })
        found.push(...idsOf(page))
        cursor = page.body.nextCursor
      }
      // The newest is the one that was issued when there was room again.
      expect(found.slice(1).toReversed()).to.deep.equal(ids.toSorted())
    })

    it('ends no process, and tells the operator the reason and no secret', async () => {
      expect(service.isRunning()).to.equal(true)
      const told = await service.told()
      expect(told).to.include(`reason: '${NO_ROOM[kind]}'`)
      const subjectTokens = [...issued, ...used].map(({ subjectToken }) => subjectToken)
      const accessTokens = exchanges.flatMap(({ body }) => body.access_token ?? [])
      for (const secret of [
        ...subjectTokens,
        ...subjectTokens.map((token) => hashToken(token as SubjectTokenText)),
        ...accessTokens,
        ...used.map(({ accessToken }) => accessToken),
        await keptToken(service),
      ])
        expect(told.includes(secret)).to.equal(false)
    })
  })
}

describeOn('postgres', 'a postgres that crashes because its log has no room', function () {
  this.timeout(60_000)
  let service: Service
  before(async function () {
    service = await startOrSkip('postgres', () => this.skip())
  })
  after(() => service?.close())

  it('is an outage, after which no token is spent twice', async () => {
    const issued = await issueTo(service, attempts, {})
    // Room for rows, and none for the next file of the log, which the next commit needs.
    service.disk.fill({ but: 1 })
    const admin = connect(service.server?.url ?? '')
    await admin.query('SELECT pg_switch_wal()')
    await admin.close()
    const first = await eachOf(issued, (token) => spend(service, token))
    for (const { status, text } of first) expect(status, text).to.equal(503)
    expect(first.map(({ body }) => body.error_description)).to.include('request a new subject token')

    service.disk.free()
    await service.server?.kill()
    await service.server?.start()
    await untilIssued(service)
    for (const [index, token] of issued.entries()) {
      const both = [await spend(service, token), await spend(service, token)].map(({ status }) => status)
      const repeatable = first[index]?.headers.has('retry-after')
      expect(both[0]).to.be.oneOf(repeatable ? [200] : [200, 400])
      expect(both[1]).to.equal(400)
    }
    expect(service.isRunning()).to.equal(true)
  })
})

/** The pool has connections that the crash has broken. */
async function untilIssued(service: Service): Promise<void> {
  const givenUp = Date.now() + 20_000
  while ((await newSubjectToken(service)).status !== 201) {
    if (Date.now() > givenUp) throw new Error('the service did not resume')
    await sleep(50)
  }
}
