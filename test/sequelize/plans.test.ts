/**
 * What statements read: on PostgreSQL pages, on MariaDB rows, with and without statistics; everywhere the indexes. They
 * are explained as they run, with their values.
 */
import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { QueryTypes } from 'sequelize'
import { now } from '../../fixtures/clock.ts'
import { ISSUER } from '../../fixtures/cluster.ts'
import { DATABASES, type Database, type DatabaseKind, openDatabase } from '../../fixtures/databases.ts'
import { beforeOn } from '../../fixtures/on-database.ts'
import { allOf } from '../../fixtures/revocations.ts'
import { type Run, recordRuns } from '../../fixtures/runs.ts'
import { BY_API, newToken, newUse } from '../../fixtures/subject-tokens.ts'
import type { Bound } from '../../src/sequelize/database/text.ts'
import { databaseOf } from '../../src/sequelize/database-of.ts'
import { createAdapter, createSubjectTokenStore, purge } from '../../src/sequelize/index.ts'
import { ACTORS, columnsOf, MODELS, STOPS, TOKENS, USES } from '../../src/sequelize/tables.ts'
import { numberOf } from '../../src/sequelize/tokens/issuers.ts'
import { ISSUED, issuedRow, USED, useRow } from '../../src/sequelize/tokens/rows.ts'
import { earliestId } from '../../src/subject-tokens/id.ts'
import type { KillFilter, SubjectTokenFilter } from '../../src/subject-tokens/store.ts'

/** Issued one after another, up to now: nine hours, of which the last one has not expired. */
const ROWS = 12_000
const SECONDS_OF_ROW = 3
const LIFE = 3600
const NOW = now()
const NUMBER = numberOf(ISSUER)
const PER_STATEMENT = 500

/** Not of the rows: what is exchanged, and what is stopped. */
const TOKEN = newToken({ id: idAt(NOW, ROWS), createdAt: NOW, expiresAt: NOW + 600 })
const MIDDLE = idAt(NOW - (ROWS / 2) * SECONDS_OF_ROW, ROWS / 2)
const TIMES = { createdAfter: NOW - 20_000, createdBefore: NOW - 9000 }

const list = ({ sequelize }: Database, filter: SubjectTokenFilter, more: object = {}, issuer = ISSUER) =>
  createSubjectTokenStore(sequelize).list(issuer, filter, { limit: 50, now: NOW, ...more })
const kill = ({ sequelize }: Database, filter: KillFilter) =>
  allOf(createSubjectTokenStore(sequelize).revokeWhere(ISSUER, filter, NOW, BY_API))

async function count(slices: AsyncIterable<unknown>): Promise<number> {
  let counted = 0
  for await (const _slice of slices) counted += 1
  return counted
}

const BY_KEY = /subject_\w+_pkey|PRIMARY|autoindex_subject_tokens/

interface Listed {
  readonly filter: SubjectTokenFilter
  readonly more?: object
  readonly index: RegExp
  /** Pages for what is looked at and not listed. */
  readonly beside?: number
}

