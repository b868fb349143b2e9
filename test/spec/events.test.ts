import { eventRules } from './events.ts'
import { declareRules } from './matrix.ts'

declareRules('V', eventRules)
