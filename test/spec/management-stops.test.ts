import { stopRules } from './management-stops.ts'
import { declareCells } from './matrix.ts'

declareCells('M, stops', stopRules)
