import { replayRules } from './exchange-replays.ts'
import { declareCells } from './matrix.ts'

declareCells('E, replays', replayRules)
