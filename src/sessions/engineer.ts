/** The engineer who opened a session can lose it: with the account, or with the sign-in at the provider (protocol.md §10.5). */

import { epochTime, type Seconds } from '../base/clock.ts'
import { isAccountOf } from '../provider/accounts.ts'
import { callDeployment } from '../provider/deployment-functions.ts'
import { emitFailureAt } from '../provider/failures.ts'
import type { Service } from '../provider/settings.ts'
import { lookupIn } from '../records/records.ts'
import { revokeSubjectToken } from '../records/stop.ts'
import type { DueSession } from '../tokens/store.ts'
import { recordIdOf, sessionName } from './provider.ts'

/** The part of the engineer's session that a headless session keeps, so that a sign-out ends it. */
export interface SignIn {
  readonly uid: string
  /** When that session would expire, as of the arrival. */
  readonly exp: Seconds
}

/** Between two questions about the engineer of one session. */
const MINUTE: Seconds = 60
const PAGE = 100

/** Ends a session whose engineer `findAccount` knows no more. */
export async function endOfGone(service: Service, id: string): Promise<void> {
  const reason = "the engineer's account is gone or disabled"
  await revokeSubjectToken(service, id, { cause: 'host', reason })
}

const signOut = (service: Service, id: string) => revokeSubjectToken(service, id, { cause: 'signedOut' })

/** From now on, a sign-out at the provider ends what that sign-in has opened. Its expiry is none. */
export function followSignOuts(service: Service): void {
  const { provider } = service
  provider.on('session.destroyed', ({ uid, accountId }) => {
    if (accountId === undefined || recordIdOf(uid) !== undefined) return
    // No one waits for it. What fails here is found by the question of the next minute.
    endOpenedBy(service, { uid, accountId }).catch((thrown: unknown) => {
      const failure = { status: 503, error: 'temporarily_unavailable', thrown }
      emitFailureAt({ provider, door: 'session' }, { get: () => '' }, failure)
    })
  })
}

async function endOpenedBy(
  service: Service,
  { uid, accountId }: { readonly uid: string; readonly accountId: string },
): Promise<void> {
  const { provider, store } = service
  const filter = { actorId: [accountId], live: true } as const
  let cursor: string | undefined
  do {
    const page = { limit: PAGE, now: epochTime(), ...(cursor !== undefined && { cursor }) }
    const { tokens, next } = await store.list(provider.issuer, filter, page)
    for (const { id, purpose } of tokens)
      if (purpose === 'session' && (await signInOf(service, id))?.uid === uid) await signOut(service, id)
    cursor = next
  } while (cursor !== undefined)
}

/** The engineer's session that has opened this one, as it was at the arrival. */
async function signInOf({ provider }: Service, id: string): Promise<SignIn | undefined> {
  const session = await provider.Session.findByUid(sessionName(id))
  return session?.state?.signIn as SignIn | undefined
}

/**
 * Once a minute, of all processes together: whether there is still an account of the engineer, whether that sign-in is still
 * there, and whether someone else has signed in in that browser.
 *
 * @throws what the deployment or storage throws. Then nothing has ended.
 */
export async function askAboutEngineer(service: Service, due: DueSession): Promise<void> {
  const { provider, options } = service
  const { id, actorId, usedAt, endsAt, revokedAt } = due
  const now = epochTime()
  if (actorId === undefined || revokedAt !== undefined || endsAt <= now) return
  const minute = Math.floor((now - usedAt) / MINUTE)
  // The adapter writes it once: of any number of processes, one asks in this minute.
  if (!(await provider.ReplayDetection.unique(ASKED, `${id}.${minute}`, now + 2 * MINUTE))) return
  const account = await callDeployment('findAccount', options.customClaimsTimeout, () =>
    lookupIn(provider).findAccount(actorId),
  )
  if (!isAccountOf(account, actorId)) return endOfGone(service, id)
  const signIn = await signInOf(service, id)
  if (signIn && (await isOver(service, signIn, actorId))) await signOut(service, id)
}

/** Whether someone has signed out there, or someone else has signed in. */
async function isOver({ provider }: Service, { uid, exp }: SignIn, actorId: string): Promise<boolean> {
  const session = await provider.Session.findByUid(uid)
  // The end of a session is only ever put off: one that is gone before the end it had has not expired.
  if (!session) return epochTime() < exp
  return session.accountId !== undefined && session.accountId !== actorId
}

const ASKED = 'oidc-provider-impersonation: the engineer of a session'
