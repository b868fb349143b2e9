import { consoleRules } from './console.ts'
import { declareCells } from './matrix.ts'

declareCells('C', consoleRules)
