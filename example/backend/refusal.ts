/** Every error response of the backend. Only this file builds them. */
import type { Context, Middleware } from 'koa'

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

/** What went wrong between the backend and the provider is for the operator. The caller can only try again. */
export const unavailable = () =>
  new Refusal(503, 'temporarily_unavailable', 'the identity provider cannot be reached', {
    'Retry-After': '5',
  })

export const sendRefusals: Middleware = async (ctx: Context, next) => {
  ctx.set({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' })
  try {
    await next()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    ctx.status = error.status
    ctx.set(error.headers)
    ctx.body = { error: error.code, error_description: error.message }
  }
}
