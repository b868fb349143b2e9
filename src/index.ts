export type { Seconds } from './base/clock.ts'
export { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from './base/constants.ts'
export { AccessDenied, type Check, RecordError } from './base/errors.ts'
export type { JsonObject, JsonValue } from './base/json.ts'
export {
  type AccessTokenEnd,
  type AccessTokenExchanged,
  type AccessTokenRefused,
  EVENTS,
  type EventOfRequest,
  type ImpersonationEvents,
  type ImpersonationFailed,
  type SessionEnded,
  type SessionLogoutFailed,
  type SubjectTokenExchanged,
  type SubjectTokenIssued,
  type SubjectTokenRefused,
  type SubjectTokenReplayed,
  type SubjectTokenRevoked,
} from './events.ts'
export { createImpersonation, type Impersonation } from './impersonation.ts'
export type {
  CustomClaimsRequest,
  ImpersonationOptions,
  ImpersonationPolicyRequest,
  OnBehalfOfPolicyRequest,
  PersonName,
  PolicyRequest,
  SessionOptions,
} from './options.ts'
export type { RecordPage, RecordQuery } from './records/list.ts'
export type { SubjectTokenRecord } from './records/record.ts'
export type {
  AcknowledgeRequest,
  IssuedRecord,
  RecordRequest,
  Records,
  StopAllRequest,
  StopRequest,
} from './records/records.ts'
export type { Stopped } from './records/stop.ts'
export type { RecordSummary } from './records/summary.ts'
export type { NodeHandler } from './router/handler.ts'
export type { Mounting } from './router/mounting.ts'
export { impersonationOf, type SessionImpersonation } from './sessions/request.ts'
export type { SubjectTokenPurpose, TokenHash } from './tokens/secret.ts'
export {
  type DueSession,
  type KillFilter,
  type Revoked,
  type RevokedToken,
  type SessionOutcome,
  type SessionStore,
  type StoppedToken,
  StoreFailure,
  type StoreMeasures,
  type SubjectTokenCounts,
  type SubjectTokenFilter,
  type SubjectTokenPage,
  type SubjectTokenStore,
} from './tokens/store.ts'
export type {
  AccessTokenFormat,
  Acknowledgement,
  ActClaim,
  ActingParty,
  IssuedAccessToken,
  NewSubjectToken,
  Replay,
  Revocation,
  RevocationCause,
  SessionLogout,
  SessionUse,
  ShownRevocation,
  SpentSubjectToken,
  StoredSubjectToken,
  SubjectToken,
  SubjectTokenDraft,
  SubjectTokenState,
  SubjectTokenUse,
} from './tokens/subject-token.ts'
