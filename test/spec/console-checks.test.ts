import { consoleChecks } from './console.ts'
import { declareCells } from './matrix.ts'

declareCells('C, checks', consoleChecks)
