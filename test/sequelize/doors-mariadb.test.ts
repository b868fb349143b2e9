import { describeOn } from '../../fixtures/on-database.ts'
import { itFindsFaults } from './doors.ts'

describeOn('mysql', 'what does not fit, on MariaDB', () => itFindsFaults('mysql'))
