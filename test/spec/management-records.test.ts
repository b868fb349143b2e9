import { recordRules } from './management-records.ts'
import { declareCells } from './matrix.ts'

declareCells('M, records', recordRules)
