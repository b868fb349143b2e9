/** Whether the engineer at the door may open an application as the user: asked when the page is shown, and at its button. */
import type { Context } from 'koa'
import { type Account, errors } from 'oidc-provider'
import { epochTime } from '../base/clock.ts'
import { functionFailed, sessionRefused } from '../base/errors.ts'
import { inProvider } from '../provider/accounts.ts'
import { findClient } from '../provider/clients.ts'
import { requestOf } from '../provider/failures.ts'
import { findAccount } from '../provider/grants.ts'
import { storageUnavailable } from '../provider/outage.ts'
import { assertPolicyAllows } from '../provider/policy.ts'
import { endReplayed } from '../records/replay.ts'
import { findRead } from '../tokens/store.ts'
import { isSpent, type SubjectToken, stateOf } from '../tokens/subject-token.ts'
import { getUser, policyRequest, tellRefused } from './arrival.ts'
import { DOOR_CLIENT, isOpen, type OpenClient } from './opt-in.ts'
import type { Session } from './provider.ts'
import type { Sealed, SessionService } from './seal.ts'

/** Someone who is signed in at the provider. */
export type SignedIn = Session & { readonly accountId: string }

/** The session of the browser; `undefined` if no one is signed in. */
export async function signedIn(ctx: Context, { provider }: SessionService): Promise<SignedIn | undefined> {
  const session = await provider.Session.get(ctx).catch((error: unknown) => {
    throw storageUnavailable(error)
  })
  return session.accountId ? (session as SignedIn) : undefined
}

/** Whether the engineer has signed in lately enough, and in a way that is strong enough. */
export function isFresh({ options }: SessionService, session: SignedIn): boolean {
  const { maxAge, acrValues } = options.sessions
  return !session.past(maxAge) && (acrValues.length === 0 || acrValues.includes(session.acr ?? ''))
}

export interface Admitted {
  readonly record: SubjectToken
  readonly client: OpenClient
}

/** Nothing is written, unless someone else shows a token that was used: then what came of it ends. */
export async function admit(
  ctx: Context,
  service: SessionService,
  { brought, session }: { readonly brought: Sealed; readonly session: SignedIn },
): Promise<Admitted> {
  let record: SubjectToken | undefined
  try {
    const { accountId } = session
    record = await findBrought(service, brought)
    if (isSpent(record) && record.actorId !== accountId) {
      await endReplayed(service, record, { by: accountId, request: requestOf(ctx) })
      throw new Replayed('used before')
    }
    const state = stateOf(record, epochTime())
    if (state !== 'active') throw sessionRefused({ private: state })
    if (record.actorId !== accountId) throw sessionRefused({ private: 'bound to another actor' })
    const client = await findOpenClient(service, record)
    const account = await getUser(record, accountsIn(ctx, service))
    await assertPolicyAllows(service.options, policyRequest({ record, account, session }))
    return { record, client }
  } catch (error) {
    const { accountId: actorId } = session
    const clientId = record?.clientId ?? DOOR_CLIENT
    if (!(error instanceof Replayed)) tellRefused(ctx, service, { error, clientId, actorId, record })
    throw error
  }
}

async function findBrought({ provider, store }: SessionService, { id, hash }: Sealed): Promise<SubjectToken> {
  const found = await findRead(store, provider.issuer, { id, hash, purpose: 'session' })
  if (!found) throw sessionRefused({ private: 'unknown' })
  return found
}

async function findOpenClient({ provider }: SessionService, { clientId = '' }: SubjectToken) {
  const client = await findClient(provider, clientId).catch((error: unknown) => {
    throw storageUnavailable(error)
  })
  if (client && isOpen(client)) return client as OpenClient
  throw sessionRefused({ private: 'the client is not open to sessions' })
}

/** The accounts of a request, which stays as it is. */
const accountsIn =
  (ctx: Context, { provider }: SessionService) =>
  (id: string): Promise<Account | undefined> =>
    findAccount(inProvider(provider, Object.create(ctx)), id).catch((cause) => {
      throw functionFailed({ check: 'findAccount', private: 'failed', cause })
    })

/** A use after the spend, by someone else. */
class Replayed extends errors.AccessDenied {}
