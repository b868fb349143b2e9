/** The bodies of the requests, checked member by member. */
import type { Context } from 'koa'
import getRawBody from 'raw-body'
import { invalidRequest } from './refusal.ts'

const MAX_CHARACTERS = 200

const REQUIRED = ['userId', 'reason', 'ticketId'] as const

/** Of `POST /request-impersonation`: a view in the desk only reads. */
export const readImpersonationRequest = async (ctx: Context) => textsOf(await readJson(ctx), REQUIRED)

/** Of `POST /request-session`. Who wants to change things says why, beside the reason to look. */
export async function readSessionRequest(
  ctx: Context,
): Promise<Record<(typeof REQUIRED)[number], string> & { readonly writeReason?: string }> {
  const body = await readJson(ctx)
  return textsOf(body, 'writeReason' in body ? [...REQUIRED, 'writeReason'] : REQUIRED)
}

/** Of `POST /impersonations/{id}/stop`: engineers end their own without a reason. */
export async function readStopRequest(ctx: Context): Promise<{ readonly reason?: string }> {
  const body = await readJson(ctx)
  return textsOf(body, Object.keys(body).length > 0 ? ['reason'] : [])
}

/** These, and no other members. */
function textsOf<Field extends string>(body: Readonly<Record<string, unknown>>, fields: readonly Field[]) {
  const known = new Set<string>(fields)
  if (Object.keys(body).some((member) => !known.has(member)))
    throw invalidRequest('the body has an unknown member')
  const texts = fields.map((field) => [field, textOf(field, body[field])])
  return Object.fromEntries(texts) as Record<Field, string>
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
  const read = getRawBody(ctx.req, { limit: '4kb', encoding: 'utf-8' })
  const value: unknown = await read.then(JSON.parse).catch((error) => {
    if (error instanceof SyntaxError) return undefined
    throw error.type === 'entity.too.large' ? invalidRequest('the body is too large', 413) : error
  })
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidRequest('the body must be a JSON object')
  }
  return { ...value }
}
