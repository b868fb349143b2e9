import { healthRules } from './management-health.ts'
import { inProcessRules } from './management-in-process.ts'
import { issueRules } from './management-issue.ts'
import { recordRules } from './management-records.ts'
import { managementRouteRules } from './management-routes.ts'
import { sessionRules } from './management-sessions.ts'
import { stopRules } from './management-stops.ts'
import { valueRules } from './management-values.ts'
import { declareCells, declareIds } from './matrix.ts'
import { registrationRules } from './registration.ts'
import { registrationValueRules } from './registration-values.ts'

const others = [...issueRules, ...sessionRules, ...healthRules, ...inProcessRules]
const declaredElsewhere = [
  ...registrationRules,
  ...registrationValueRules,
  ...managementRouteRules,
  ...recordRules,
  ...stopRules,
  ...valueRules,
]
declareIds('M', [...others, ...declaredElsewhere])
declareCells('M', others)
