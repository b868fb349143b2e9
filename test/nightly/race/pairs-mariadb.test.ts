/** At both isolations that an operator may choose. */
import { describePairs } from './pairs-on.ts'

for (const isolation of ['READ COMMITTED', 'REPEATABLE READ'])
  describePairs('mysql', `on MariaDB, ${isolation.toLowerCase()}`, async () => ({ isolation }))