/** Lists, and the index that each must use. */
const LISTS: Readonly<Record<string, Listed>> = {
  'what is newest': { filter: {}, index: BY_KEY },
  'what is in the middle': { filter: {}, more: { cursor: MIDDLE }, index: BY_KEY },
  'what was issued in a time': { filter: TIMES, index: BY_KEY },
  'what is of a user': { filter: { userId: ['user-7'] }, index: /subject_tokens_user_id/ },
  'what is of two users': { filter: { userId: ['user-7', 'user-8'] }, index: /subject_tokens_user_id/ },
  'what is of a user and a time': {
    filter: { userId: ['user-7'], ...TIMES },
    index: /subject_tokens_user_id/,
  },
  'what is of a rare actor': { filter: { actorId: ['eng-9'] }, index: /_(actor_id|actors)/ },
  'what is of an actor of many': { filter: { actorId: ['bot'] }, index: /_(actor_id|actors)/ },
  'what is of a client, after a page': {
    filter: { clientId: 'web' },
    more: { cursor: MIDDLE },
    index: /_client_id/,
  },
  'what is of a client and was for it alone': { filter: { clientId: 'spa' }, index: /_client_id/ },
  'what a backend issued': { filter: { createdBy: 'm2m' }, index: /subject_tokens_created_by/ },
  'what is of a ticket': { filter: { ticketId: 'T-1' }, index: /subject_tokens_ticket_id/ },
  'what was exchanged without an actor': {
    filter: { withoutActor: true },
    index: /subject_token_uses_actor_id/,
  },
  'what was replayed': { filter: { replayed: true }, index: /subject_token_stops_replayed/ },
  'what was revoked': { filter: { state: 'revoked' }, index: BY_KEY },
  'what is live': { filter: { live: true }, index: BY_KEY },
  'what is live, after a page': {
    filter: { live: true },
    more: { cursor: idAt(NOW - 1200, 0) },
    index: BY_KEY,
  },
  'what is live, when few are': {
    filter: { live: true },
    more: { cursor: idAt(NOW - LIFE + 150, 0) },
    index: /subject_token_uses_live/,
    // All that has not expired: one index holds it, by its ends.
    beside: 30,
  },
}

/** Names that no row has. */
const NAMELESS: readonly SubjectTokenFilter[] = [
  { userId: ['unknown'] },
  { actorId: ['unknown'] },
  { clientId: 'unknown' },
  { createdBy: 'unknown' },
  { ticketId: 'unknown' },
]

const NEVER = { createdAfter: NOW + 86_400 }

/** What finds nothing, and must end early: at the first row that is too old, or too young. */
const ENDING_EARLY: Readonly<Record<string, (database: Database) => Promise<unknown>>> = {
  'list a time without any': (database) => list(database, NEVER),
  'list a time before all': (database) => list(database, { createdBefore: NOW - 86_400 }),
  'list a backend and a time without any': (database) => list(database, { createdBy: 'm2m', ...NEVER }),
  'list what was exchanged without an actor, of a time without any': (database) =>
    list(database, { withoutActor: true, ...NEVER }),
  'list what is live, of a time without any': (database) => list(database, { live: true, ...NEVER }),
  'list what is older than all of a user': (database) =>
    list(database, { userId: ['user-7'] }, { cursor: idAt(NOW - 86_400, 0) }),
  'list what is older than all of a backend': (database) =>
    list(database, { createdBy: 'm2m' }, { cursor: idAt(NOW - 86_400, 0) }),
  'list an issuer that has none': (database) => list(database, {}, {}, 'https://other.example.com'),
  'end the tokens of an unknown user': (database) => kill(database, { userId: 'unknown' }),
  'end the tokens of an unknown actor': (database) => kill(database, { actorId: 'unknown' }),
  'end the tokens of an unknown backend': (database) => kill(database, { createdBy: 'unknown' }),
}

/** Where one walk has both of its ends. */
const ENDING_AT_BOTH: typeof ENDING_EARLY = {
  ...ENDING_EARLY,
  'count a time without any': ({ sequelize }) =>
    count(createSubjectTokenStore(sequelize).summarize(ISSUER, NOW + 86_400, NOW + 90_000)),
  'end what a backend issued long ago': ({ sequelize }) =>
    allOf(
      createSubjectTokenStore(sequelize).revokeWhere(ISSUER, { createdBy: 'm2m' }, NOW + 10 * 86_400, BY_API),
    ),
}

