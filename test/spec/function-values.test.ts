import { functionValueRules } from './function-values.ts'
import { declareCells } from './matrix.ts'

declareCells('P, values', functionValueRules)
