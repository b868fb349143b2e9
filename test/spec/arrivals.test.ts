import { arrivalRules } from './arrivals.ts'
import { declareCells } from './matrix.ts'

declareCells('A, arrivals', arrivalRules)
