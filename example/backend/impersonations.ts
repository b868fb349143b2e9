/** Starting and ending an impersonation. This is where the integrator decides. */
import type { Context } from 'koa'
import { findPerson, whyNotViewable } from '../accounts.ts'
import { supportDesk } from '../clients.ts'
import { engineerOf } from './authenticate.ts'
import type { Management, RecordItem } from './management.ts'
import { denied, notFound } from './refusal.ts'
import { readImpersonationRequest } from './requests.ts'
import { rotateSession, runningRecord } from './session.ts'

/** Seconds: the page exchanges the token at once. */
const SUBJECT_TOKEN_LIFE = 60

interface Target {
  readonly resource: string
  readonly log: (entry: object) => void
}

export async function startImpersonation(ctx: Context, management: Management, { resource, log }: Target) {
  const { userId, reason, ticketId } = await readImpersonationRequest(ctx)
  const engineer = engineerOf(ctx)
  const customer = findPerson(userId)
  if (!customer) throw notFound('There is no such user.')
  const whyNot = whyNotViewable(customer)
  if (whyNot) {
    log({ event: 'backend.denied', userId, actorId: engineer.id, ticketId })
    throw denied(whyNot)
  }
  const { recordId, subjectToken, expiresIn } = await management.issue({
    userId,
    actorId: engineer.id,
    clientId: supportDesk.client_id,
    resource,
    scope: 'orders:read',
    expiresIn: SUBJECT_TOKEN_LIFE,
    context: { reason, ticketId },
  })
  // End the previous impersonation of this browser, even if the page has forgotten it.
  const former = runningRecord(ctx)
  if (former) await endIfAlive(management, former)
  await rotateSession(ctx, recordId)
  // The page uses this handle later. It gives no access.
  ctx.set('Location', `/backend/api/impersonations/${recordId}`)
  ctx.body = { subjectToken, expiresIn }
}

/** Ends any recorded impersonation, no matter who started it. Ending it twice is not an error. */
export async function endImpersonation(ctx: Context, management: Management): Promise<void> {
  const { id } = ctx.params
  if (!/^[\w-]{1,64}$/.test(id) || !(await endIfAlive(management, id)))
    throw notFound('There is no such record.')
  const running = runningRecord(ctx)
  await rotateSession(ctx, running === id ? undefined : running)
  ctx.status = 204
}

/** Resolves to whether there is such a record. */
async function endIfAlive(management: Management, recordId: string): Promise<boolean> {
  const record = await management.find(recordId)
  // Leave one that ended by itself alone: the record should not say that someone stopped it.
  if (record && isAlive(record)) await management.revoke(recordId)
  return record !== undefined
}

function isAlive({ state, accessToken }: RecordItem): boolean {
  return state === 'active' || (state === 'consumed' && Number(accessToken?.expiresAt) > Date.now() / 1000)
}
