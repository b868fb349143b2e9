import { itSurvives } from './upgrade.ts'

itSurvives('postgres', 'PostgreSQL')
