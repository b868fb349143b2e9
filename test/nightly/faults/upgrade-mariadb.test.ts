import { itSurvives } from './upgrade.ts'

itSurvives('mysql', 'MariaDB')
