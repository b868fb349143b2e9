import { describeOn } from '../../fixtures/on-database.ts'
import { itFindsFaults } from './doors.ts'

describeOn('postgres', 'what does not fit, on PostgreSQL', () => itFindsFaults('postgres'))
