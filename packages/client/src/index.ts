export { createImpersonationClient, type ImpersonationClient } from './client.ts'
export { ImpersonationError } from './errors.ts'
export type { ImpersonationClientOptions } from './options.ts'
export type {
  RecordedAcknowledgement,
  RecordedActor,
  RecordState,
  RevocationCause,
  SubjectTokenRecord,
  SubjectTokenRecordPage,
} from './record.ts'
export type {
  AcknowledgeRequest,
  CallOptions,
  ExchangedToken,
  ExchangeRequest,
  IssuedSubjectToken,
  IssueRequest,
  IssueSessionRequest,
  ListRequest,
  OnBehalfOfRequest,
  Stopped,
  StopRequest,
} from './requests.ts'
export type { Seconds } from './time.ts'