/** What else runs, and the index it must use. */
const OTHERS: Readonly<Record<string, { run: (database: Database) => Promise<unknown>; index: RegExp }>> = {
  'find a subject token': {
    run: ({ sequelize }) => createSubjectTokenStore(sequelize).find(ISSUER, TOKEN.id),
    index: BY_KEY,
  },
  'list what is live and of a user': {
    run: (database) => list(database, { live: true, userId: ['user-7'] }),
    index: /subject_tokens_user_id/,
  },
  'list what is live, of a time': {
    run: (database) => list(database, { live: true, ...TIMES }),
    index: BY_KEY,
  },
  'list what is live without an actor': {
    run: (database) => list(database, { live: true, withoutActor: true }),
    index: /subject_token_uses_actor_id/,
  },
  'list what is of a backend and an unknown client': {
    run: (database) => list(database, { createdBy: 'm2m', clientId: 'unknown' }),
    index: /subject_tokens_created_by/,
  },
  'list what is not live': { run: (database) => list(database, { live: false }), index: BY_KEY },
  'count what was issued in a time': {
    run: ({ sequelize }) => count(createSubjectTokenStore(sequelize).summarize(ISSUER, NOW - 1200, NOW + 60)),
    index: BY_KEY,
  },
  'count what is live': {
    run: ({ sequelize }) => count(createSubjectTokenStore(sequelize).countLive(ISSUER, NOW)),
    index: /subject_token_uses_live/,
  },
  'read what was stopped': {
    run: ({ sequelize }) => createSubjectTokenStore(sequelize).findStopped(ISSUER, NOW - 600),
    index: /subject_token_stops_stopped_at/,
  },
  'end the tokens of a user': {
    run: (database) => kill(database, { userId: 'user-7' }),
    index: /subject_tokens_user_id|_pkey|PRIMARY|autoindex/,
  },
  'end the tokens of an actor': {
    run: (database) => kill(database, { actorId: 'eng-9' }),
    index: /_(actor_id|actors)|_pkey|PRIMARY|autoindex/,
  },
  'end the tokens that a backend of many issued': {
    run: (database) => kill(database, { createdBy: 'few' }),
    index: /subject_tokens_(created_by|open)|subject_token_uses_live|_pkey|PRIMARY|autoindex/,
  },
  'find a model of the provider': {
    run: ({ sequelize }) => createAdapter(sequelize)('Session').find('known'),
    index: /oidc_models_pkey|PRIMARY|sqlite_autoindex_oidc_models/,
  },
  'find a session by its uid': {
    run: ({ sequelize }) => createAdapter(sequelize)('Session').findByUid('known'),
    index: /oidc_models_uid/,
  },
  'find a device code by its user code': {
    run: ({ sequelize }) => createAdapter(sequelize)('DeviceCode').findByUserCode('known'),
    index: /oidc_models_user_code/,
  },
  'end the tokens of a grant': {
    run: ({ sequelize }) => createAdapter(sequelize)('AccessToken').revokeByGrantId('known'),
    index: /oidc_models_grant_id/,
  },
  'purge where nothing is old enough': {
    run: ({ sequelize }) => purge(sequelize),
    index: /oidc_models_expires_at|_pkey|PRIMARY|autoindex/,
  },
}

/** A plan that reads a whole table. */
const WALKS: Readonly<Record<DatabaseKind, RegExp>> = {
  sqlite: /SCAN (t|u|s|l|subject_token\w*|oidc_models)\b|MULTI-INDEX OR/,
  postgres: /Seq Scan on (subject_tokens|subject_token_uses|subject_token_stops|oidc_)|BitmapOr/,
  mysql:
    /"table":"(t|u|s|l|subject_tokens|subject_token_(uses|stops|actors)|oidc_models)","type":"(ALL|index|index_merge)"/,
}

const EXPLAIN: Readonly<Record<DatabaseKind, string>> = {
  sqlite: 'EXPLAIN QUERY PLAN',
  postgres: 'EXPLAIN',
  mysql: 'EXPLAIN',
}

/** What `work` sends, but for the question whether the server is a cluster, and what is asked once of the issuer. */
async function statementsOf(database: Database, work: () => Promise<unknown>): Promise<readonly Run[]> {
  const runs = await recordRuns(database, work)
  return runs.filter(({ sql }) => !/^SHOW|impersonation_issuers/.test(sql))
}

const explain = ({ kind, sequelize }: Database, { sql, bindings }: Run): Promise<unknown> =>
  sequelize.query(`${EXPLAIN[kind]} ${sql}`, { type: QueryTypes.SELECT, bind: [...(bindings[0] ?? [])] })

/** A row of a plan of MariaDB. */
interface Walk {
  readonly type: string
  readonly key: string | null
  readonly possible_keys: string | null
}

