import { exchangeTargetRules } from './exchange-targets.ts'
import { declareCells } from './matrix.ts'

declareCells('E, targets', exchangeTargetRules)
