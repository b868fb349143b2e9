import { endRules } from './ends.ts'
import { declareCells } from './matrix.ts'

declareCells('L', endRules)
