/** The values of the attributes, all of them few and known beforehand, and the series that begin at zero. */
import type { Attributes } from '@opentelemetry/api'
import type { CallbackName, Check } from '../base/errors.ts'
import type { AccessTokenEnd, ImpersonationFailed } from '../events.ts'

/** The kind of exchange: of a subject token for an access token or a session, or by an API that received a token. */
export type Kind = 'impersonation' | 'onBehalfOf' | 'session'
/** The measurements besides exchanges. */
export type Operation = 'issue' | 'stop' | 'list' | 'status_list'
/** `refused`: 4xx, by a rule or a policy. `failed`: 5xx. */
export type Outcome = 'done' | 'refused' | 'failed'
/** How a call of the deployment's function ended. */
export type Ending = 'returned' | 'denied' | 'failed' | 'too_late'

/** The outcome of telling an application that a session has ended. `failed` is an attempt, after which there is another one. */
export type Logout = 'confirmed' | 'failed' | 'gave_up' | 'unsupported'

const logouts: readonly Logout[] = ['confirmed', 'failed', 'gave_up', 'unsupported']
const kinds: readonly Kind[] = ['impersonation', 'onBehalfOf', 'session']
const operations: readonly Operation[] = ['issue', 'stop', 'list', 'status_list']
const outcomes: readonly Outcome[] = ['done', 'refused', 'failed']
const routes: readonly ImpersonationFailed['door'][] = [
  'management',
  'status-lists',
  'console',
  'exchange',
  'session',
  'health',
]
const ends: readonly AccessTokenEnd[] = ['now', 'before', 'expired', 'failed', 'kept']

/** Which outcomes a check leads to. */
const checks: Readonly<Record<Check, readonly Outcome[]>> = {
  request: ['refused'],
  subject_token: ['refused'],
  actor_token: ['refused'],
  maxDelegationDepth: ['refused'],
  hops: ['refused'],
  actorIsNotSubject: ['refused'],
  requireActor: ['refused'],
  requiredContext: ['refused'],
  target: ['refused'],
  scope: ['refused'],
  findAccount: ['failed'],
  isAllowed: ['refused', 'failed'],
  getCustomJwtClaims: ['refused', 'failed'],
  extraTokenClaims: ['failed'],
  issue: ['failed'],
  storage: ['failed'],
}
/** Errors of the provider and of functions that are no check: their codes are anyone's, so that they share one value. */
const OTHER = 'other'

export const attributes = {
  exchange: (kind: Kind, outcome: Outcome, check?: string): Attributes => ({
    'impersonation.kind': kind,
    'impersonation.outcome': outcome,
    ...(check !== undefined && { 'impersonation.check': Object.hasOwn(checks, check) ? check : OTHER }),
  }),
  operation: (operation: Operation, outcome?: Outcome): Attributes => ({
    'impersonation.operation': operation,
    ...(outcome && { 'impersonation.outcome': outcome }),
  }),
  replay: (ended: AccessTokenEnd, sameClient: boolean): Attributes => ({
    'impersonation.ended': ended,
    'impersonation.client': sameClient ? 'same' : 'other',
  }),
  failure: (door: ImpersonationFailed['door'], status: number): Attributes => ({
    'impersonation.door': door,
    'http.response.status_code': status,
  }),
  call: (name: CallbackName, ending: Ending): Attributes => ({
    'impersonation.function': name,
    'impersonation.ending': ending,
  }),
  logout: (logout: Logout): Attributes => ({ 'impersonation.logout': logout }),
  fate: (fate: string): Attributes => ({ 'impersonation.fate': fate.replaceAll(' ', '_') }),
}

/** The series of each counter that begin at zero: an alert on the first of something needs the zero before it. */
export const BEGINNINGS = {
  exchanges: kinds.flatMap((kind) => [
    attributes.exchange(kind, 'done'),
    ...Object.entries({ ...checks, [OTHER]: ['refused', 'failed'] as const }).flatMap(([check, outcomes]) =>
      outcomes.map((outcome) => attributes.exchange(kind, outcome, check)),
    ),
  ]),
  operations: operations.flatMap((operation) =>
    outcomes.map((outcome) => attributes.operation(operation, outcome)),
  ),
  replays: ends.flatMap((ended) => [true, false].map((same) => attributes.replay(ended, same))),
  logouts: logouts.map(attributes.logout),
  failures: routes.flatMap((door) => [500, 503].map((status) => attributes.failure(door, status))),
}
