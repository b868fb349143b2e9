/**
 * What statements look at, on tables that were never analyzed and on tables that were: rows and pages on PostgreSQL, with
 * plans for their values and for any values, rows on MariaDB, and the plans themselves on all three. A statement may look
 * at what it returns, at what it must compare, and at little more, however much there is besides.
 */
import { expect } from 'chai'
import type { Sequelize } from 'sequelize'
import { ISSUER } from '../../fixtures/cluster.ts'
import { DATABASES, type Database, type DatabaseKind, openDatabase } from '../../fixtures/databases.ts'
import { look } from '../../fixtures/looks.ts'
import { beforeOn } from '../../fixtures/on-database.ts'
import {
  fillWithPast,
  idAt,
  idOf,
  LIFE,
  NOW,
  OPEN,
  OPEN_SESSIONS,
  ROWS,
  SESSION,
  TOKEN,
  UNEXPIRED,
} from '../../fixtures/past.ts'
import { allOf } from '../../fixtures/revocations.ts'
import { BY_API } from '../../fixtures/subject-tokens.ts'
import { createAdapter, createSubjectTokenStore, purge } from '../../src/sequelize/index.ts'
import { ACKNOWLEDGEMENTS, ACTORS, MODELS, STOPS, TOKENS, USES } from '../../src/sequelize/tables.ts'
import { endUnspent } from '../../src/sequelize/tokens/end-unspent.ts'
import type { KillFilter, SubjectTokenFilter } from '../../src/tokens/store.ts'

interface Read {
  /** Returns how many rows it is about: listed, counted, ended, deleted. */
  readonly run: (database: Database) => Promise<number>
  /** Of the indexes that it uses, one. */
  readonly index?: RegExp
  /** Rows that it must look at, if more than it is about. */
  readonly looks?: number
  /** Rows that PostgreSQL may read besides: of tables as small as these, all, where it would read a good part by an index. */
  readonly small?: number
}

const storeOf = ({ sequelize }: Database) => createSubjectTokenStore(sequelize)

const sessionsOf = (database: Database) => storeOf(database).sessions ?? expect.fail('no sessions')

async function list(database: Database, filter: SubjectTokenFilter, more: object = {}, issuer = ISSUER) {
  return (await storeOf(database).list(issuer, filter, { limit: 50, now: NOW, ...more })).tokens.length
}

async function kill(database: Database, filter: KillFilter): Promise<number> {
  const store = storeOf(database)
  const stopped = await allOf(store.revokeWhere(ISSUER, filter, NOW, BY_API))
  const ids = stopped.map(({ token }) => token.id)
  await store.report(ISSUER, ids)
  return ids.length
}

async function sumOf<Slice>(slices: AsyncIterable<Slice>, of: (slice: Slice) => number): Promise<number> {
  let sum = 0
  for await (const slice of slices) sum += of(slice)
  return sum
}

const BY_KEY = /subject_\w+_pkey|PRIMARY|autoindex_subject_tokens/
const MIDDLE = idOf(ROWS / 2)
const REPLAYED = idOf(ROWS / 2 + 77)
const LIVE = idOf(ROWS - 333)
const NEVER = { createdAfter: NOW + 86_400 }
const TIMES = { createdAfter: NOW - 20_000, createdBefore: NOW - 9000 }
/** A page that no index finds alone: a thousand rows, whose end is found first. */
const BOUNDED = { looks: 1200, small: 2 * ROWS }
/** The first window of a list of what lives, and the stops in it. */
const WINDOW = { looks: 500 }

const listing = (
  filter: SubjectTokenFilter,
  index: RegExp,
  more?: object,
  looks?: Pick<Read, 'looks' | 'small'>,
): Read => ({
  run: (database) => list(database, filter, more),
  index,
  ...looks,
})

