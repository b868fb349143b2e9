import { consoleChecks, consoleRules } from './console.ts'
import { consolePageRules } from './console-pages.ts'
import { consoleValueRules } from './console-values.ts'
import { declareCells, declareIds } from './matrix.ts'

declareIds('C', [...consoleRules, ...consoleChecks, ...consolePageRules, ...consoleValueRules])
declareCells('C', consoleRules)
