export { createImpersonationClient, type ImpersonationClient } from './client.ts'
export { ImpersonationError } from './errors.ts'
export type { ImpersonationClientOptions } from './options.ts'
export type { RecordedActor, RecordState, SubjectTokenRecord, SubjectTokenRecordPage } from './record.ts'
export type {
  CallOptions,
  ExchangedToken,
  ExchangeRequest,
  IssuedSubjectToken,
  IssueRequest,
  ListRequest,
  OnBehalfOfRequest,
  StopRequest,
} from './requests.ts'
