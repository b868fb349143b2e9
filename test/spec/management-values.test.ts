import { valueRules } from './management-values.ts'
import { declareCells } from './matrix.ts'

declareCells('M, values', valueRules)