async function assertIndexed(database: Database, work: () => Promise<unknown>, index: RegExp): Promise<void> {
  const plans: string[] = []
  const runs = await statementsOf(database, work)
  for (const run of runs.filter(({ sql }) => !sql.startsWith('INSERT'))) {
    const whole = JSON.stringify(await explain(database, run))
    // What a subselect found, which bears the name of its table.
    const plan = /CO-ROUTINE s\b/.test(whole) ? whole.replace(/SCAN s\b/, '') : whole
    expect(plan, run.sql).not.to.match(WALKS[database.kind])
    plans.push(plan)
  }
  expect(plans.join('\n')).to.match(index)
}

const MEASURE = 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)'

type Explained = readonly [{ 'QUERY PLAN': readonly [{ Plan: Record<string, number> }] }]

/** Pages of tables and indexes that these statements read. Once more, because the first may note what is committed. */
async function pagesOf({ sequelize }: Database, runs: readonly Run[]): Promise<number> {
  let pages = 0
  for (const { sql, bindings } of runs) {
    for (const counts of [false, true]) {
      const bind = [...(bindings[0] ?? [])]
      const rows: unknown = await sequelize.query(`${MEASURE} ${sql}`, { type: QueryTypes.SELECT, bind })
      const [row] = rows as Explained
      const { 'Shared Hit Blocks': hit = 0, 'Shared Read Blocks': read = 0 } = row['QUERY PLAN'][0].Plan
      if (counts) pages += hit + read
    }
  }
  return pages
}

/** The plan that is kept for a prepared statement, whatever it is executed with. */
async function pagesForAnyValues(
  { sequelize }: Database,
  { sql, bindings: [bind = []] }: Run,
): Promise<number> {
  return sequelize.transaction(async (transaction) => {
    const run = (text: string) => sequelize.query(text, { transaction, type: QueryTypes.SELECT })
    await run('SET LOCAL plan_cache_mode = force_generic_plan')
    await run(`PREPARE generic AS ${sql}`)
    const values = bind.map((value) => sequelize.escape(String(value))).join(', ')
    const [row] = (await run(`${MEASURE} EXECUTE generic(${values})`)) as unknown as Explained
    await run('DEALLOCATE generic')
    const { 'Shared Hit Blocks': hit = 0, 'Shared Read Blocks': read = 0 } = row['QUERY PLAN'][0].Plan
    return hit + read
  })
}

/** Rows that this connection has read since it was asked last. */
async function rowsRead({ sequelize }: Database, work: () => Promise<unknown>): Promise<number> {
  const sum = async () => {
    const rows = await sequelize.query<{ Value: string }>(`SHOW SESSION STATUS LIKE 'Handler_read%'`, {
      type: QueryTypes.SELECT,
    })
    return rows.reduce((total, { Value }) => total + Number(Value), 0)
  }
  const before = await sum()
  await work()
  return (await sum()) - before
}

const analyze = ({ kind, sequelize }: Database) =>
  sequelize.query(
    kind === 'mysql'
      ? `ANALYZE TABLE ${[TOKENS, USES, STOPS, ACTORS, MODELS].map(({ name }) => name).join(', ')}`
      : 'ANALYZE',
  )

/** One more row than is returned tells that there are more. */
const most = (perRow: number, rows: number): number => perRow * (rows === 50 ? 51 : rows) + 20

