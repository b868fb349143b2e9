import { itSurvives } from './upgrade.ts'

itSurvives('sqlite', 'SQLite')
