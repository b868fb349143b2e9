import { clientRules } from './exchange-clients.ts'
import { declareCells } from './matrix.ts'

declareCells('E, who asks', clientRules)
