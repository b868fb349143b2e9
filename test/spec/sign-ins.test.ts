import { declareRules } from './matrix.ts'
import { signInRules } from './sign-ins.ts'

declareRules('A', signInRules)
