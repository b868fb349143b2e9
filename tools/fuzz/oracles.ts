/** What is true of every response, whatever was asked (docs/protocol.md §2.4, §3.2). */
import { expect } from 'chai'
import type { HttpResponse } from '../../fixtures/http.ts'
import type { Secrets } from './secrets.ts'

/** A response that no cache keeps and that tells no secret; `allowed` are the statuses it may have. */
export function expectResponse(secrets: Secrets, response: HttpResponse, allowed: readonly number[]): void {
  expect(allowed, `status of ${response.text.slice(0, 300)}`).to.include(response.status)
  expect(response.headers.get('cache-control'), `Cache-Control of a ${response.status}`).to.equal('no-store')
  expectNoSecret(secrets, response)
}

export function expectNoSecret(secrets: Secrets, { text, headers, status }: HttpResponse): void {
  const whole = [...headers].map(([name, value]) => `${name}: ${value}`).join('\n')
  expect(secrets.foundIn(`${whole}\n${text}`), `a token in a response with status ${status}`).to.equal(
    undefined,
  )
}

/** The body of an error: `error` and `error_description`, and nothing else but the `scope` of the provider's own. */
export function expectError(response: HttpResponse): { error: string; error_description: string } {
  const { body, text, status } = response
  expect(response.headers.get('content-type'), `type of a ${status}`).to.match(/^application\/json(;|$)/)
  expect(body, `the ${status} ${text.slice(0, 100)}`).to.be.an('object')
  expect(body.error, 'error').to.match(/^[a-z_]{1,64}$/)
  expect(body.error_description, 'error_description').to.be.a('string').and.not.equal('')
  expect(Object.keys(body).filter((name) => !MEMBERS.includes(name))).to.deep.equal([])
  return body
}

const MEMBERS = ['error', 'error_description', 'scope']
