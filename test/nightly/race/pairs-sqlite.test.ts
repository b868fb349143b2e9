import { describePairs } from './pairs-on.ts'

describePairs('sqlite', 'on one file of SQLite')
