import { declareCells } from './matrix.ts'
import { clientRules, registrationValueRules } from './registration-values.ts'

declareCells('M and E66, values of registrations', [...registrationValueRules, ...clientRules])
