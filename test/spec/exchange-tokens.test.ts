import { exchangeTokenRules } from './exchange-tokens.ts'
import { declareCells } from './matrix.ts'

declareCells('E, tokens', exchangeTokenRules)