function readLittle(opened: () => Database): void {
  for (const [name, { filter, more, beside = 0 }] of Object.entries(LISTS)) {
    it(`reads few pages to list ${name}`, async () => {
      const database = opened()
      let returned = 0
      const runs = await statementsOf(database, async () => {
        returned = (await list(database, filter, more)).tokens.length
      })
      expect(returned).to.be.above(0)
      const limit = most(filter.live ? 15 : 12, returned) + beside
      expect(await pagesOf(database, runs), `${returned} rows`).to.be.at.most(limit)
    })
  }
  for (const filter of NAMELESS) {
    it(`reads few pages to find nothing by ${Object.keys(filter)[0]}`, async () => {
      const database = opened()
      const runs = await statementsOf(database, () => list(database, filter))
      expect(await pagesOf(database, runs)).to.be.at.most(12)
    })
  }
  for (const [purpose, run] of Object.entries(ENDING_EARLY)) {
    it(`reads few pages to ${purpose}`, async () => {
      const database = opened()
      const runs = await statementsOf(database, () => run(database))
      expect(await pagesOf(database, runs)).to.be.at.most(40)
    })
  }
  it('reads few pages to find a token, and to stop it, for any values', async () => {
    const database = opened()
    const store = createSubjectTokenStore(database.sequelize)
    const runs = await statementsOf(database, async () => {
      await store.find(ISSUER, TOKEN.id)
      await store.revoke(ISSUER, idAt(NOW - 9000, ROWS - 3000), NOW, BY_API)
    })
    expect(runs).to.have.length(2)
    for (const run of runs) {
      expect(await pagesOf(database, [run])).to.be.at.most(10)
      expect(await pagesForAnyValues(database, run)).to.be.at.most(10)
    }
  })
  it('reads few pages to count a day', async () => {
    const database = opened()
    const runs = await statementsOf(database, () =>
      count(createSubjectTokenStore(database.sequelize).summarize(ISSUER, NOW - 86_400, NOW + 60)),
    )
    expect(await pagesOf(database, runs)).to.be.at.most(ROWS)
  })
}

for (const kind of DATABASES) {
  describe(`what statements read on ${kind}`, () => {
    let database: Database
    beforeOn(kind, async () => {
      database = await openDatabase(kind)
      await fill(database)
    })
    after(() => database?.close())

    if (kind === 'postgres') {
      describe('of tables that were never analyzed', () => readLittle(() => database))
      describe('of tables that were analyzed', () => {
        before(() => analyze(database))
        readLittle(() => database)
      })
    }
    if (kind === 'mysql') {
      for (const [name, { filter, more }] of Object.entries(LISTS)) {
        it(`reads few rows to list ${name}`, async () => {
          const one = { ...database, sequelize: database.connect({ pool: { max: 1 } }) }
          await list(one, { userId: ['unknown'] })
          let returned = 0
          const read = await rowsRead(one, async () => {
            returned = (await list(one, filter, more)).tokens.length
          })
          expect(returned).to.be.above(0)
          expect(read, `${returned} rows`).to.be.at.most(filter.live ? 3000 : most(12, returned))
        })
      }
    }
    if (kind === 'mysql') {
      for (const [purpose, run] of Object.entries(ENDING_AT_BOTH)) {
        it(`reads few rows to ${purpose}`, async () => {
          const one = { ...database, sequelize: database.connect({ pool: { max: 1 } }) }
          await list(one, { userId: ['unknown'] })
          expect(await rowsRead(one, () => run(one))).to.be.at.most(40)
        })
      }
      for (const [name, { filter, more }] of Object.entries(LISTS).filter(([, { filter }]) => !filter.live)) {
        it(`leaves one index to choose to list ${name}`, async () => {
          const runs = await statementsOf(database, () => list(database, filter, more))
          const plans = await Promise.all(runs.map((run) => explain(database, run)))
          const walks = plans
            .flatMap((plan) => plan as readonly Walk[])
            .filter(({ type }) => type === 'range')
          expect(walks).not.to.have.length(0)
          for (const { possible_keys: choice, key } of walks) expect(choice).to.equal(key)
        })
      }
    }
    describe('by their indexes', () => {
      before(() => analyze(database))
      for (const [name, { filter, more, index }] of Object.entries(LISTS)) {
        it(`to list ${name}`, () => assertIndexed(database, () => list(database, filter, more), index))
      }
      for (const [purpose, { run, index }] of Object.entries(OTHERS)) {
        it(`to ${purpose}`, () => assertIndexed(database, () => run(database), index))
      }
    })
  })
}

/** Ids sort by time. */
function idAt(at: number, index: number): string {
  return `${earliestId(at).slice(0, 12)}${index.toString(16).padStart(20, '0')}`
}

