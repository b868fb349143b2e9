/** Requests as clients send them, ready to be written to a socket. */
import type { ClientMetadata } from 'oidc-provider'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../src/base/constants.ts'
import { API, BILLING, CLIENTS, MANAGEMENT, SCOPE } from './deployment.ts'
import type { PreparedRequest } from './load.ts'

const placeholderOf = (length: number): string => 'x'.repeat(length)

/** As long as every subject token of this build, so that the length of a body is known before its token. */
const PLACEHOLDER = placeholderOf(69)

const CONTEXT = { ticketId: 'SUP-4711', reason: 'Customer cannot see the invoice' }

export const clientCredentials = tokenRequest(CLIENTS.service, {
  grant_type: 'client_credentials',
  resource: API,
  scope: SCOPE,
})

export const managementToken = tokenRequest(CLIENTS.backend, {
  grant_type: 'client_credentials',
  resource: MANAGEMENT,
  scope: 'subject-tokens:create subject-tokens:read subject-tokens:revoke',
})

/** An exchange whose subject token, of this length, is filled in later. */
export function exchange({ actorToken = '', length = PLACEHOLDER.length } = {}): PreparedRequest {
  const placeholder = placeholderOf(length)
  const parameters = {
    grant_type: TOKEN_EXCHANGE,
    subject_token: placeholder,
    subject_token_type: ACCESS_TOKEN_TYPE,
    resource: API,
    scope: SCOPE,
    ...(actorToken && { actor_token: actorToken, actor_token_type: ACCESS_TOKEN_TYPE }),
  }
  return tokenRequest(CLIENTS.application, parameters, placeholder)
}

/** An API exchanges the access token that it received: this one, or one of this length that is filled in later. */
export function onBehalfOf(token: { readonly value: string } | { readonly length: number }): PreparedRequest {
  const placeholder = 'length' in token ? placeholderOf(token.length) : undefined
  const parameters = {
    grant_type: TOKEN_EXCHANGE,
    subject_token: 'value' in token ? token.value : placeholderOf(token.length),
    subject_token_type: ACCESS_TOKEN_TYPE,
    resource: BILLING,
    scope: SCOPE,
  }
  return tokenRequest(CLIENTS.api, parameters, placeholder)
}

export function issue(token: string): PreparedRequest {
  const body = JSON.stringify({ userId: 'user-1', context: CONTEXT })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return post('/api/subject-tokens', headers, body, { status: 201 })
}

function tokenRequest(
  client: ClientMetadata,
  parameters: Record<string, string>,
  placeholder = PLACEHOLDER,
): PreparedRequest {
  const basic = Buffer.from(`${client.client_id}:${client.client_secret}`).toString('base64')
  const headers = { authorization: `Basic ${basic}`, 'content-type': 'application/x-www-form-urlencoded' }
  return post('/oidc/token', headers, new URLSearchParams(parameters).toString(), {
    status: 200,
    placeholder,
  })
}

function post(
  path: string,
  headers: Record<string, string>,
  body: string,
  { status, placeholder = PLACEHOLDER }: { readonly status: number; readonly placeholder?: string },
): PreparedRequest {
  const head = Object.entries({ host: '127.0.0.1', ...headers, 'content-length': body.length })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
  const [before = '', after] = `POST ${path} HTTP/1.1\r\n${head}\r\n${body}`.split(placeholder)
  return { before, after, status }
}
