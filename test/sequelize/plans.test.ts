/** The hot statements use an index, whatever the number of rows. They are explained as they run, with their values. */
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
import { createAdapter, createSubjectTokenStore, purge } from '../../src/sequelize/index.ts'
import { mintId } from '../../src/subject-tokens/id.ts'
import type { KillFilter, SubjectTokenFilter } from '../../src/subject-tokens/store.ts'

const ROWS = 3000
/** Of this file, not of the process: the ids that are minted below must be of the times that are asked for. */
const NOW = now()
const TOKEN = newToken()
const USE = newUse()

/** Ids of PostgreSQL's many rows begin like this, and their numbers follow. */
const PREFIX = mintId().slice(0, 16)
const MIDDLE = `${PREFIX}${'7530'.padStart(16, '0')}`

const TIMES = { createdAfter: NOW - 86_400, createdBefore: NOW + 60 }

const OF_ACTOR =
  /subject_tokens_(used_)?actor_id|subject_token_actors_pkey|PRIMARY|autoindex_subject_token_actors/
const BY_ID = /subject_tokens_pkey|PRIMARY|autoindex_subject_tokens_1|subject_tokens_issuer/
const BY_HASH = /token_hash|sqlite_autoindex_subject_tokens/

const list = ({ sequelize }: Database, filter: SubjectTokenFilter, more: object = {}, issuer = ISSUER) =>
  createSubjectTokenStore(sequelize).list(issuer, filter, { limit: 50, now: NOW, ...more })
const kill = ({ sequelize }: Database, filter: KillFilter) =>
  allOf(createSubjectTokenStore(sequelize).revokeWhere(ISSUER, filter, NOW, BY_API))

async function count(slices: AsyncIterable<unknown>): Promise<number> {
  let counted = 0
  for await (const _slice of slices) counted += 1
  return counted
}

