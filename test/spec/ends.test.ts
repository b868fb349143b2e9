import { endRules } from './ends.ts'
import { declareRules } from './matrix.ts'

declareRules('L', endRules)
