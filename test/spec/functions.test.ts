import { functionRules } from './functions.ts'
import { declareCells } from './matrix.ts'

declareCells('P', functionRules)
