import { exchangeRules } from './exchange.ts'
import { declareCells } from './matrix.ts'

declareCells('E', exchangeRules)
