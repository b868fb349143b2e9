/** The bodies of the requests, checked member by member. */
import type { Context } from 'koa'
import getRawBody from 'raw-body'
import { invalidRequest } from './refusal.ts'

const MAX_CHARACTERS = 200

/** Of `POST /request-impersonation`, and of `POST /request-session`. */
export const readImpersonationRequest = (ctx: Context) => readTexts(ctx, ['userId', 'reason', 'ticketId'])

/** Of `POST /impersonations/{id}/stop`. */
export async function readStopRequest(ctx: Context): Promise<{ readonly reason?: string }> {
  const { reason } = await readMembers(ctx, ['reason'])
  return reason === undefined ? {} : { reason: textOf('reason', reason) }
}

async function readTexts<Field extends string>(
  ctx: Context,
  fields: readonly Field[],
): Promise<Record<Field, string>> {
  const body = await readMembers(ctx, fields)
  const texts = fields.map((field) => [field, textOf(field, body[field])])
  return Object.fromEntries(texts)
}

/** A body that has no other members than these. */
async function readMembers(ctx: Context, fields: readonly string[]): Promise<Record<string, unknown>> {
  const body = await readJson(ctx)
  for (const member of Object.keys(body)) {
    if (!fields.includes(member)) throw invalidRequest('the body has an unknown member')
  }
  return body
}

function textOf(field: string, value: unknown): string {
  const trimmed = typeof value === 'string' ? value.trim() : ''
  if (trimmed === '' || trimmed.length > MAX_CHARACTERS) {
    throw invalidRequest(`${field} must be text of 1 to ${MAX_CHARACTERS} characters`)
  }
  return trimmed
}

async function readJson(ctx: Context): Promise<Record<string, unknown>> {
  if (!ctx.is('application/json')) throw invalidRequest('the body must be application/json', 415)
  const body = await getRawBody(ctx.req, { limit: '4kb', encoding: 'utf-8' }).catch((error) => {
    throw error.type === 'entity.too.large' ? invalidRequest('the body is too large', 413) : error
  })
  const value = parsed(body)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidRequest('the body must be a JSON object')
  }
  return { ...value }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