/** As in life: each was exchanged after five seconds, but for one in fifty; six of ten were stopped minutes later. */
async function fill({ kind, sequelize }: Database): Promise<void> {
  const database = databaseOf(sequelize, 30)
  const { dialect } = database
  if (kind === 'postgres') {
    for (const { name } of [TOKENS, USES, STOPS])
      await sequelize.query(`ALTER TABLE ${name} SET (autovacuum_enabled = off)`)
  }
  const store = createSubjectTokenStore(sequelize)
  await store.insert(TOKEN)
  const insert = async (table: string, columns: readonly string[], rows: readonly Bound[][]) => {
    for (let from = 0; from < rows.length; from += PER_STATEMENT) {
      const part = rows.slice(from, from + PER_STATEMENT)
      await database.write(dialect.insert({ table, columns, rows: part.length }), part.flat())
    }
  }
  const all = Array.from({ length: ROWS }, (_, index) => lifeOf(index))
  await insert(
    TOKENS.name,
    ISSUED,
    all.map(({ token }) => issuedRow(dialect, NUMBER, token)),
  )
  const used = all.filter((_, index) => index % 50 !== 0)
  await insert(
    USES.name,
    USED,
    used.map(({ token, use }) => useRow(dialect, { issuer: NUMBER, token: token, use, chain: undefined })),
  )
  const ended = used.filter(({ stoppedAt, replayedAt }) => (stoppedAt ?? replayedAt ?? NOW) < NOW)
  await insert(
    STOPS.name,
    ['token_id', 'issuer', 'number', 'ends', 'stopped_at', 'cause', 'reported', 'replayed_at', 'replayed'],
    ended.map(({ token: { id }, use, stoppedAt = null, replayedAt = null }, index) => [
      ...[
        dialect.bindId(id),
        NUMBER,
        index,
        stoppedAt === null ? null : use.accessToken.expiresAt,
        stoppedAt,
      ],
      ...(stoppedAt === null ? [null, null, replayedAt, 1] : ['self', 1, null, null]),
    ]),
  )
  const random = () => randomBytes(16).toString('hex')
  const others = Array.from({ length: 3000 }, random)
  await insert(
    ACTORS.name,
    columnsOf(ACTORS),
    others.map((name) => [dialect.bindId(random()), NUMBER, dialect.bindName(name), dialect.bindId(name)]),
  )
  const adapter = createAdapter(sequelize)
  await adapter('Session').upsert('known', { jti: 'known', uid: 'known' }, 600)
  await adapter('DeviceCode').upsert('known', { jti: 'known', userCode: 'known', grantId: 'known' }, 600)
  await insert(
    MODELS.name,
    columnsOf(MODELS),
    others.map((name) => [
      ...['', 'Session', name, '{}', random(), random(), random()].map((value) => dialect.bindName(value)),
      ...[1, null, NOW + 600],
    ]),
  )
}

function lifeOf(index: number) {
  const createdAt = NOW - (ROWS - index) * SECONDS_OF_ROW
  const actorId = index % 10 < 3 ? undefined : index % 10 < 7 ? 'bot' : `eng-${index % 100}`
  const token = newToken({
    id: idAt(createdAt, index),
    userId: index % 100 === 7 ? 'user-7' : `user-${index}`,
    createdBy: index % 40 === 9 ? 'few' : 'm2m',
    ...(index % 3 === 0 && { clientId: 'spa' }),
    ...(actorId !== undefined && { actorId }),
    context: { reason: 'a support case', ...(index % 100 === 5 && { ticketId: 'T-1' }) },
    createdAt,
    expiresAt: createdAt + 600,
  })
  const at = createdAt + 5
  const use = newUse({
    at,
    clientId: token.clientId ?? 'web',
    ...(actorId !== undefined && { actor: { sub: actorId } }),
    accessToken: { format: 'jwt', expiresAt: at + LIFE },
  })
  const isStopped = Math.floor(index / 10) % 10 < 6
  return {
    token,
    use,
    ...(isStopped && { stoppedAt: createdAt + 300 + ((index * 7919) % 300) }),
    ...(!isStopped && index % 100 === 77 && { replayedAt: createdAt + 90 }),
  }
}
