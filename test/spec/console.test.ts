import { consoleRules } from './console.ts'
import { declareRules } from './matrix.ts'

declareRules('C', consoleRules)
