/** What does not fit is found at each door, and named in one sentence with what to do. */
import { expect } from 'chai'
import { type DatabaseKind, openDatabase } from '../../fixtures/databases.ts'
import { startDeployment } from '../../fixtures/deployment.ts'
import { onEachKind } from '../../fixtures/on-database.ts'
import { createServing } from '../../fixtures/role.ts'
import { run } from '../../src/cli/commands.ts'
import { migrate } from '../../src/sequelize/index.ts'
import { statusOf } from '../../src/sequelize/schema/status.ts'

const RUN = 'run `oidc-impersonation migrate`'
const RECREATE = 'dump and re-create'
const MISSING =
  'the tables are missing or not up to date: run `oidc-impersonation migrate`, or call migrate() at the start'

type Door = 'status' | 'ready' | 'start' | 'migrate'

interface Fault {
  readonly is: string
  readonly made: Partial<Record<DatabaseKind, readonly string[]>>
  readonly said: string | Readonly<Record<DatabaseKind, string>>
  /** Where the sentence is another one. */
  readonly at?: Partial<Record<Door, string>>
  /** `migrate` puts it right. */
  readonly mended?: true
}

const everywhere = (...statements: readonly string[]) => ({
  sqlite: statements,
  postgres: statements,
  mysql: statements,
})
const step = (name: string, older: string) =>
  `INSERT INTO impersonation_steps (name, fingerprint, older, finished_at) VALUES ('${name}', 'x', '${older}', 1)`

const FAULTS: readonly Fault[] = [
  {
    is: 'a table that is missing',
    made: everywhere('DROP TABLE subject_token_acknowledgements'),
    said: `the table subject_token_acknowledgements is missing: ${RUN}`,
    mended: true,
  },
  {
    is: 'an index that is missing',
    made: {
      sqlite: ['DROP INDEX subject_tokens_open'],
      postgres: ['DROP INDEX subject_tokens_open'],
      mysql: ['DROP INDEX subject_tokens_open ON subject_tokens'],
    },
    said: `the index subject_tokens_open is missing: ${RUN}`,
    mended: true,
  },
  {
    is: 'an index on other columns',
    made: {
      sqlite: ['DROP INDEX subject_tokens_open', 'CREATE INDEX subject_tokens_open ON subject_tokens (open)'],
      postgres: [
        'DROP INDEX subject_tokens_open',
        'CREATE INDEX subject_tokens_open ON subject_tokens (open)',
      ],
      mysql: [
        'DROP INDEX subject_tokens_open ON subject_tokens',
        'CREATE INDEX subject_tokens_open ON subject_tokens (open)',
      ],
    },
    said: `the index subject_tokens_open is on (open), not on (open, issuer): drop it, and ${RUN}`,
  },
  {
    is: 'a column that is missing',
    made: everywhere('ALTER TABLE subject_token_stops RENAME COLUMN cause TO gone'),
    said: {
      sqlite: `the column subject_token_stops.cause is missing: add it as TEXT, or ${RECREATE}`,
      postgres: `the column subject_token_stops.cause is missing: add it as VARCHAR(64) COLLATE "C", or ${RECREATE}`,
      mysql: `the column subject_token_stops.cause is missing: add it as VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin, or ${RECREATE}`,
    },
  },
  {
    is: 'a step that was not applied',
    made: everywhere(`DELETE FROM impersonation_steps WHERE name = '001-subject-tokens'`),
    said: `the step 001-subject-tokens has not been applied: ${RUN}`,
    at: { ready: MISSING },
    mended: true,
  },
  {
    is: 'a step of another build',
    made: everywhere(`UPDATE impersonation_steps SET fingerprint = 'x' WHERE name = '001-subject-tokens'`),
    said: `the step 001-subject-tokens was made by another build: ${RECREATE}`,
  },
  {
    is: 'a step of a later version with which this one may not run',
    made: everywhere(step('900-contract', 'may not run')),
    said: 'the step 900-contract is of a later version, and this one may not run with it: update it',
  },
  {
    is: 'a right that is missing',
    made: {
      postgres: ['REVOKE INSERT ON subject_token_stops FROM role'],
      mysql: ['REVOKE INSERT ON subject_token_stops FROM role'],
    },
    said: 'the role has no INSERT on subject_token_stops: grant it',
    at: { status: 'the role has no INSERT on subject_token_stops: grant it, if it serves' },
  },
]

const reasonOf = (asking: Promise<unknown>): Promise<string> =>
  asking.then(
    () => 'sound',
    (error: unknown) => (error instanceof Error ? error.message.replace(/^storage failed: /, '') : 'none'),
  )

onEachKind((kind) => {
  describe('what does not fit', () => {
    for (const { is, made, said, at = {}, mended } of FAULTS.filter((fault) => fault.made[kind]))
      it(`is found at each door: ${is}`, async () => {
        const sentence = (door: Door) => at[door] ?? (typeof said === 'string' ? said : said[kind])
        const database = await openDatabase(kind)
        const role = await createServing(database)
        /** As a process that serves has them. */
        const served = () => database.connect(role && { username: role.name, password: '' })
        for (const sql of made[kind] ?? [])
          await database.sequelize.query(sql.replace(/role$/, role?.grantee ?? ''))
        const deployment = await startDeployment({ database: { ...database, sequelize: served() } })
        try {
          const { exitCode } = process
          const told = await run({ name: 'status', dryRun: false, json: false }, served())
          process.exitCode = exitCode
          expect(told.split('\n').filter((line) => line.startsWith('fault: '))).to.deep.equal([
            `fault: ${sentence('status')}`,
          ])
          expect(await reasonOf(deployment.impersonation.ready())).to.equal(sentence('ready'))
          if (kind !== 'sqlite') {
            const owner = mended ? ' with the role that owns the tables' : ''
            expect(await reasonOf(migrate(served()))).to.equal(`${sentence('start')}${owner}`)
          }
          const pool = is === 'a right that is missing' ? served() : database.sequelize
          const migrated = await reasonOf(run({ name: 'migrate', dryRun: false, json: false }, pool))
          expect(migrated).to.equal(mended ? 'sound' : sentence('migrate'))
          if (mended) expect((await statusOf(database.sequelize)).faults).to.deep.equal([])
        } finally {
          await deployment.close()
          await role?.drop()
          await database.close()
        }
      })
  })
})
