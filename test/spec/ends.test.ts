import { endRules } from './ends.ts'
import { logoutTokenRules } from './logout-tokens.ts'
import { declareCells, declareIds } from './matrix.ts'

declareIds('L', [...endRules, ...logoutTokenRules])
declareCells('L', endRules)
