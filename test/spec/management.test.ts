import { healthRules } from './management-health.ts'
import { inProcessRules } from './management-in-process.ts'
import { issueRules } from './management-issue.ts'
import { sessionRules } from './management-sessions.ts'
import { declareCells } from './matrix.ts'

declareCells('M', [...issueRules, ...sessionRules, ...healthRules, ...inProcessRules])
