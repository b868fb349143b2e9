import { declareCells } from './matrix.ts'
import { statusListRules } from './status-lists.ts'

declareCells('S', statusListRules)
