import { failureRules } from './management-failures.ts'
import { declareCells } from './matrix.ts'

declareCells('M, failures', failureRules)
