/** Every error response of the backend. Only this file builds them. */
import type { Context, Middleware } from 'koa'
// Yours: 'oidc-provider-impersonation-client'.
import { ImpersonationError } from '../../packages/client/src/index.ts'

export class Refusal extends Error {
  readonly status: number
  readonly code: string
  readonly headers: Readonly<Record<string, string>>
  constructor(status: number, code: string, description: string, headers: Record<string, string> = {}) {
    super(description)
    this.status = status
    this.code = code
    this.headers = headers
  }
}

/** RFC 6750 §3: a request without credentials gets a bare challenge. */
export const missingToken = () =>
  new Refusal(401, 'invalid_token', 'an access token is required', { 'WWW-Authenticate': 'Bearer' })

export const invalidToken = () =>
  new Refusal(401, 'invalid_token', 'the access token is invalid', {
    'WWW-Authenticate': 'Bearer error="invalid_token", error_description="the access token is invalid"',
  })

export const invalidRequest = (description: string, status = 400) =>
  new Refusal(status, 'invalid_request', description)

export const denied = (why: string) => new Refusal(403, 'access_denied', why)

export const notFound = (description: string) => new Refusal(404, 'not_found', description)

type Log = (entry: object) => void

/** What went wrong between the backend and the provider is for the operator. The caller can only try again. */
export function unavailable(log: Log, error: unknown): Refusal {
  // The message only: other members of the error may contain a token.
  log({ event: 'backend.provider_unavailable', reason: error instanceof Error ? error.message : 'unknown' })
  const description = 'the identity provider cannot be reached'
  return new Refusal(503, 'temporarily_unavailable', description, { 'Retry-After': '5' })
}

/** Errors of the management API that the engineer can do something about. */
const FOR_THE_ENGINEER = ['invalid_request', 'access_denied', 'not_found']

function refusalOf(error: unknown, log: Log): Refusal | undefined {
  if (error instanceof Refusal) return error
  if (!(error instanceof ImpersonationError)) return undefined
  const { status, code, description } = error
  return FOR_THE_ENGINEER.includes(code) ? new Refusal(status, code, description) : unavailable(log, error)
}

export const sendRefusals =
  (log: Log): Middleware =>
  async (ctx: Context, next) => {
    ctx.set({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' })
    try {
      await next()
    } catch (error) {
      const refusal = refusalOf(error, log)
      if (!refusal) throw error
      ctx.status = refusal.status
      ctx.set(refusal.headers)
      ctx.body = { error: refusal.code, error_description: refusal.message }
    }
  }
