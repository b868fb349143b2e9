/** The commands that work on a database, on each. */
import { expect } from 'chai'
import { QueryTypes } from 'sequelize'
import { ISSUER } from '../../../fixtures/cluster.ts'
import { run, tokenThatEnds } from '../../../fixtures/commands.ts'
import { onEachKind, useDatabase } from '../../../fixtures/on-database.ts'
import { createAdapter, createSubjectTokenStore, migrate } from '../../../src/sequelize/index.ts'

onEachKind((kind) => {
  describe('oidc-impersonation', () => {
    const database = useDatabase(kind, { each: true, migrated: false })

    it('shows the state of the tables', async () => {
      const empty = await run(['status'], database.url)
      expect(empty.code, empty.stderr).to.equal(1)
      expect(empty.stdout).to.include('fault: the step 001-subject-tokens has not been applied')
      expect(empty.stdout).to.include('001-subject-tokens  missing: run `oidc-impersonation migrate`')
      expect(empty.stdout).to.include('subject_tokens  missing\n')

      await migrate(database.sequelize)
      const token = tokenThatEnds(60)
      await createSubjectTokenStore(database.sequelize).insert(token)
      await createAdapter(database.sequelize)('Session').upsert('s', { jti: 's' }, 60)
      const { code, stdout } = await run(['status'], database.url)
      expect(code).to.equal(0)
      expect(stdout).to.match(/\nup to date\n$/)
      const json = await run(['status', '--json'], database.url)
      expect(JSON.parse(json.stdout)).to.deep.include({ pending: [], faults: [] })
      const written = new Date(token.createdAt * 1000).toISOString()
      expect(stdout).to.include(
        '001-subject-tokens  applied\n002-oidc-models  applied\n003-sessions  applied\n004-read-only  applied\n',
      )
      expect(stdout).to.include(`subject_tokens  1 rows, the oldest written ${written}\n`)
      expect(stdout).to.include('subject_token_actors  0 rows\n')
      // Read back: the adapter's clock never steps back, and other tests of this process may have set it ahead.
      const [row] = await database.sequelize.query<{ written_at: unknown }>(
        'SELECT written_at FROM oidc_models',
        {
          type: QueryTypes.SELECT,
        },
      )
      const saved = new Date(Math.floor(Number(row?.written_at) / 1e6) * 1000).toISOString()
      expect(stdout).to.include(`oidc_models  1 rows, the oldest written ${saved}\n`)
    })

    it('prints what a migration would do, and does it only if asked to', async () => {
      const dry = () => run(['migrate', '--dry-run'], database.url)
      const first = await dry()
      expect(first).to.deep.include({ code: 0, stderr: '' })
      expect(first.stdout.split('\n')[0]).to.match(
        /^001-subject-tokens {2}CREATE TABLE IF NOT EXISTS subject_tokens \(.*\(a new table, about no time\)$/,
      )
      expect((await run(['status'], database.url)).code).to.equal(1)
      await migrate(database.sequelize)
      expect((await dry()).stdout).to.equal('There is nothing to do.\n')
      await createSubjectTokenStore(database.sequelize).insert(tokenThatEnds(60))
      if (kind === 'postgres') await database.sequelize.query('ANALYZE subject_tokens')
      await database.sequelize.query(
        `DROP INDEX subject_tokens_open${kind === 'mysql' ? ' ON subject_tokens' : ''}`,
      )
      const { stdout } = await dry()
      expect(stdout).to.match(
        /^001-subject-tokens .*subject_tokens_open .*\(1 rows, (\d+ bytes, )?about no time\)\n$/,
      )
      const done = await run(['migrate'], database.url)
      expect(done).to.deep.equal({ code: 0, stdout: 'The tables are up to date.\n', stderr: stdout })
    })

    it('shows the steps of a later version', async () => {
      await migrate(database.sequelize)
      await database.sequelize.query(
        "INSERT INTO impersonation_steps (name, fingerprint, older, finished_at) VALUES ('999-later', 'f', 'may run', 0)",
      )
      const { stdout } = await run(['status'], database.url)
      expect(stdout).to.include('\n999-later  applied by a later version\n').and.not.to.include('missing')
    })

    it('ends what is unspent, of all issuers or of one', async () => {
      await migrate(database.sequelize)
      const store = createSubjectTokenStore(database.sequelize)
      for (const issuer of [ISSUER, 'https://other.example.com'])
        await store.insert(tokenThatEnds(60, issuer))
      const ended = async (...args: string[]) => (await run(['end-unspent', ...args], database.url)).stdout
      expect(await ended('--issuer', ISSUER)).to.equal(`Revoked 1 unspent subject tokens of ${ISSUER}.\n`)
      for (const left of [1, 0]) expect(await ended()).to.equal(`Revoked ${left} unspent subject tokens.\n`)
    })
  })
})