/** What runs, and the index it must use. */
const HOT: Readonly<Record<string, { run: (database: Database) => Promise<unknown>; index: RegExp }>> = {
  'find a subject token': {
    run: ({ sequelize }) => createSubjectTokenStore(sequelize).findByHash(ISSUER, TOKEN.tokenHash),
    index: BY_HASH,
  },
  'spend a subject token': {
    run: ({ sequelize }) => createSubjectTokenStore(sequelize).consume(ISSUER, TOKEN.tokenHash, NOW, USE),
    index: BY_HASH,
  },
  'list all tokens': { run: (database) => list(database, {}), index: /subject_tokens_issuer/ },
  'list the tokens of an issuer that has none': {
    run: (database) => list(database, {}, {}, 'https://other.example.com'),
    index: /subject_tokens_issuer/,
  },
  'count what was created in a time': {
    run: ({ sequelize }) =>
      count(createSubjectTokenStore(sequelize).summarize(ISSUER, NOW - 86_400, NOW + 60)),
    index: /subject_tokens_issuer/,
  },
  'count what is live': {
    run: ({ sequelize }) => count(createSubjectTokenStore(sequelize).countLive(ISSUER, NOW - 50_000)),
    index: /subject_tokens_access_token_expires_at/,
  },
  'list what is live': {
    run: (database) => list(database, { live: true }),
    index: /subject_tokens_access_token_expires_at/,
  },
  'list what is live, after a page, of a time': {
    run: (database) => list(database, { live: true, ...TIMES }, { cursor: TOKEN.id }),
    index: /subject_tokens_access_token_expires_at/,
  },
  'list what was replayed': {
    run: (database) => list(database, { replayed: true }),
    index: /subject_tokens_replayed/,
  },
  'list what was replayed in a time': {
    run: (database) => list(database, { replayed: true, ...TIMES }),
    index: /subject_tokens_replayed/,
  },
  'list what was exchanged without an actor': {
    run: (database) => list(database, { withoutActor: true }),
    index: /subject_tokens_without_actor/,
  },
  'list what was exchanged without an actor in a time': {
    run: (database) => list(database, { withoutActor: true, ...TIMES }),
    index: /subject_tokens_without_actor/,
  },
  'list what is live and without an actor': {
    run: (database) => list(database, { live: true, withoutActor: true }),
    index: /subject_tokens_without_actor/,
  },
  'list what is not live': {
    run: (database) => list(database, { live: false, replayed: false }),
    index: /subject_tokens_issuer/,
  },
  'list the tokens of a time': { run: (database) => list(database, TIMES), index: /subject_tokens_issuer/ },
  'list the tokens of a user and a time': {
    run: (database) => list(database, { userId: ['alice'], ...TIMES }),
    index: /subject_tokens_user_id/,
  },
  'list the tokens in a state': {
    run: (database) => list(database, { state: 'revoked' }),
    index: /subject_tokens_issuer/,
  },
  'list the tokens of a user': {
    run: (database) => list(database, { userId: ['alice'] }),
    index: /subject_tokens_user_id/,
  },
  'list the tokens of two users': {
    run: (database) => list(database, { userId: ['alice', 'bob'] }),
    index: /subject_tokens_user_id/,
  },
  'list the tokens of an actor': {
    run: (database) => list(database, { actorId: ['alice'] }),
    index: OF_ACTOR,
  },
  'list the tokens of a user and an actor, after a page': {
    run: (database) => list(database, { userId: ['alice'], actorId: ['bob', 'carol'] }, { cursor: MIDDLE }),
    index: /subject_tokens_user_id/,
  },
  'list the tokens of a client': {
    run: (database) => list(database, { clientId: 'spa' }),
    index: /subject_tokens_(client_id|consumed_by)/,
  },
  'list the tokens of a client that has none': {
    run: (database) => list(database, { clientId: 'unknown' }),
    index: /subject_tokens_(client_id|consumed_by)/,
  },
  'list the tokens that a backend issued': {
    run: (database) => list(database, { createdBy: 'b' }),
    index: /subject_tokens_created_by/,
  },
  'list the tokens of a backend that issued few': {
    run: (database) => list(database, { createdBy: 'backend' }),
    index: /subject_tokens_created_by/,
  },
  'list the tokens of a backend and a client that has none': {
    run: (database) => list(database, { createdBy: 'b', clientId: 'unknown' }),
    index: /subject_tokens_created_by/,
  },
  'end the tokens of a user': {
    run: (database) => kill(database, { userId: 'alice' }),
    index: new RegExp(`subject_tokens_user_id|${BY_ID.source}|${BY_HASH.source}`),
  },
  'end the tokens of an actor': { run: (database) => kill(database, { actorId: 'alice' }), index: OF_ACTOR },
  'end the tokens that a backend issued': {
    run: (database) => kill(database, { createdBy: 'b' }),
    index: new RegExp(`subject_tokens_created_by|${BY_ID.source}|${BY_HASH.source}`),
  },
  'end the tokens of a backend that issued none': {
    run: (database) => kill(database, { createdBy: 'unknown' }),
    index: /subject_tokens_created_by/,
  },
  'purge what has expired': {
    run: ({ sequelize }) => purge(sequelize, { retention: 3600 }),
    index: new RegExp(`(subject_token_actors|oidc_models)_expires_at|${BY_ID.source}`),
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
}

const MEASURE = 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)'

/** What ends before the last row of the name, or of the issuer: here each has all 60,000, whose index takes hundreds of pages. */
const ENDING_EARLY: Readonly<Record<string, (database: Database) => Promise<unknown>>> = {
  'list the tokens in a state': (database) => list(database, { state: 'revoked' }),
  'list the tokens of a time without any': (database) => list(database, { createdAfter: NOW + 86_400 }),
  'list the tokens of a backend and a time without any': (database) =>
    list(database, { createdBy: 'b', createdAfter: NOW + 86_400 }),
  'list what was exchanged without an actor, of a time without any': (database) =>
    list(database, { withoutActor: true, createdAfter: NOW + 86_400 }),
  'list the oldest tokens of a user': (database) =>
    list(database, { userId: ['alice'] }, { cursor: TOKEN.id }),
  'list the oldest tokens of a backend': (database) =>
    list(database, { createdBy: 'b' }, { cursor: TOKEN.id }),
  'end the tokens that a backend issued long ago': ({ sequelize }) =>
    allOf(
      createSubjectTokenStore(sequelize).revokeWhere(ISSUER, { createdBy: 'b' }, NOW + 10 * 86_400, BY_API),
    ),
  'count what was created in a time without any': ({ sequelize }) =>
    count(createSubjectTokenStore(sequelize).summarize(ISSUER, NOW + 86_400, NOW + 90_000)),
  'purge where nothing is old enough': ({ sequelize }) => purge(sequelize, { retention: 3600 }),
}

const EXPLAIN: Readonly<Record<DatabaseKind, string>> = {
  sqlite: 'EXPLAIN QUERY PLAN',
  postgres: 'EXPLAIN',
  mysql: 'EXPLAIN',
}