const READS: Readonly<Record<string, Read>> = {
  'find a token': {
    run: async (database) => ((await storeOf(database).find(ISSUER, TOKEN.id)) ? 1 : 0),
    index: BY_KEY,
  },
  'find a token by its status index': {
    run: async (database) => ((await storeOf(database).findByStatusIndex(ISSUER, 4711)) ? 1 : 0),
    index: /subject_tokens_number|"key":"number"|INTEGER PRIMARY KEY/,
  },
  'list a record that was acknowledged': listing({ id: REPLAYED }, /acknowledgements/),
  'list what is newest': listing({}, BY_KEY),
  'list what is in the middle': listing({}, BY_KEY, { cursor: MIDDLE }),
  'list what was issued in a time': listing(TIMES, BY_KEY),
  'list what is of an id': listing({ id: MIDDLE }, BY_KEY),
  'list what is of a user': listing({ userId: ['user-7'] }, /subject_tokens_user_id/),
  'list what is of two users': listing({ userId: ['user-7', 'user-8'] }, /subject_tokens_user_id/),
  'list what is of a user and a time': listing({ userId: ['user-7'], ...TIMES }, /subject_tokens_user_id/),
  'list what is of a rare actor': listing({ actorId: ['eng-9'] }, /_(actor_id|actors)/),
  'list what is of an actor of many': listing({ actorId: ['bot'] }, /_(actor_id|actors)/),
  'list what is of a client, after a page': listing({ clientId: 'web' }, /_client_id/, { cursor: MIDDLE }),
  'list what is of a client and was for it alone': listing({ clientId: 'spa' }, /_client_id/),
  'list what a backend issued': listing({ createdBy: 'm2m' }, /subject_tokens_created_by/),
  'list what a backend issued in a time': listing(
    { createdBy: 'm2m', ...TIMES },
    /subject_tokens_created_by/,
  ),
  'list what is of a ticket': listing({ ticketId: 'T-1' }, /subject_tokens_ticket_id/),
  'list what was exchanged without an actor': listing({ withoutActor: true }, /subject_token_uses_actor_id/),
  'list what was replayed': listing({ replayed: true }, /subject_token_stops_replayed/),
  'list what was replayed in a time': listing({ replayed: true, ...TIMES }, /subject_token_stops_replayed/),
  'list what was revoked': listing({ state: 'revoked' }, BY_KEY),
  'list what was revoked in a time': listing({ state: 'revoked', ...TIMES }, BY_KEY),
  'list what is unacknowledged': listing(
    { unacknowledged: true },
    /subject_token_(stops_replayed|uses_actor_id)/,
    {},
    BOUNDED,
  ),
  'list what is live': listing({ live: true }, BY_KEY, {}, WINDOW),
  'list what is live, after a page': listing({ live: true }, BY_KEY, { cursor: idAt(NOW - 1200, 0) }, WINDOW),
  'list what is live, when few are': listing(
    { live: true },
    /subject_token_uses_live/,
    { cursor: idAt(NOW - LIFE + 150, 0) },
    // All that has not expired: one index holds it, by its ends.
    { looks: WINDOW.looks + UNEXPIRED },
  ),
  'list what is live, of a time without any': listing({ live: true, ...NEVER }, BY_KEY, {}, WINDOW),
  'list what is live and of a user': listing(
    { live: true, userId: ['user-7'] },
    /subject_tokens_user_id/,
    {},
    BOUNDED,
  ),
  'list what is live without an actor': listing(
    { live: true, withoutActor: true },
    /subject_token_uses_actor_id/,
    {},
    BOUNDED,
  ),
  'list what is not live': listing({ live: false }, BY_KEY, {}, BOUNDED),
  'list what is of a backend and an unknown client': listing(
    { createdBy: 'm2m', clientId: 'unknown' },
    /subject_tokens_created_by/,
    {},
    BOUNDED,
  ),
  'count what was issued in a time': {
    run: (database) =>
      sumOf(storeOf(database).summarize(ISSUER, NOW - 9000, NOW + 60), ({ issued }) => issued),
    index: BY_KEY,
    small: 2 * ROWS,
  },
  'count a day': {
    run: (database) =>
      sumOf(storeOf(database).summarize(ISSUER, NOW - 86_400, NOW + 60), ({ issued }) => issued),
    index: BY_KEY,
    small: 2 * ROWS,
  },
  'count a time without any': {
    run: (database) =>
      sumOf(storeOf(database).summarize(ISSUER, NOW + 86_400, NOW + 90_000), ({ issued }) => issued),
    index: BY_KEY,
    small: ROWS,
  },
  'count what is live': {
    run: (database) => sumOf(storeOf(database).countLive(ISSUER, NOW), (live) => live),
    index: /subject_token_uses_live/,
    looks: UNEXPIRED,
  },
  'read what was stopped': {
    run: async (database) => (await storeOf(database).findStopped(ISSUER, NOW - 900)).length,
    index: /subject_token_stops_stopped_at/,
  },
  'find the status lists': {
    run: async (database) => (await storeOf(database).findStatusLists(4096, NOW - 7200)).length,
    index: /subject_tokens_number|"key":"number"|INTEGER PRIMARY KEY/,
    // The last of each list, which are in no order.
    looks: 4 * 200,
  },
  'find the sessions that are due': {
    run: async (database) => {
      const found = await sessionsOf(database).findDue(ISSUER, NOW, 1000)
      expect(found).to.have.length(OPEN_SESSIONS / 2 + 1)
      return found.length
    },
    index: /subject_token_uses_session_due/,
    looks: OPEN_SESSIONS,
  },
  'find a model of the provider': {
    run: async ({ sequelize }) => ((await createAdapter(sequelize)('Session').find('known')) ? 1 : 0),
    index: /oidc_models_pkey|PRIMARY|sqlite_autoindex_oidc_models/,
  },
  'find a session by its uid': {
    run: async ({ sequelize }) => ((await createAdapter(sequelize)('Session').findByUid('known')) ? 1 : 0),
    index: /oidc_models_uid/,
  },
  'find a device code by its user code': {
    run: async ({ sequelize }) =>
      (await createAdapter(sequelize)('DeviceCode').findByUserCode('known')) ? 1 : 0,
    index: /oidc_models_user_code/,
  },
}

