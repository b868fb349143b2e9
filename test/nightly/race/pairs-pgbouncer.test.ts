/** In transaction mode, where connections change hands. */
import { startPgbouncer } from '../../../fixtures/pgbouncer.ts'
import { describePairs } from './pairs-on.ts'

describePairs('postgres', 'behind a PgBouncer', async ({ url }) => {
  const pooler = await startPgbouncer(url)
  return pooler && { databaseUrl: pooler.url, stop: () => pooler.stop() }
})
