import { downstreamRules } from './downstream.ts'
import { declareCells } from './matrix.ts'

declareCells('D', downstreamRules)
