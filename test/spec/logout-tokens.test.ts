import { logoutTokenRules } from './logout-tokens.ts'
import { declareCells } from './matrix.ts'

declareCells('L, logout tokens', logoutTokenRules)
