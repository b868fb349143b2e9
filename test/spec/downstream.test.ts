import { downstreamRules } from './downstream.ts'
import { downstreamValues } from './downstream-values.ts'
import { declareCells, declareIds } from './matrix.ts'

declareIds('D', [...downstreamRules, ...downstreamValues])
declareCells('D', downstreamRules)