const LONG_AGO = { cursor: idAt(NOW - 86_400, 0) }

/** What finds nothing, and must end at the first row that is too old, too young, or of another name. */
const FINDING_NOTHING: Readonly<Record<string, (database: Database) => Promise<unknown>>> = {
  ...Object.fromEntries(
    [
      { userId: ['unknown'] as const },
      { actorId: ['unknown'] as const },
      { clientId: 'unknown' },
      { createdBy: 'unknown' },
      { ticketId: 'unknown' },
      { id: idAt(NOW, ROWS + 1) },
    ].map((filter) => [
      `list by an unknown ${Object.keys(filter)[0]}`,
      (database: Database) => list(database, filter),
    ]),
  ),
  'list a time without any': (database) => list(database, NEVER),
  'list a time before all': (database) => list(database, { createdBefore: NOW - 86_400 }),
  'list a backend and a time without any': (database) => list(database, { createdBy: 'm2m', ...NEVER }),
  'list what was exchanged without an actor, of a time without any': (database) =>
    list(database, { withoutActor: true, ...NEVER }),
  'list what is older than all of a user': (database) => list(database, { userId: ['user-7'] }, LONG_AGO),
  'list what is older than all of a backend': (database) => list(database, { createdBy: 'm2m' }, LONG_AGO),
  'list what was replayed before all': (database) => list(database, { replayed: true }, LONG_AGO),
  'list what was revoked before all': (database) => list(database, { state: 'revoked' }, LONG_AGO),
  'list an issuer that has none': (database) => list(database, {}, {}, 'https://other.example.com'),
  'count what will be live then': (database) =>
    sumOf(storeOf(database).countLive(ISSUER, NOW + 86_400), (live) => live),
  'find the sessions of an issuer that has none': (database) =>
    sessionsOf(database).findDue('https://other.example.com', NOW, 1000),
  'claim a session by another mark': (database) =>
    sessionsOf(database).claim(ISSUER, SESSION.id, SESSION.mark + 1, NOW + 20),
  'settle what is no session': (database) =>
    sessionsOf(database).settle(ISSUER, MIDDLE, { mark: null, logout: 'confirmed', at: NOW }),
  'end the tokens of an unknown user': (database) => kill(database, { userId: 'unknown' }),
  'end the tokens of an unknown actor': (database) => kill(database, { actorId: 'unknown' }),
  'end the tokens of an unknown backend': (database) => kill(database, { createdBy: 'unknown' }),
}

