import { eventRules } from './events.ts'
import { declareCells } from './matrix.ts'

declareCells('V', eventRules)
