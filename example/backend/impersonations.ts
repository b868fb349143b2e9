/** Starting and stopping an impersonation. This is where the integrator decides. */
import type { Context } from 'koa'
// Yours: 'oidc-provider-impersonation-client'.
import type { ImpersonationClient } from '../../packages/client/src/index.ts'
import { findPerson, whyNotViewable } from '../accounts.ts'
import { supportDesk } from '../clients.ts'
import { engineerOf } from './authenticate.ts'
import { idOf, shown, unlessGone } from './record.ts'
import { denied, notFound } from './refusal.ts'
import { readImpersonationRequest, readStopRequest } from './requests.ts'
import { rotateSession, runningRecord } from './session.ts'

/** Seconds: the page exchanges the token at once. */
const SUBJECT_TOKEN_LIFE = 60

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
  const { id, subjectToken, expiresIn } = await impersonation.issue({
    userId,
    actorId: engineer.id,
    clientId: supportDesk.client_id,
    resource,
    scope: 'orders:read payments:read',
    expiresIn: SUBJECT_TOKEN_LIFE,
    context: { reason, ticketId },
  })
  await stopFormer(ctx, impersonation)
  await rotateSession(ctx, id)
  // The page uses this handle later. It gives no access.
  ctx.set('Location', `/backend/api/impersonations/${id}`)
  ctx.body = { subjectToken, expiresIn }
}

/** Stops the previous impersonation of this browser, even if the page has forgotten it. */
async function stopFormer(ctx: Context, impersonation: ImpersonationClient): Promise<void> {
  const id = runningRecord(ctx)
  if (!id) return
  const stop = { id, by: engineerOf(ctx).id, reason: 'The next view has started' }
  await impersonation.stop(stop).catch(unlessGone)
}

/**
 * Stops any recorded impersonation, no matter who started it, and says who has stopped it and why. The record of one
 * that has ended by itself, or was stopped before, stays as it is.
 */
export async function stopImpersonation(ctx: Context, impersonation: ImpersonationClient): Promise<void> {
  const id = idOf(ctx)
  const { reason } = await readStopRequest(ctx)
  await impersonation.stop({ id, by: engineerOf(ctx).id, reason })
  const running = runningRecord(ctx)
  await rotateSession(ctx, running === id ? undefined : running)
  ctx.body = shown(await impersonation.get(id))
}
