/** The hot statements use an index, whatever the number of rows. They are explained as they run, with their values. */
import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { QueryTypes } from 'sequelize'
import { ISSUER } from '../../fixtures/cluster.ts'
import { DATABASES, type Database, type DatabaseKind, openDatabase } from '../../fixtures/databases.ts'
import { beforeOn } from '../../fixtures/on-database.ts'
import { recordRuns } from '../../fixtures/runs.ts'
import { NOW, newToken, newUse } from '../../fixtures/subject-tokens.ts'
import { createAdapter, createSubjectTokenStore, purge } from '../../src/sequelize/index.ts'

const ROWS = 3000
const TOKEN = newToken()
const USE = newUse()

const OF_ACTOR =
  /subject_tokens_(used_)?actor_id|subject_token_actors_pkey|PRIMARY|autoindex_subject_token_actors/

/** What runs, and the index it must use. */
const HOT: Readonly<Record<string, { run: (database: Database) => Promise<unknown>; index: RegExp }>> = {
  'find a subject token': {
    run: ({ sequelize }) => createSubjectTokenStore(sequelize).findByHash(ISSUER, TOKEN.tokenHash),
    index: /token_hash|sqlite_autoindex_subject_tokens/,
  },
  'spend a subject token': {
    run: ({ sequelize }) => createSubjectTokenStore(sequelize).consume(ISSUER, TOKEN.tokenHash, NOW, USE),
    index: /token_hash|sqlite_autoindex_subject_tokens/,
  },
  'list the tokens of a user': {
    run: ({ sequelize }) =>
      createSubjectTokenStore(sequelize).list(ISSUER, { userId: ['alice'] }, { limit: 50, now: NOW }),
    index: /subject_tokens_user_id/,
  },
  'list the tokens of two users': {
    run: ({ sequelize }) =>
      createSubjectTokenStore(sequelize).list(ISSUER, { userId: ['alice', 'bob'] }, { limit: 50, now: NOW }),
    index: /subject_tokens_user_id/,
  },
  'list the tokens of an actor': {
    run: ({ sequelize }) =>
      createSubjectTokenStore(sequelize).list(ISSUER, { actorId: ['alice'] }, { limit: 50, now: NOW }),
    index: OF_ACTOR,
  },
  'list the tokens of a user and an actor, after a page': {
    run: ({ sequelize }) =>
      createSubjectTokenStore(sequelize).list(
        ISSUER,
        { userId: ['alice'], actorId: ['bob', 'carol'] },
        { limit: 50, now: NOW, cursor: TOKEN.id },
      ),
    index: /subject_tokens_user_id/,
  },
  'end the tokens of a user': {
    run: ({ sequelize }) => createSubjectTokenStore(sequelize).revokeWhere(ISSUER, { userId: 'alice' }, NOW),
    index: /subject_tokens_user_id/,
  },
  'end the tokens of an actor': {
    run: ({ sequelize }) => createSubjectTokenStore(sequelize).revokeWhere(ISSUER, { actorId: 'alice' }, NOW),
    index: OF_ACTOR,
  },
  'list the tokens that a backend issued': {
    run: ({ sequelize }) =>
      createSubjectTokenStore(sequelize).list(ISSUER, { createdBy: 'backend' }, { limit: 50, now: NOW }),
    index: /subject_tokens_created_by"?\b/,
  },
  'end the tokens that a backend issued': {
    run: ({ sequelize }) =>
      createSubjectTokenStore(sequelize).revokeWhere(ISSUER, { createdBy: 'b' }, NOW + 90 * 24 * 3600),
    index: /subject_tokens_(created_by_)?expires_at/,
  },
  'purge what has expired': {
    run: ({ sequelize }) => purge(sequelize, { retention: 0 }),
    index: /(subject_tokens|subject_token_actors|oidc_models)_expires_at/,
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

for (const kind of DATABASES) {
  describe(`query plans on ${kind}`, () => {
    let database: Database
    beforeOn(kind, async () => {
      database = await openDatabase(kind)
      await fill(database)
    })
    after(() => database?.close())

    for (const [purpose, { run, index }] of Object.entries(HOT)) {
      it(`use an index to ${purpose}`, async () => {
        const all = await recordRuns(database, () => run(database))
        // Without the question whether the server is a cluster.
        const runs = all.filter(({ sql }) => !sql.startsWith('SHOW'))
        expect(runs).not.to.have.length(0)
        for (const { sql, bindings } of runs) {
          const [bind] = bindings.map((binding) => [...binding])
          const plan = await database.sequelize.query(`${EXPLAIN[kind]} ${sql}`, {
            type: QueryTypes.SELECT,
            bind,
          })
          expect(JSON.stringify(plan), sql).to.match(index).and.not.to.match(WALKS[kind])
        }
      })
    }
  })
}

async function fill({ kind, sequelize }: Database): Promise<void> {
  const store = createSubjectTokenStore(sequelize)
  await store.insert(TOKEN)
  const adapter = createAdapter(sequelize)
  await adapter('Session').upsert('known', { jti: 'known', uid: 'known' }, 600)
  await adapter('DeviceCode').upsert('known', { jti: 'known', userCode: 'known', grantId: 'known' }, 600)
  const id = () => randomBytes(16).toString('hex')
  const rows = (row: () => string) => Array.from({ length: ROWS }, row).join(', ')
  const run = (sql: string) => sequelize.query(sql, { logging: false })
  await run(`INSERT INTO subject_tokens
    (id, token_hash, issuer, user_id, actor_id, used_actor_id, context, created_by, created_at, expires_at)
    VALUES ${rows(() => `('${id()}', '${id()}', '${ISSUER}', '${id()}', '${id()}', '${id()}', '{}', 'b', 1, ${NOW + 600})`)}`)
  await run(`INSERT INTO subject_token_actors (actor_id, token_id, chain, expires_at)
    VALUES ${rows(() => `('${id()}', '${id()}', '${id()}', ${NOW + 600})`)}`)
  for (const model of ['Session', 'DeviceCode']) {
    await run(`INSERT INTO oidc_models
      (namespace, model, id, payload, grant_id, user_code, uid, written_at, expires_at)
      VALUES ${rows(() => `('', '${model}', '${id()}', '{}', '${id()}', '${id()}', '${id()}', 1, ${NOW + 600})`)}`)
  }
  await run(kind === 'mysql' ? 'ANALYZE TABLE subject_tokens, subject_token_actors, oidc_models' : 'ANALYZE')
}
