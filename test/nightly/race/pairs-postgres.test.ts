/** At both isolations that an operator may give their role. */
import { describePairs } from './pairs-on.ts'

for (const isolation of ['read committed', 'repeatable read'])
  describePairs('postgres', `on PostgreSQL, ${isolation}`, async ({ url, sequelize }) => {
    const { pathname } = new URL(url)
    await sequelize.query(
      `ALTER ROLE CURRENT_USER IN DATABASE ${pathname.slice(1)} SET default_transaction_isolation = '${isolation}'`,
    )
    return {}
  })
