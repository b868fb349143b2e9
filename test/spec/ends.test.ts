import { endRules } from './ends.ts'
import { logoutTokenRules } from './logout-tokens.ts'
import { declareCells, declareIds } from './matrix.ts'
import { signOutRules } from './sign-outs.ts'

declareIds('L', [...endRules, ...logoutTokenRules, ...signOutRules])
declareCells('L', endRules)
