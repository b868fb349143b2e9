import { declareCells } from './matrix.ts'
import { signInRules } from './sign-ins.ts'

declareCells('A, the door', signInRules)
