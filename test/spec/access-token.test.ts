import { accessTokenRules } from './access-token.ts'
import { declareRules } from './matrix.ts'

declareRules('T', accessTokenRules)
