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
  // One at a time: a browser that forgot its last one does not leave it behind.
  await endImpersonation(ctx, management)
  const { recordId, subjectToken, expiresIn } = await management.issue({
    userId,
    actorId: engineer.id,
    clientId: supportDesk.client_id,
    resource,
    scope: 'orders:read',
    expiresIn: SUBJECT_TOKEN_LIFE,
    context: { reason, ticketId },
  })
  await rotateSession(ctx, recordId)
  ctx.body = { subjectToken, expiresIn }
}

/** Also when nothing runs: whoever ends twice is not told off. */
export async function endImpersonation(ctx: Context, management: Management): Promise<void> {
  const recordId = runningRecord(ctx)
  const record = recordId && (await management.find(recordId))
  // One that ended by itself stays so: the record shall not say that somebody stopped it.
  if (record && isAlive(record)) await management.revoke(record.id)
  await rotateSession(ctx)
}

function isAlive({ state, accessToken }: RecordItem): boolean {
  return state === 'active' || (state === 'consumed' && Number(accessToken?.expiresAt) > Date.now() / 1000)
}
