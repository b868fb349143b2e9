import { downstreamRules } from './downstream.ts'
import { declareRules } from './matrix.ts'

declareRules('D', downstreamRules)
