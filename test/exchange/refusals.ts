/** What all refused exchanges have in common (protocol.md §3.1, §6): one event, and the subject token stays usable. */
import { expect } from 'chai'
import { actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import type { Deployment, RecordedEvent } from '../../fixtures/deployment.ts'
import type { HttpResponse } from '../../fixtures/http.ts'
import { ACTOR_TOKEN_REFUSED } from '../../fixtures/refused.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import type { ImpersonationEvents } from '../../src/events.ts'

export interface Refusal {
  /** Members of the issuance request. */
  readonly issued?: Readonly<Record<string, unknown>>
  /** The request that is refused. */
  readonly attempt: (subjectToken: string) => Promise<HttpResponse>
  /** A request that succeeds afterwards: the plain one by default. */
  readonly valid?: (subjectToken: string) => Promise<HttpResponse>
  readonly status?: number
  readonly error: string
  readonly description?: string
  /** The check that the one event names. `null` if the provider refuses before the handler, and nothing is emitted. */
  readonly check: string | null
}

export async function expectRefused(deployment: Deployment, refusal: Refusal): Promise<HttpResponse> {
  const { issued, attempt, status = 400, error, description, check } = refusal
  const { valid = (subjectToken) => exchange(deployment, { subject_token: subjectToken }) } = refusal
  const { subjectToken, id } = await issue(deployment, issued)

  const before = deployment.events.length
  const response = await attempt(subjectToken)
  const events = deployment.events.slice(before)

  expect(response.status, response.text).to.equal(status)
  expect(response.body.error, response.text).to.equal(error)
  expect(response.body).not.to.have.property('access_token')
  if (description !== undefined) expect(response.body.error_description).to.equal(description)
  expect(response.headers.get('cache-control')).to.equal('no-store')
  expectOneRefusal(events, { id, error, check })

  const again = await valid(subjectToken)
  expect(again.status, `the subject token is spent: ${again.text}`).to.equal(200)
  return response
}

function expectOneRefusal(
  events: readonly RecordedEvent[],
  { id, error, check }: { id: string; error: string; check: string | null },
): void {
  if (check === null) {
    expect(events).to.deep.equal([])
    return
  }
  expect(events).to.have.lengthOf(1)
  const [event] = events
  if (event?.name !== 'subject_token.refused') throw new Error(`unexpected event ${event?.name}`)
  expect(event.payload).to.include({ stage: 'exchange', error, check })
  expect(event.payload.id ?? id).to.equal(id)
}

/** The events since `before`, with the type of the one expected. */
export function onlyEvent<Name extends keyof ImpersonationEvents>(
  deployment: Deployment,
  name: Name,
  before = 0,
): ImpersonationEvents[Name] {
  const events = deployment.events.slice(before).filter((event) => !event.name.endsWith('.issued'))
  expect(events.map((event) => event.name)).to.deep.equal([name])
  return events[0]?.payload as unknown as ImpersonationEvents[Name]
}

interface RefusedActor {
  readonly check?: string
  readonly userId?: string
  /** Whose actor token works with the subject token. */
  readonly validActor?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Expects this actor token to be refused with the fixed text, and the subject token to work with a valid one. */
export async function expectActorRefused(
  deployment: Deployment,
  actor: string,
  { check = 'actor_token', userId = 'alice', validActor = 'carol', headers = {} }: RefusedActor = {},
): Promise<void> {
  const valid = await actorToken(deployment, { accountId: validActor })
  await expectRefused(deployment, {
    issued: { userId },
    attempt: (subjectToken) =>
      exchange(deployment, { subject_token: subjectToken, ...withActor(actor) }, { headers }),
    valid: (subjectToken) => exchange(deployment, { subject_token: subjectToken, ...withActor(valid) }),
    error: ACTOR_TOKEN_REFUSED.error,
    description: ACTOR_TOKEN_REFUSED.error_description,
    check,
  })
}
