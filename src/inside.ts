/** For packages of this repository and of the same version alone: no promise to anyone else, and no name stays for long. */
export { createMemory, epochTime, within } from './clock.ts'
export { parsedBody, read } from './http/body.ts'
export { DESIGN, documentsOf, readAsset } from './http/document.ts'
export { enter, requestOf } from './http/doors.ts'
export { invalidRequest, methodNotAllowed, notFound } from './http/errors.ts'
export { createHandler, originalPathOf } from './http/handler.ts'
export { type Html, html, linked, type Value } from './http/html.ts'
export { resolveMounting } from './http/mounting.ts'
export { isOfThisOrigin } from './http/origin.ts'
export { refuse } from './http/respond.ts'
export { type Inside, insideOf } from './impersonation.ts'
export { assertNoQuery, single } from './management/query.ts'
export { isPlainObject, isStorableName, refuseUnknown } from './plain-json.ts'
export { inProvider } from './provider/accounts.ts'
export { findAccount } from './provider/grants.ts'
export type { Service } from './provider/settings.ts'
export type { Lookup } from './records/accounts.ts'
export { onlyOne, parseName, parseText, required } from './records/fields.ts'
export {
  isAlarmingRecord,
  isEndedRecord,
  isKeptRecord,
  isLiveRecord,
  isStoppableRecord,
  recordNotFound,
  usableUntil,
} from './records/record.ts'
export { recordsOf } from './records/records.ts'
export { KILLED_BY } from './records/stop-request.ts'
export { isId } from './subject-tokens/id.ts'
export { LONGEST_LIFE } from './subject-tokens/subject-token.ts'
