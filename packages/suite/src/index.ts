/** The suite as a library: run a configuration, and write the report. The command line does no more. */
import { CATALOGUE as ALL } from './catalogue.ts'
import type { Described } from './check.ts'

/** Every check, in the order in which they run. */
export const CATALOGUE: readonly Described[] = ALL
export type { Described as Check, Level } from './check.ts'
export { DEVIATIONS, type Deviation } from './deviations.ts'
export type {
  Client,
  Configuration,
  Driver,
  Profile,
  Target,
  Token,
  TokenKind,
  TokenRequest,
} from './driver.ts'
export { PROFILES } from './driver.ts'
export { json } from './report/json.ts'
export { junit } from './report/junit.ts'
export { heading, line, summary } from './report/text.ts'
export { isGreen, type Outcome, type Report, type Result, type RunOptions, run } from './run.ts'
