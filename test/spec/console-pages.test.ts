import { consolePageRules } from './console-pages.ts'
import { declareCells } from './matrix.ts'

declareCells('C, pages', consolePageRules)
