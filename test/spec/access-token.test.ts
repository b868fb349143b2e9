import { accessTokenRules } from './access-token.ts'
import { declareCells } from './matrix.ts'

declareCells('T', accessTokenRules)
