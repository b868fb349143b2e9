import { consoleValueRules } from './console-values.ts'
import { declareCells } from './matrix.ts'

declareCells('C, values', consoleValueRules)
