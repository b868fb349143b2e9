import { downstreamValues } from './downstream-values.ts'
import { declareCells } from './matrix.ts'

declareCells('D, values', downstreamValues)
