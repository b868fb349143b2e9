import { functionRules } from './functions.ts'
import { declareRules } from './matrix.ts'

declareRules('P', functionRules)
