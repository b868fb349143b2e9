/** Starting and stopping an impersonation. This is where the integrator decides. */
import type { Context } from 'koa'
// Yours: 'oidc-provider-impersonation-client'.
import type { ImpersonationClient } from '../../packages/client/src/index.ts'
import { findPerson, whyNotViewable } from '../accounts.ts'
import { supportDesk } from '../clients.ts'
import { engineerOf } from './authenticate.ts'
import { idOf, openView, shown, unlessGone } from './record.ts'
import { denied, invalidRequest, notFound } from './refusal.ts'
import { readImpersonationRequest, readStopRequest } from './requests.ts'
import { rotateSession, runningRecord } from './session.ts'

/** Seconds: the page exchanges the token at once. */
const SUBJECT_TOKEN_LIFE = 60

/** The engineer has ended it. */
const SELF = { cause: 'self' } as const

interface Reach {
  /** The APIs that the impersonation may reach, in one step or in several. */
  readonly resource: readonly string[]
  readonly log: (entry: object) => void
}

export async function startImpersonation(
  ctx: Context,
  impersonation: ImpersonationClient,
  { resource, log }: Reach,
): Promise<void> {
  const { userId, reason, ticketId } = await readImpersonationRequest(ctx)
  const engineer = engineerOf(ctx)
  const customer = findPerson(userId)
  if (!customer) throw notFound('There is no such user.')
  const whyNot = whyNotViewable(customer)
  if (whyNot) {
    log({ event: 'backend.denied', userId, actorId: engineer.id, ticketId })
    throw denied(whyNot)
  }
  const former = await openView(ctx, impersonation)
  const continues = former?.userId === userId ? former.id : undefined
  const { id, subjectToken, expiresIn } = await impersonation.issue({
    userId,
    actorId: engineer.id,
    clientId: supportDesk.client_id,
    resource,
    scope: 'orders:read payments:read',
    expiresIn: SUBJECT_TOKEN_LIFE,
    context: { reason, ticketId, ...(continues && { continues }) },
  })
  if (former) {
    // One view at a time, even if the page has forgotten the former one. Of another customer, it does not go on.
    const cause = continues ? ({ cause: 'continued', continuedBy: id } as const) : SELF
    await impersonation.stop({ id: former.id, by: engineer.id, ...cause }).catch(unlessGone)
  }
  await rotateSession(ctx, id)
  // The page uses this handle later. It gives no access.
  ctx.set('Location', `/backend/api/impersonations/${id}`)
  ctx.body = { subjectToken, expiresIn }
}

/**
 * Stops any recorded impersonation, no matter who started it, and says who has stopped it and why: engineers need no
 * reason to end their own. The record of one that has ended by itself, or was stopped before, stays as it is.
 */
export async function stopImpersonation(ctx: Context, impersonation: ImpersonationClient): Promise<void> {
  const id = idOf(ctx)
  const { reason } = await readStopRequest(ctx)
  const engineer = engineerOf(ctx)
  const running = runningRecord(ctx)
  const isOwn = running === id || (await impersonation.get(id)).actorId === engineer.id
  if (!isOwn && reason === undefined) throw invalidRequest('reason is required')
  await impersonation.stop({ id, by: engineer.id, reason, ...(isOwn && SELF) })
  await rotateSession(ctx, running === id ? undefined : running)
  ctx.body = shown(ctx, await impersonation.get(id))
}
