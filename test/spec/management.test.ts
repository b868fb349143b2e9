import { healthRules } from './management-health.ts'
import { inProcessRules } from './management-in-process.ts'
import { issueRules } from './management-issue.ts'
import { recordRules } from './management-records.ts'
import { managementRouteRules } from './management-routes.ts'
import { sessionRules } from './management-sessions.ts'
import { stopRules } from './management-stops.ts'
import { declareRules } from './matrix.ts'
import { registrationRules } from './registration.ts'

declareRules('M', [
  ...managementRouteRules,
  ...issueRules,
  ...sessionRules,
  ...recordRules,
  ...stopRules,
  ...healthRules,
  ...inProcessRules,
  ...registrationRules,
])
