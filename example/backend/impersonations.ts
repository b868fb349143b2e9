/** Starting and stopping an impersonation. This is where the integrator decides. */
import type { Context } from 'koa'
// Yours: 'oidc-provider-impersonation-client'.
import type { ImpersonationClient, IssuedSubjectToken } from '../../packages/client/src/index.ts'
import { findPerson, type Person, whyNotViewable } from '../accounts.ts'
import { shop, supportDesk } from '../clients.ts'
import { engineerOf } from './authenticate.ts'
import { idOf, openView, shown, unlessGone } from './record.ts'
import { denied, invalidRequest, notFound } from './refusal.ts'
import { readImpersonationRequest, readSessionRequest, readStopRequest } from './requests.ts'
import { rotateSession, runningRecord } from './session.ts'

/** Seconds: the page exchanges the token at once. */
const SUBJECT_TOKEN_LIFE = 60
/** Seconds: the engineer may have to sign in once more, and reads a page. */
const TO_OPEN = 300

/** The engineer has ended it. */
const SELF = { cause: 'self' } as const

interface Reach {
  /** The APIs that the impersonation may reach, in one step or in several. */
  readonly resource: readonly string[]
  readonly log: (entry: object) => void
}

/** A view in the desk itself, which exchanges the token. */
export async function startImpersonation(
  ctx: Context,
  impersonation: ImpersonationClient,
  { resource, log }: Reach,
): Promise<void> {
  const { reason, ticketId, ...whom } = await readImpersonationRequest(ctx)
  const { customer, actorId } = allowed(ctx, { ...whom, ticketId, log })
  const former = await openView(ctx, impersonation)
  const continues = former && !former.use && former.userId === customer.id ? former.id : undefined
  const issued = await impersonation.issue({
    userId: customer.id,
    actorId,
    clientId: supportDesk.client_id,
    resource,
    scope: 'orders:read payments:read',
    expiresIn: SUBJECT_TOKEN_LIFE,
    // As that which it continues.
    readOnly: true,
    context: { reason, ticketId, ...(continues && { continues }) },
  })
  const cause = continues ? ({ cause: 'continued', continuedBy: issued.id } as const) : SELF
  // One view at a time, even if the page has forgotten the former one. Of another customer, it does not go on.
  if (former) await impersonation.stop({ id: former.id, by: actorId, ...cause }).catch(unlessGone)
  await hand(ctx, issued)
}

/** The shop itself, as the customer: the page brings the token to the door of the provider. */
export async function startSession(
  ctx: Context,
  impersonation: ImpersonationClient,
  { log }: Pick<Reach, 'log'>,
): Promise<void> {
  const { userId, ...context } = await readSessionRequest(ctx)
  const { customer, actorId } = allowed(ctx, { userId, ticketId: context.ticketId, log })
  const former = await openView(ctx, impersonation)
  const issued = await impersonation.issueSession({
    userId: customer.id,
    actorId,
    clientId: shop.client_id,
    expiresIn: TO_OPEN,
    // Unless the engineer has said why that is not enough. The provider asks once more (`isAllowed`).
    readOnly: context.writeReason === undefined,
    context,
  })
  if (former) await impersonation.stop({ id: former.id, by: actorId, ...SELF }).catch(unlessGone)
  await hand(ctx, issued)
}

interface Asked {
  readonly userId: string
  readonly ticketId: string
  readonly log: Reach['log']
}

/** Whom the engineer may view: this is the decision. */
function allowed(
  ctx: Context,
  { userId, ticketId, log }: Asked,
): { readonly customer: Person; readonly actorId: string } {
  const { id: actorId } = engineerOf(ctx)
  const customer = findPerson(userId)
  if (!customer) throw notFound('There is no such user.')
  const whyNot = whyNotViewable(customer)
  if (whyNot) {
    log({ event: 'backend.denied', userId, actorId, ticketId })
    throw denied(whyNot)
  }
  return { customer, actorId }
}

async function hand(ctx: Context, { id, subjectToken, expiresIn }: IssuedSubjectToken): Promise<void> {
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
