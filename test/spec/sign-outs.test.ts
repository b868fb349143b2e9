import { declareCells } from './matrix.ts'
import { signOutRules } from './sign-outs.ts'

declareCells('L, sign-outs', signOutRules)
