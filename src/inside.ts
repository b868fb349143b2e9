/** Names for packages of this repository and the same version only: no promise to anyone else, and no name stays for long. */
import type { Sequelize } from 'sequelize'
import type { MissingRight } from './sequelize/schema/rights.ts'

export { createMemory, epochTime, TooLate, within } from './base/clock.ts'
export { CLIENT_CREDENTIALS, RESERVED_CLAIMS } from './base/constants.ts'
export {
  checkOf,
  invalidRequest,
  methodNotAllowed,
  notFound,
  readOnlyNotObeyed,
  reasonOf,
} from './base/errors.ts'
export { isPlainObject, isStorableName, refuseUnknown, withoutUndefined } from './base/json.ts'
export { closeDeployment, type Deployment, loadDeployment } from './cli/deployment.ts'
export { messageOf, runCommand, UsageError, versionOf, withoutCredentials } from './cli/process.ts'
export { insideOf } from './impersonation.ts'
export type { ResolvedOptions } from './options.ts'
export { DESIGN, documentsOf, readAsset } from './pages/document.ts'
export { isOfThisOrigin, readForm } from './pages/form.ts'
export { type Html, html, linked, type Value } from './pages/html.ts'
export { inProvider, unsentRequest } from './provider/accounts.ts'
export {
  findRegisteredClient,
  registeredAudiences,
  registeredManagementScopes,
  registeredResources,
  withoutDocument,
} from './provider/client-metadata.ts'
export { answerOf, findNames } from './provider/deployment-functions.ts'
export { requestOf, setRoute } from './provider/failures.ts'
export { findAccount, type GrantContext, requestedResourceServers } from './provider/lib-grants.ts'
export { defaultManagementResource, type Service } from './provider/settings.ts'
export { defaultBase, resolveStatusLists } from './provider/status-claim.ts'
export type { Lookup } from './records/accounts.ts'
export { onlyOne, parseName, parseText, required } from './records/fields.ts'
export { recordNotFound } from './records/record.ts'
export { recordsOf } from './records/records.ts'
export { KILLED_BY } from './records/stop.ts'
export { createHandler, originalPathOf } from './router/handler.ts'
export { resolveMounting } from './router/mounting.ts'
export { assertNoQuery, single } from './router/query.ts'
export { refuse } from './router/respond.ts'
export type { MissingRight } from './sequelize/schema/rights.ts'
export { canBeTold } from './sessions/client-opt-in.ts'
export { keysOf } from './sessions/seal.ts'
export { isCreatedIn, matches, namesOf } from './tokens/filter.ts'
export { earliestId, isId, mintId } from './tokens/id.ts'
export { hashToken, mintToken } from './tokens/secret.ts'
export {
  isEnd,
  isLive,
  isSpent,
  isStoppable,
  LONGEST_LIFE,
  stateOf,
} from './tokens/subject-token.ts'

/** Loaded at the call, because not every store of a deployment needs Sequelize. */
export async function missingRights(sequelize: Sequelize): Promise<readonly MissingRight[]> {
  return (await import('./sequelize/schema/rights.ts')).missingRights(sequelize)
}
