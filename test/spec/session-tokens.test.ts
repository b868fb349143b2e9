import { declareCells } from './matrix.ts'
import { sessionTokenRules } from './session-tokens.ts'

declareCells('A, tokens', sessionTokenRules)
