/** One attempt to end a session: its part at the provider, and the application, which is told until it confirms. */
import type { Provider } from 'oidc-provider'
import { epochTime, type Seconds, TooLate, within } from '../base/clock.ts'
import { nameOf } from '../base/errors.ts'
import { emit } from '../events.ts'
import { countLogout } from '../metrics/metrics.ts'
import type { DueSession, SessionStore } from '../tokens/store.ts'
import { endHeadlessSession, sendLogoutToken, sessionName } from './provider.ts'

/** Where sessions are, and who is told. */
export interface Endings {
  readonly provider: Provider
  readonly sessions: SessionStore
}

/** No attempt takes longer, whatever the application and a `fetch` of the deployment do. */
const LONGEST_ATTEMPT: Seconds = 5
/** Between an attempt that failed and the next one; after these always the last one. */
const PAUSES: readonly Seconds[] = [1, 3, 10, 30, 60, 120, 300, 600]
/** Counted from the end of the session. */
const GIVEN_UP_AFTER: Seconds = 3600
/** A code lives for a minute: until then the application may be redeeming it, and not know the session yet. */
const MAY_BE_SIGNING_IN: Seconds = 70
/** The application has redeemed the code by then, if it ever does. */
const TOLD_AGAIN_AFTER: Seconds = 10

/**
 * Ends a session that is due, unless another process does. Returns when it is due again, if it is and this process knows.
 *
 * @throws what storage throws. Nothing is lost: the session stays open, and is found again.
 */
export async function endDueSession(endings: Endings, due: DueSession): Promise<Seconds | undefined> {
  const { provider, sessions } = endings
  const began = epochTime()
  const claimed = markAt(due, began + LONGEST_ATTEMPT)
  if (!(await sessions.claim(provider.issuer, due.id, due.mark, claimed))) return undefined
  try {
    await within(LONGEST_ATTEMPT, endAndTell(provider, due))
  } catch (error) {
    return failed(endings, { due, began, claimed, error })
  }
  return succeeded(endings, due)
}