/** In this order: each changes what the next one finds. */
const WRITES: Readonly<Record<string, Read>> = {
  'claim a session': {
    run: async (database) => {
      const { id, mark } = SESSION
      expect(await sessionsOf(database).claim(ISSUER, id, mark, NOW + 20)).to.equal(true)
      return 1
    },
    index: BY_KEY,
  },
  'settle a session': {
    run: async (database) => {
      await sessionsOf(database).settle(ISSUER, SESSION.id, { mark: null, logout: 'confirmed', at: NOW })
      return 1
    },
    index: BY_KEY,
  },
  'acknowledge a record': {
    run: async (database) => {
      const store = storeOf(database)
      const token = (await store.find(ISSUER, REPLAYED)) ?? expect.fail('no such record')
      await store.acknowledge(token, { at: NOW, by: 'lead', note: 'again', coversReplay: true })
      return 1
    },
    index: BY_KEY,
  },
  'end a token': {
    run: async (database) => {
      const store = storeOf(database)
      const stopped = await store.revoke(ISSUER, LIVE, NOW, BY_API)
      expect(stopped?.unreported).to.equal(true)
      return (await store.report(ISSUER, [LIVE])).length
    },
    index: BY_KEY,
    looks: 3,
  },
  'end the tokens of a user': {
    run: (database) => kill(database, { userId: 'user-7' }),
    index: /subject_tokens_user_id/,
    // All of the user that are not too old, at each walk.
    looks: 3 * (ROWS / 100),
  },
  'end the tokens of a rare actor': {
    run: (database) => kill(database, { actorId: 'eng-9' }),
    index: /_(actor_id|actors)/,
    looks: 3 * (ROWS / 100),
  },
  'end the tokens of an actor of many': {
    run: (database) => kill(database, { actorId: 'bot' }),
    index: /subject_token_uses_live/,
    // Two walks through what is open, and through what has not expired; then, of those of the name, four statements.
    looks: 2 * (OPEN + UNEXPIRED) + 4 * UNEXPIRED,
    small: ROWS,
  },
  'end the tokens that a backend of many issued': {
    run: (database) => kill(database, { createdBy: 'm2m' }),
    index: /subject_tokens_open/,
    looks: 2 * (OPEN + UNEXPIRED) + 4 * UNEXPIRED,
    small: ROWS,
  },
  'end what is unspent': {
    run: ({ sequelize }) => endUnspent(sequelize),
    index: /subject_tokens_open/,
    looks: 2 * OPEN,
  },
  'purge where nothing is old enough': {
    run: async ({ sequelize }) => (await purge(sequelize)).subjectTokens,
    index: BY_KEY,
    // Links of random names, some of which are older than any token.
    looks: 100,
    small: 6 * ROWS,
  },
  'purge what is older than an hour and a half': {
    run: async ({ sequelize }) => (await purge(sequelize, { retention: 1800 })).subjectTokens,
    index: BY_KEY,
    small: 10 * ROWS,
  },
}

/** Each row is found in an index and in three tables by their keys; a statement that writes it finds it once more. */
const ROWS_OF_EACH = 6
/** The ends of walks: a page that is left out because its times are others, and the steps that have no row. */
const ROWS_BESIDE = 100
/**
 * An index of three levels and the row, three times; the row once more, as long as no VACUUM has noted that everyone sees
 * it; and for a list of what lives, its window.
 */
