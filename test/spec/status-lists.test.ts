import { declareRules } from './matrix.ts'
import { statusListRules } from './status-lists.ts'

declareRules('S', statusListRules)
