import { arrivalRules } from './arrivals.ts'
import { declareCells, declareIds } from './matrix.ts'
import { sessionTokenRules } from './session-tokens.ts'
import { signInValues } from './sign-in-values.ts'
import { signInRules } from './sign-ins.ts'

declareIds('A', [...signInRules, ...signInValues, ...arrivalRules, ...sessionTokenRules])
declareCells('A, the door', signInRules)
