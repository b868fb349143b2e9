import { describeOn } from '../../fixtures/on-database.ts'
import { itFindsFaults } from './doors.ts'

describeOn('sqlite', 'what does not fit, on SQLite', () => itFindsFaults('sqlite'))
