import { declareCells } from './matrix.ts'
import { signInValues } from './sign-in-values.ts'

declareCells('A, clients', signInValues)
