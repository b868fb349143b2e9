import { actorRules } from './exchange-actors.ts'
import { declareCells } from './matrix.ts'

declareCells('E, who acts', actorRules)
