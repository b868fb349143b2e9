import { exchangeRules } from './exchange.ts'
import { declareRules } from './matrix.ts'

declareRules('E', exchangeRules)