/** A plan that reads a whole table, or collects all rows of a name before it sorts them. */
const WALKS: Readonly<Record<DatabaseKind, RegExp>> = {
  sqlite: /SCAN (t|l|subject_token\w*|oidc_models)\b|MULTI-INDEX OR/,
  postgres:
    /Seq Scan on (subject_token|oidc_)|Index (Only )?Scan Backward using subject_tokens_pkey|BitmapOr/,
  mysql: /"table":"(t|l|subject_token\w*|oidc_models)","type":"(ALL|index|index_merge)"/,
}

type Explain = (database: Database, run: Run) => Promise<unknown>

const asItRuns: Explain = ({ kind, sequelize }, { sql, bindings }) =>
  sequelize.query(`${EXPLAIN[kind]} ${sql}`, { type: QueryTypes.SELECT, bind: [...(bindings[0] ?? [])] })

/** A row of a plan of MariaDB. */
interface Walk {
  readonly type: string
  readonly key: string | null
  readonly possible_keys: string | null
}

function look(opened: () => Database, purposes: readonly string[], explain: Explain): void {
  for (const purpose of purposes) {
    it(`use an index to ${purpose}`, async () => {
      const database = opened()
      const hot = HOT[purpose]
      const all = await recordRuns(database, async () => hot?.run(database))
      // The server is asked once whether it is a cluster.
      const runs = all.filter(({ sql }) => !sql.startsWith('SHOW'))
      expect(runs).not.to.have.length(0)
      for (const run of runs) {
        const plan = JSON.stringify(await explain(database, run))
        expect(plan, run.sql)
          .to.match(hot?.index ?? /never/)
          .and.not.to.match(WALKS[database.kind])
      }
    })
  }
}

for (const kind of DATABASES) {
  describe(`query plans on ${kind}`, () => {
    let database: Database
    beforeOn(kind, async () => {
      database = await openDatabase(kind)
      await fill(database)
    })
    after(() => database?.close())

    if (kind === 'postgres') {
      const unbounded = Object.keys(HOT).filter((purpose) =>
        /^((list|end) (?!what)|(list|count) what)/.test(purpose),
      )
      describe('for any values, of tables that were never analyzed', () =>
        look(() => database, unbounded, forAnyValues))
      describe('for any values', () => {
        before(() => analyze(database))
        look(() => database, unbounded, forAnyValues)
      })
      describe('read no more of an index than they find there', () => {
        // Otherwise an index alone does not tell which rows are there.
        before(() => database.sequelize.query('VACUUM ANALYZE subject_tokens'))
        for (const [purpose, run] of Object.entries(ENDING_EARLY)) {
          for (const explain of [measured, measuredForAnyValues])
            it(`to ${purpose}, ${explain === measured ? 'for these values' : 'for any values'}`, async () => {
              const runs = await recordRuns(database, () => run(database))
              expect(runs).not.to.have.length(0)
              for (const one of runs) {
                for (const { name, pages, loops } of await explain(database, one))
                  expect(pages, `${name}, ${one.sql}`).to.be.at.most(30 + 8 * loops)
              }
            })
        }
      })
    }
    if (kind === 'mysql') {
      for (const purpose of Object.keys(HOT).filter((name) =>
        /^(list|end the tokens (?!of a grant)|count)/.test(name),
      )) {
        it(`leave one index to choose, whatever is known of the others, to ${purpose}`, async () => {
          const all = await recordRuns(database, async () => HOT[purpose]?.run(database))
          const runs = all.filter(({ sql }) => !sql.startsWith('SHOW'))
          const plans = await Promise.all(runs.map((run) => asItRuns(database, run)))
          const walks = plans
            .flatMap((plan) => plan as readonly Walk[])
            .filter(({ type, key }) => type === 'range' && key?.startsWith('subject_tokens_'))
          expect(walks).not.to.have.length(0)
          for (const { possible_keys: choice, key } of walks) expect(choice).to.equal(key)
        })
      }
    }
    describe('for these values', () => {
      before(() => analyze(database))
      look(() => database, Object.keys(HOT), asItRuns)
    })
  })
}

/** So many, and so long, that PostgreSQL has reason to look for single rows: a small table is read as a whole. */
const MANY = `INSERT INTO subject_tokens
  (id, token_hash, issuer, user_id, actor_id, used_actor_id, context, created_by, created_at, expires_at,
    consumed_at, consumed_by, access_token_expires_at, without_actor)
  SELECT '${PREFIX}' || lpad(to_hex(n), 16, '0'), md5('h' || n), '${ISSUER}', md5('u' || n),
    md5('a' || n), md5('d' || n), '{"a":"' || repeat('x', 1400) || '"}', 'b', 1, ${NOW + 600}, 1, 'spa',
    ${NOW - 60000} + n, 1
  FROM generate_series(1, 60000) n`