const PAGES_OF_EACH = 15
const PAGES_BESIDE = 20
/** Of a table that is read whole. */
const ROWS_OF_PAGE = 40
/** MariaDB counts entries and rows apart, and what it reads of its own temporary tables. */
const HANDLED_OF_EACH = 12

/** Plans that read a whole table, or an issuer. */
const WALKS: Readonly<Record<DatabaseKind, RegExp>> = {
  sqlite:
    /SCAN (t|u|s|l|a|subject_token\w*|oidc_models)\b|MULTI-INDEX OR|(autoindex_\w+|PRIMARY KEY) \((issuer|namespace)=\?\)/,
  postgres: /BitmapOr/,
  mysql: /"table":"(t|u|s|l|a|subject_token\w*|oidc_models)","type":"(ALL|index|index_merge)"/,
}

/** A choice of MariaDB: what it takes depends on what it believes to be in the tables. */
const CHOICE = /"type":"range","possible_keys":"[^"]*,/

/** What a subselect found, which bears the name of its table. */
const withoutSubselects = (plan: string): string =>
  [...plan.matchAll(/(?:CO-ROUTINE|MATERIALIZE) (\w+)/g)].reduce(
    (rest, [, name]) => rest.replaceAll(`SCAN ${name}"`, ''),
    plan,
  )

const TABLES = [TOKENS, USES, STOPS, ACTORS, ACKNOWLEDGEMENTS, MODELS].map(({ name }) => name).join(', ')
const analyze = ({ kind, sequelize }: Database) =>
  sequelize.query(kind === 'mysql' ? `ANALYZE TABLE ${TABLES}` : 'ANALYZE')

for (const kind of DATABASES) {
  for (const statistics of ['never analyzed', 'analyzed'] as const) {
    describe(`on ${kind}, of tables that were ${statistics}, a statement looks at little`, () => {
      let database: Database & { readonly beside: Sequelize }
      beforeOn(kind, async () => {
        const opened = await openDatabase(kind)
        database = { ...opened, sequelize: opened.connect({ pool: { max: 1 } }), beside: opened.connect() }
        await fillWithPast(database)
        if (statistics === 'analyzed') await analyze(database)
        // What is asked once: for the issuer, and of the server.
        await list(database, { userId: ['unknown'] })
      })
      after(() => database?.close())

      const expectLittle = async (run: Read['run'], { index, looks = 0, small = 0 }: Omit<Read, 'run'>) => {
        let about = 0
        const seen = await look(database, async () => {
          about = await run(database)
        })
        const least = Math.max(looks, about + 1)
        for (const { how, rows, pages } of seen.looks) {
          const ofEach = kind === 'mysql' ? HANDLED_OF_EACH : ROWS_OF_EACH
          const besides = ROWS_BESIDE + (kind === 'postgres' ? small * (how === 'for any values' ? 2 : 1) : 0)
          expect(rows, `rows, ${how}`).to.be.at.most(ofEach * least + besides)
          const pagesBeside = PAGES_BESIDE + small / ROWS_OF_PAGE
          expect(pages, `pages, ${how}`).to.be.at.most(PAGES_OF_EACH * least + pagesBeside)
        }
        for (const { sql, plan } of seen.plans) {
          expect(withoutSubselects(plan), sql).not.to.match(WALKS[kind])
          if (sql.startsWith('SELECT')) expect(plan, sql).not.to.match(CHOICE)
        }
        if (index) expect(seen.plans.map(({ plan }) => plan).join('\n')).to.match(index)
      }
      for (const [name, { run, ...expected }] of Object.entries({ ...READS, ...WRITES }))
        it(`to ${name}`, () => expectLittle(run, expected))
      for (const [name, run] of Object.entries(FINDING_NOTHING))
        it(`to ${name}`, () =>
          expectLittle(async (opened) => {
            await run(opened)
            return 0
          }, {}))
    })
  }
}
