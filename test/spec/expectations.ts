/** What is answered, and what the record says afterwards. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { now } from '../../fixtures/clock.ts'
import { show } from '../../fixtures/management.ts'
import { introspect } from '../../fixtures/requests.ts'
import { statusOf, stoppedIndexes } from '../../fixtures/status-lists.ts'
import { uncalledStore } from '../../fixtures/uncalled-store.ts'
import { createImpersonation, type ImpersonationOptions } from '../../src/index.ts'
import { expectDescribed } from './described.ts'
import { made, type Of } from './exchanging.ts'
import { answer, record, type Step, type Steps } from './rule.ts'
import type { Scene } from './scene.ts'
import type { Setting } from './settings.ts'

type Members = Readonly<Record<string, unknown>>

/** As JSON has it: what is `undefined` is absent. */
const asJson = (value: unknown): unknown => (value === undefined ? value : JSON.parse(JSON.stringify(value)))

/** Each of these members, by value. One that is `undefined` is absent. */
export function expectMembers(value: unknown, members: Members): void {
  const text = JSON.stringify(value)
  for (const [name, expected] of Object.entries(members)) {
    const found: unknown = Reflect.get(Object(value), name)
    if (typeof expected === 'function') expect(expected(found), `${name} of ${text}`).to.equal(true)
    else expect(asJson(found), `${name} of ${text}`).to.deep.equal(expected)
  }
}

/** An error, with this text where the rule has one. */
export const answers = (status: number, error: string, description?: string): Step =>
  answer(({ response }) => {
    expect([response.status, response.body?.error], response.text).to.deep.equal([status, error])
    if (description !== undefined)
      expect(response.body).to.deep.equal({ error, error_description: description })
    expect(response.headers.get('cache-control')).to.equal('no-store')
  })

/** Success, with these members. */
export const succeeds = (members: Members = {}, status = 200): Step =>
  answer(({ response }) => {
    expect(response.status, response.text).to.equal(status)
    expectMembers(response.body, members)
  })

/** What operators read. `null`: nothing, because the request did not come that far. */
type Reason = string | null | ((scene: Scene) => string | null)

/** The one event since the request says why. A failure without a reason of its own is told all the same (V9). */
export const because =
  (reason: Reason): Step =>
  (scene) => {
    if (reason === null && scene.response.status >= 500) {
      expect(scene.events.map(({ name }) => name)).to.deep.equal(['impersonation.failed'])
      return
    }
    const told = scene.events.map(({ payload }) => ('reason' in payload ? payload.reason : undefined))
    const expected = typeof reason === 'function' ? reason(scene) : reason
    expect(told, JSON.stringify(scene.events)).to.deep.equal(expected === null ? [] : [expected])
    expectSaidOfCheck(scene)
  }

/** The checks with a reason of their own among those of one text. */
const BY_REASON: readonly [reason: RegExp, check: string][] = [
  [/^the actor is the subject$/, 'actorIsNotSubject'],
  [/^more than \d in the chain$/, 'maxDelegationDepth'],
  [/^more than \d APIs in the chain$/, 'hops'],
  [/^actor_token is required$/, 'requireActor'],
  [/^InvalidTarget$/, 'invalid_target'],
]
const BY_TEXT: Readonly<Record<string, string>> = {
  'subject_token is invalid': 'subject_token',
  'actor_token is invalid': 'actor_token',
  'resource indicator is missing, or unknown': 'target',
  'none of the requested scopes can be granted': 'scope',
  'requested grant type is not allowed for this client': 'request',
}

/** The event names the check, and only the event: the check of a text, or of a reason among those of one text. */
function expectSaidOfCheck({ events, response }: Scene): void {
  const { check, reason } = Object(events[0]?.payload)
  const [, ofReason] = BY_REASON.find(([text]) => text.test(reason)) ?? []
  const expected = ofReason ?? BY_TEXT[response.body?.error_description]
  if (check !== undefined && expected !== undefined) expect(check, reason).to.equal(expected)
}

const READS = /^Executing \([^)]*\): (SELECT|PRAGMA)/

/** The record says what it said before the request, to the last column, and nothing else was written. */
export const changesNothing = record(async (scene) => {
  const written = scene.statements.filter((statement) => !READS.test(statement))
  expect(written, 'the request wrote').to.deep.equal([])
  expect(await scene.row()).to.deep.equal(scene.before.row)
})

/** The record says what it said before the request, to the last column. */
export const recordUnchanged = record(async (scene) => {
  expect(await scene.row()).to.deep.equal(scene.before.row)
})

/** A refusal: the error, the reason for operators (by default the text), and a record that says what it said before. */
export const refused = (
  status: number,
  error: string,
  text?: string,
  reason: Reason = text ?? null,
): Steps => [answers(status, error, text), because(reason), changesNothing]

/** The refusals of the token endpoint, each with its own text. */
export const invalidRequest = (text?: string, reason: Reason = text ?? null): Steps =>
  refused(400, 'invalid_request', text, reason)