/** Does both, whatever becomes of the other, at each attempt: what an answer under way has left since goes, too. */
async function endAndTell(provider: Provider, due: DueSession): Promise<void> {
  const { clientId, userId } = due
  const sid = sessionName(due.id)
  const tellsNoOne = due.logout === 'unsupported'
  const results = await Promise.allSettled([
    tellsNoOne ? undefined : tellApplication(provider, { clientId, userId, sid }),
    endHeadlessSession(provider, sid),
  ])
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

/** Why an application could not be told. The code is for events: it holds nothing that anyone sent. */
class LogoutFailure extends Error {
  override readonly name = 'LogoutFailure'
  readonly code: string
  constructor(code: string, options?: ErrorOptions) {
    super('the application has not confirmed the logout token', options)
    this.code = code
  }
}

/**
 * Tells the application that this one session has ended (OpenID Connect Back-Channel Logout 1.0).
 *
 * @throws {LogoutFailure} unless the application has confirmed it: with 200 or 204.
 */
async function tellApplication(
  provider: Provider,
  { clientId, userId, sid }: { readonly clientId: string; readonly userId: string; readonly sid: string },
): Promise<void> {
  const client = await provider.Client.find(clientId)
  if (!client?.backchannelLogoutUri) throw new LogoutFailure('NO_BACKCHANNEL_LOGOUT')
  // Without `sid` it would end every session that the user has in this application.
  if (!client.backchannelLogoutSessionRequired) throw new LogoutFailure('NO_SESSION_REQUIRED')
  try {
    // The account id: the provider makes the `sub` of it that this client knows.
    await sendLogoutToken(client, userId, sid)
  } catch (error) {
    throw new LogoutFailure(codeOf(error), { cause: error })
  }
}

/** The status that the application responded with, or the error of the connection. */
function codeOf(error: unknown): string {
  const { response, cause } = Object(error)
  if (Number.isInteger(response?.status)) return `HTTP_${response.status}`
  const { code, message } = Object(cause)
  // The provider's own `fetch` connects to no internal address, and has no code for it.
  if (/special-use/.test(String(message))) return 'SPECIAL_USE_ADDRESS'
  return typeof code === 'string' ? nameOf(cause) : nameOf(error)
}

function succeeded(endings: Endings, due: DueSession): Promise<Seconds | undefined> {
  const at = epochTime()
  const again = due.logout === 'pending' ? secondTime(due, at) : undefined
  const mark = again === undefined ? undefined : markAt(due, again)
  return settle(endings, due, { logout: 'confirmed', at, mark })
}

/** Writes what an attempt has come to, and tells of it once. Returns the mark of the next one. */
async function settle(
  { provider, sessions }: Endings,
  due: DueSession,
  { logout, at, mark }: { logout: 'confirmed' | 'gaveUp'; at: Seconds; mark?: Seconds | undefined },
): Promise<Seconds | undefined> {
  const { id, userId, clientId, readOnly, endsAt } = due
  const isFirstAnswer = due.logout === 'pending'
  await sessions.settle(provider.issuer, id, { mark: mark ?? null, at, ...(isFirstAnswer && { logout }) })
  const told = isFirstAnswer
    ? { logout, logoutAt: at }
    : due.logout === 'unsupported' && { logout: due.logout }
  if (told) {
    countLogout(LOGOUTS[told.logout])
    emit(provider, 'session.ended', { id, userId, clientId, readOnly, session: { endsAt, ...told } })
  }
  return mark
}

const LOGOUTS = { confirmed: 'confirmed', gaveUp: 'gave_up', unsupported: 'unsupported' } as const

/** When an application is told again that may not have known the session when it confirmed. */
function secondTime(due: DueSession, confirmedAt: Seconds): Seconds | undefined {
  const ended = endOf(due)
  if (ended - due.usedAt > MAY_BE_SIGNING_IN) return undefined
  if (isUntried(due)) return confirmedAt + TOLD_AGAIN_AFTER
  // The first attempt, at the end, brought nothing: what has come later than this was the second time.
  const second = ended + TOLD_AGAIN_AFTER
  return confirmedAt < second ? second : undefined
}

async function failed(
  endings: Endings,
  { due, began, claimed, error }: { due: DueSession; began: Seconds; claimed: Seconds; error: unknown },
): Promise<Seconds | undefined> {
  const { provider, sessions } = endings
  const { id, userId, clientId, readOnly } = due
  const at = epochTime()
  const next = nextAttempt(due, began, at)
  const reason = error instanceof TooLate ? 'TimeoutError' : nameOf(error)
  countLogout('failed')
  emit(provider, 'session.logout_failed', { id, userId, clientId, readOnly, reason, retryAt: next })
  if (next === undefined) return settle(endings, due, { logout: 'gaveUp', at })
  // Unless the attempt took so long that another process has begun one. A mark that stays is no write.
  const isOurs = next === claimed || (await sessions.claim(provider.issuer, id, claimed, next))
  return isOurs ? next : undefined
}

/** When to try again after an attempt that began at a time and has failed by now; `undefined` if that was the last one. */
function nextAttempt(due: DueSession, began: Seconds, now: Seconds): Seconds | undefined {
  const ended = endOf(due)
  const passed = began - ended
  if (passed >= GIVEN_UP_AFTER) return undefined
  const pause = isUntried(due) ? PAUSES[0] : pauseAfter(passed)
  return markAt(due, Math.max(now + 1, Math.min(now + (pause ?? 0), ended + GIVEN_UP_AFTER)))
}

/** Derived from the time since the end, so that any process can compute it. */
function pauseAfter(passed: Seconds): Seconds | undefined {
  let start: Seconds = 0
  for (const pause of PAUSES) {
    start += pause
    if (passed < start) return pause
  }
  return PAUSES.at(-1)
}

const endOf = ({ endsAt, revokedAt = endsAt }: DueSession): Seconds => Math.min(endsAt, revokedAt)

/** A mark that is the end of the session means that no one has tried yet. Later marks avoid that time. */
const isUntried = ({ mark, endsAt }: DueSession): boolean => mark === endsAt
const markAt = ({ endsAt }: DueSession, time: Seconds): Seconds => (time === endsAt ? time + 1 : time)
