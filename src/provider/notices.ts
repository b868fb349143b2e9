/**
 * Tells developers and operators what would otherwise be silent. The only file outside the command line that reads the
 * environment and prints, as oidc-provider does: to the `debug` package, and as notices, each once in a process.
 */
import { styleText } from 'node:util'
import debug from 'debug'
import type { AccessToken, Provider } from 'oidc-provider'
import { emit, type ImpersonationEvents } from '../events.ts'
import { countReplay, countSession } from '../metrics/metrics.ts'

const NAMESPACE = 'oidc-provider:impersonation'
const log = debug(NAMESPACE)

type RefusalEvent = 'subject_token.refused' | 'subject_token.replayed' | 'access_token.refused'

/** A replay is refused like every bad subject token, but its event tells more than that. */
const REPLAY = { check: 'subject_token', reason: 'used before' }

/** Emits the event of a request that was refused. Every such event passes here, so that none is silent. */
export function emitRefusal<Name extends RefusalEvent>(
  provider: Provider,
  event: Name,
  payload: ImpersonationEvents[Name],
): void {
  log('%s %j', event, payload)
  if (!log.enabled && provider.listenerCount(event) === 0) {
    const { check, reason } = 'check' in payload ? payload : REPLAY
    // Quoted: it may be the deployment's own text, of several lines.
    const why = `check ${check}, reason ${JSON.stringify(reason)}`
    noticeOnce(
      'refusal',
      `a request was refused, and no one listens to ${event}: ${why}. DEBUG=${NAMESPACE} prints each one.`,
    )
  }
  count(payload)
  emit(provider, event, payload)
}

/** Every replay passes here, and every refusal of a session. Those of an exchange are counted with their time. */
function count(payload: ImpersonationEvents[RefusalEvent]): void {
  if ('ended' in payload) countReplay(payload.ended, payload.sameClient === true)
  else if (payload.stage === 'session') countSession(isFailure(payload) ? 'failed' : 'refused', payload.check)
}

/** Whether the client gets 5xx, by the `error` that it reads. */
export const isFailure = ({ error }: { readonly error: string }): boolean =>
  error === 'server_error' || error === 'temporarily_unavailable'

/** The provider's default is an opaque token, where most deployments expect a JWT. */
export function noticeOpaqueByDefault({ resourceServer }: Pick<AccessToken, 'resourceServer'>): void {
  if (!resourceServer || resourceServer.accessTokenFormat !== undefined) return
  noticeOnce(
    'opaque',
    `the access token for ${resourceServer.identifier()} is opaque, because getResourceServerInfo returned no accessTokenFormat for it. Return 'jwt', or 'opaque' to keep it that way.`,
  )
}

/** A function of the deployment has changed what it has no say in. Said in production, too: someone may be trying. */
export function noticeUndone(what: string, names: readonly string[]): void {
  if (names.length === 0) return
  const text = `${what} has changed ${names.join(', ')}: a token of an exchange or a session stays as it was decided.`
  log(text)
  if (isFirst(`undone by ${what}`))
    console.warn(
      styleText('yellow', `oidc-provider-impersonation WARNING: ${text}`, { stream: process.stderr }),
    )
}

const noticed = new Set<string>()

function noticeOnce(what: string, text: string): void {
  if (process.env.NODE_ENV === 'production' || !isFirst(what)) return
  console.info(styleText('yellow', `oidc-provider-impersonation NOTICE: ${text}`, { stream: process.stdout }))
}

const isFirst = (what: string): boolean => !noticed.has(what) && Boolean(noticed.add(what))