/** The plan that PostgreSQL keeps for a prepared statement, whatever it is executed with. */
function forAnyValues(database: Database, run: Run): Promise<object[]> {
  return explainGeneric(database, run, 'EXPLAIN')
}

function explainGeneric(
  { sequelize }: Database,
  { sql, bindings: [bind = []] }: Run,
  explain: string,
): Promise<object[]> {
  return sequelize.transaction(async (transaction) => {
    const run = (text: string) => sequelize.query(text, { transaction, type: QueryTypes.SELECT })
    await run('SET LOCAL plan_cache_mode = force_generic_plan')
    await run(`PREPARE generic AS ${sql}`)
    const values = bind.map((value) => (value === null ? 'NULL' : sequelize.escape(String(value))))
    try {
      return await run(`${explain} EXECUTE generic${values.length > 0 ? `(${values.join(', ')})` : ''}`)
    } finally {
      await run('DEALLOCATE generic')
    }
  })
}

/** An index that a statement has read: pages, also those in memory, in all of its scans. */
interface Reading {
  readonly name: string
  readonly pages: number
  readonly loops: number
}

async function measured({ sequelize }: Database, { sql, bindings: [bind = []] }: Run): Promise<Reading[]> {
  return readingsIn(await sequelize.query(`${MEASURE} ${sql}`, { type: QueryTypes.SELECT, bind: [...bind] }))
}

async function measuredForAnyValues(database: Database, run: Run): Promise<Reading[]> {
  return readingsIn(await explainGeneric(database, run, MEASURE))
}

function readingsIn(plan: unknown): Reading[] {
  if (typeof plan !== 'object' || plan === null) return []
  const own: Reading[] = []
  if ('Index Name' in plan) {
    const number = (name: string) => Number(Reflect.get(plan, name))
    own.push({
      name: String(plan['Index Name']),
      pages: number('Shared Hit Blocks') + number('Shared Read Blocks'),
      loops: number('Actual Loops'),
    })
  }
  return [...own, ...Object.values(plan).flatMap(readingsIn)]
}

const analyze = ({ kind, sequelize }: Database) =>
  sequelize.query(
    kind === 'mysql' ? 'ANALYZE TABLE subject_tokens, subject_token_actors, oidc_models' : 'ANALYZE',
  )

async function fill({ kind, sequelize }: Database): Promise<void> {
  const store = createSubjectTokenStore(sequelize)
  await store.insert(TOKEN)
  const adapter = createAdapter(sequelize)
  await adapter('Session').upsert('known', { jti: 'known', uid: 'known' }, 600)
  await adapter('DeviceCode').upsert('known', { jti: 'known', userCode: 'known', grantId: 'known' }, 600)
  const id = () => randomBytes(16).toString('hex')
  const rows = (row: () => string) => Array.from({ length: ROWS }, row).join(', ')
  const run = (sql: string) => sequelize.query(sql, { logging: false })
  if (kind === 'postgres') {
    await run('ALTER TABLE subject_tokens SET (autovacuum_enabled = off)')
    await run(MANY)
  } else {
    await run(`INSERT INTO subject_tokens
    (id, token_hash, issuer, user_id, actor_id, used_actor_id, context, created_by, created_at, expires_at,
      consumed_at, consumed_by, access_token_expires_at, without_actor)
    VALUES ${rows(() => `('${mintId()}', '${id()}', '${ISSUER}', '${id()}', '${id()}', '${id()}', '{}', 'b', 1, ${NOW + 600}, 1, 'spa', ${NOW - 60}, 1)`)}`)
  }
  await run(`INSERT INTO subject_token_actors (actor_id, token_id, chain, expires_at)
    VALUES ${rows(() => `('${id()}', '${id()}', '${id()}', ${NOW + 600})`)}`)
  for (const model of ['Session', 'DeviceCode']) {
    await run(`INSERT INTO oidc_models
      (namespace, model, id, payload, grant_id, user_code, uid, written_at, expires_at)
      VALUES ${rows(() => `('', '${model}', '${id()}', '{}', '${id()}', '${id()}', '${id()}', 1, ${NOW + 600})`)}`)
  }
}
