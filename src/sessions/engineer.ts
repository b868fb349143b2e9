/** Whoever opened a session can lose it: by their account, and by their own sign-in at the provider (protocol.md §10.5). */
import { callDeployment } from '../callbacks/call.ts'
import { epochTime, type Seconds } from '../clock.ts'
import type { Service } from '../provider/settings.ts'
import { lookupIn } from '../records/records.ts'
import { revokeSubjectToken } from '../records/stop.ts'
import type { DueSession } from '../subject-tokens/store.ts'
import { recordIdOf, sessionName } from './names.ts'

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
  service.provider.on('session.destroyed', ({ uid, accountId }) => {
    if (accountId === undefined || recordIdOf(uid) !== undefined) return
    // No one waits for it. What storage keeps from ending here ends in time.
    endOpenedBy(service, { uid, accountId }).catch(() => {})
  })
}

interface SignIn {
  readonly uid: string
  readonly accountId: string
}

async function endOpenedBy(service: Service, { uid, accountId }: SignIn): Promise<void> {
  const { provider, store } = service
  const filter = { actorId: [accountId], live: true } as const
  let cursor: string | undefined
  do {
    const page = { limit: PAGE, now: epochTime(), ...(cursor !== undefined && { cursor }) }
    const { tokens, next } = await store.list(provider.issuer, filter, page)
    for (const { id, purpose } of tokens)
      if (purpose === 'session' && (await signInOf(service, id)) === uid) await signOut(service, id)
    cursor = next
  } while (cursor !== undefined)
}

/** The `uid` of the engineer's session that has opened this one. */
async function signInOf({ provider }: Service, id: string): Promise<unknown> {
  const session = await provider.Session.findByUid(sessionName(id))
  return session?.state?.signIn
}

/**
 * Once a minute, of all processes together: whether there is still an account of the engineer, and whether someone else has
 * signed in in that browser.
 *
 * @throws what the deployment or storage throws. Then nothing has ended.
 */
export async function askAboutEngineer(service: Service, due: DueSession): Promise<void> {
  const { provider, options } = service
  const { id, actorId, usedAt, endsAt, revokedAt } = due
  const now = epochTime()
  const minute = Math.floor((now - usedAt) / MINUTE)
  if (actorId === undefined || revokedAt !== undefined || endsAt <= now || minute < 1) return
  // The adapter writes it once: of any number of processes, one asks in this minute.
  if (!(await provider.ReplayDetection.unique(ASKED, `${id}.${minute}`, now + 2 * MINUTE))) return
  const account = await callDeployment('findAccount', options.customClaimsTimeout, () =>
    lookupIn(provider).findAccount(actorId),
  )
  if (account?.accountId !== actorId) return endOfGone(service, id)
  const uid = await signInOf(service, id)
  const signedIn = typeof uid === 'string' ? await provider.Session.findByUid(uid) : undefined
  if (signedIn?.accountId !== undefined && signedIn.accountId !== actorId) await signOut(service, id)
}

const ASKED = 'oidc-provider-impersonation: the engineer of a session'
