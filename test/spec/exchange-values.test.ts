import { exchangeValueRules } from './exchange-values.ts'
import { declareCells } from './matrix.ts'

declareCells('E, values', exchangeValueRules)
