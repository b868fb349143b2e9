import { exchangeRules } from './exchange.ts'
import { replayRules } from './exchange-replays.ts'
import { declareCells, declareIds } from './matrix.ts'

declareIds('E', [...exchangeRules, ...replayRules])
declareCells('E', exchangeRules)
