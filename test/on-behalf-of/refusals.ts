/** What all refusals of a received token have in common (protocol.md §8): one event, one text, and nothing is written. */
import { expect } from 'chai'
import type { Deployment } from '../../fixtures/deployment.ts'
import type { HttpResponse } from '../../fixtures/http.ts'
import { SUBJECT_TOKEN_REFUSED } from '../../fixtures/refused.ts'
import type { AccessTokenRefused } from '../../src/events.ts'

interface Expected {
  /** The reason that the operator reads. */
  readonly reason: string
  readonly error?: string
  readonly description?: string
  readonly check?: string
  readonly status?: number
}

/** Expects one event and one response: by default that of a bad subject token. Returns the event. */
export async function expectNotPassedOn(
  deployment: Deployment,
  attempt: () => Promise<HttpResponse>,
  {
    reason,
    error = SUBJECT_TOKEN_REFUSED.error,
    description = SUBJECT_TOKEN_REFUSED.error_description,
    check = 'subject_token',
    status = 400,
  }: Expected,
): Promise<AccessTokenRefused> {
  const [events, statements] = [deployment.events.length, deployment.database.statements.length]
  const response = await attempt()
  expect([response.status, response.body], response.text).to.deep.equal([
    status,
    { error, error_description: description },
  ])
  expect(response.headers.get('cache-control')).to.equal('no-store')
  const told = deployment.events.slice(events)
  expect(told.map(({ name }) => name)).to.deep.equal(['access_token.refused'])
  const [{ payload } = expect.fail()] = told
  expect(payload).to.include({ stage: 'onBehalfOf', error, check, reason })
  const written = deployment.database.statements
    .slice(statements)
    .filter((sql) => !/^Executing \([^)]*\): SELECT/.test(sql))
  expect(written, 'a refusal wrote').to.deep.equal([])
  return payload as AccessTokenRefused
}

export const TARGET = {
  error: 'invalid_target',
  description: 'resource indicator is missing, or unknown',
  check: 'target',
}
export const UNAUTHORIZED = {
  error: 'unauthorized_client',
  description: 'the client may not exchange access tokens',
  check: 'request',
}
export const SCOPE = {
  error: 'invalid_scope',
  description: 'none of the requested scopes can be granted',
  check: 'scope',
  reason: 'none of the requested scopes can be granted',
}
