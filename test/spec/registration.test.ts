import { declareCells } from './matrix.ts'
import { registrationRules } from './registration.ts'

declareCells('M, registration', registrationRules)