export const refusedToken = (reason: Reason): Steps => [
  invalidRequest('subject_token is invalid', reason),
  isLikeAnyOther,
]
export const invalidTarget = (reason: Reason): Steps =>
  refused(400, 'invalid_target', 'resource indicator is missing, or unknown', reason)

let first: string | undefined
/** The response to a bad subject token is the same to the byte, whatever is wrong with it (E55). */
const isLikeAnyOther: Step = ({ response: { status, headers, text } }) => {
  const bytes = JSON.stringify([status, text, ...[...headers].filter(([name]) => name !== 'date')])
  first ??= bytes
  expect(bytes).to.equal(first)
}
/** Of the record. */
export const limitedTo = (...resources: readonly string[]): Steps =>
  refused(
    400,
    'invalid_target',
    `the impersonation is limited to ${resources.join(', ')}`,
    'not among the resources of the record',
  )
export const nothingToGrant = refused(400, 'invalid_scope', 'none of the requested scopes can be granted')
export const notAdmitted = (reason: Reason): Steps =>
  refused(400, 'unauthorized_client', 'the client may not exchange access tokens', reason)
const DENIED = 'the request was denied by policy'
export const denied = (reason: Reason): Steps => refused(400, 'access_denied', DENIED, reason)
/** The same at the management API. */
export const forbidden = (reason: Reason): Steps => refused(403, 'access_denied', DENIED, reason)
export const isServerError = answers(500, 'server_error', 'oops! something went wrong')
export const serverError = (reason: Reason): Steps => [isServerError, because(reason), changesNothing]
/** The refusals of the management API, which are no events. */
export const wrongInput = (text?: string): Steps => invalidRequest(text, null)

/** The management API shows the record with these members. */
export const recordSays = (members: Of<Members>): Step =>
  record(async (scene) => {
    const response = await show(scene.setting, scene.id)
    expect(response.status, response.text).to.equal(200)
    expectDescribed({ method: 'GET', path: `/${scene.id}` }, response)
    expectMembers(response.body, await made(members, scene))
  })

/** A subject token is spent by its one exchange. What an API has received is not: its record says what it said before. */
export const spent = record(async (scene) => {
  if (scene.door !== 'a subject token') {
    expect(await scene.row()).to.deep.equal(scene.before.row)
    return
  }
  const { body } = await show(scene.setting, scene.id)
  expect(body.state, JSON.stringify(body)).to.equal('consumed')
})

/** The claims of the access token in the response: of a JWT its own, of an opaque one those of introspection. */
async function claimsOf({ setting, response }: Scene): Promise<Members> {
  const token: string = response.body.access_token
  return token.includes('.') ? decodeJwt(token) : introspect(setting, token)
}

export const tokenSays = (members: Of<Members>): Step =>
  answer(async (scene) => {
    expect(scene.response.status, scene.response.text).to.equal(200)
    expectMembers(await claimsOf(scene), await made(members, scene))
  })

/** The access token that an exchange has returned ends: it is inactive, or invalid in its status list. */
export const tokenHasEnded: Step = (scene) => expectLife(scene, false)
export const tokenLivesOn: Step = (scene) => expectLife(scene, true)

const lastLooks = new WeakMap<Setting, number>()

/** A process knows its lists for a second, and less where the clock has gone back: what is asked for next is read anew. */
export function lookAgain(scene: Scene): void {
  const { setting } = scene
  scene.pass(2)
  const age = now() - (lastLooks.get(setting) ?? 0)
  if (age >= 0 && age < 2) scene.pass(2)
  lastLooks.set(setting, now())
}

/** The indexes that list 0 shows. */
export function stoppedNow(scene: Scene): Promise<number[]> {
  lookAgain(scene)
  return stoppedIndexes(scene.setting)
}

async function expectLife(scene: Scene, lives: boolean): Promise<void> {
  const { setting, kept } = scene
  const { accessToken = '' } = kept
  if (!accessToken.includes('.')) {
    expect((await introspect(setting, accessToken)).active).to.equal(lives)
    return
  }
  expect((await stoppedNow(scene)).includes(statusOf(accessToken).idx)).to.equal(!lives)
}

/** The token was never read: neither the store nor the tokens of the provider were asked. */
export const notLookedUp: Step = ({ calls }) => {
  expect(calls.filter((call) => /^(store|AccessToken)\./.test(call))).to.deep.equal([])
}

/** The calls of the store and the adapter that write, in their order. */
export const wrote =
  (...calls: readonly string[]): Step =>
  (scene) => {
    const writing = scene.calls.filter((call) =>
      /\.(insert|upsert|destroy|consume|re(cordReplay|vok)\w*)$/.test(call),
    )
    expect(writing).to.deep.equal(calls)
  }

/** What does not start. There is no request, and no record. */
export const refusesToStart = (options: Partial<ImpersonationOptions>, text: string): Steps => [
  answer(() => {
    expect(() => createImpersonation({ store: uncalledStore, ...options })).to.throw(TypeError, text)
  }),
  record(() => {}),
]
