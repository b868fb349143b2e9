/**
 * Calls that meet, and the order that they had: what they answer, and what is found afterwards, must be what a store in
 * memory answers and shows when it makes the same calls one after the other.
 */

import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import type {
  DueSession,
  Revoked,
  StoredSubjectToken,
  SubjectTokenFilter,
  SubjectTokenStore,
} from 'oidc-provider-impersonation'
import { memoryStoreOf } from '../memory-store.ts'
import { type Call, isBefore, meet, timed } from './meet.ts'
import { LATER, NOW, type Tokens, tokensIn, total } from './tokens.ts'

/** The tokens that calls of a meeting are about: most are about one. */
type Subject = readonly [StoredSubjectToken, ...StoredSubjectToken[]]

/** A call of any store; what it answers is compared. */
export type Act = (store: SubjectTokenStore, ...subject: Subject) => Promise<unknown>

/** The status index of what is yet to be inserted. */
export const NOT_STORED = -1

/** How the tokens of a meeting come to be, and what is called of them at the same moment. */
export type Meeting = readonly [create: (tokens: Tokens) => Promise<Subject>, one: Act, ...others: Act[]]

/** The part of a stop's result that says what is left to end. */
export const toldOf = ({ token: { revocation, use }, unreported }: Revoked) => ({
  revocation,
  unreported,
  ...(use && {
    clientId: use.clientId,
    accessToken: use.accessToken,
    grantId: use.grantId,
    actor: use.actor?.sub,
  }),
})

/** Lets the calls meet again and again, and looks for an order of each meeting. */
export async function assertOrders(
  store: SubjectTokenStore,
  [create, one, ...others]: Meeting,
): Promise<void> {
  const tokens = tokensIn(store)
  const meetings = await meet(
    () => create(tokens),
    (subject) => one(store, ...subject),
    (subject) => Promise.all(others.map((other) => timed(() => other(store, ...subject)))),
  )
  const left = await leftIn(
    store,
    meetings.flatMap(({ subject }) => subject),
  )
  for (const { subject, one: first, other } of meetings)
    await assertOrder([one, ...others], [first, ...other.answer], subject, left)
}

async function assertOrder(
  acts: readonly Act[],
  calls: readonly Call<unknown>[],
  subject: Subject,
  allLeft: ReadonlyMap<string, Left>,
): Promise<void> {
  const left = subject.map(({ id }) => allLeft.get(id))
  const answers = calls.map(({ answer }) => answer)
  const allowed: unknown[] = []
  for (const order of ordersOf(calls)) {
    const model = modelOf(subject)
    const expected: unknown[] = []
    for (const index of order) expected[index] = await acts[index]?.(model, ...subject)
    const expectedLeft = [...(await leftIn(model, subject)).values()]
    const agrees = (index: number) =>
      isDeepStrictEqual(answers[index], expected[index]) || isNeedless(answers[index], expected[index], left)
    if (order.every(agrees) && isDeepStrictEqual(left, expectedLeft)) return
    allowed.push({ answers: expected, left: expectedLeft })
  }
  assert.fail(
    `no order of the calls gives what they answered, and what is found afterwards: ${JSON.stringify({ answers, left })}; the orders give ${JSON.stringify(allowed)}`,
  )
}

/** The orders of calls of which none ended before another began that comes before it. */
function ordersOf(calls: readonly Call<unknown>[], taken: readonly number[] = []): number[][] {
  if (taken.length === calls.length) return [[...taken]]
  const rest = calls.flatMap((call, index) => (taken.includes(index) ? [] : [{ call, index }]))
  return rest
    .filter(({ call }) => !rest.some((other) => isBefore(other.call, call)))
    .flatMap(({ index }) => ordersOf(calls, [...taken, index]))
}

/** A kill switch may return also what another call stopped meanwhile, as it is on the record. */
const isNeedless = (answer: unknown, expected: unknown, left: readonly (Left | undefined)[]): boolean =>
  isDeepStrictEqual(expected, []) &&
  Array.isArray(answer) &&
  answer.every((told) => left.some((one) => one?.stopped && isDeepStrictEqual(told, one.told)))

/** A store in memory that has these tokens, as they were found before they met. */
function modelOf(subject: Subject): SubjectTokenStore {
  const tokens = subject.filter(({ statusIndex }) => statusIndex !== NOT_STORED)
  const stopped = tokens.filter(({ revocation }) => revocation && revocation.cause !== 'replay')
  const sessions = tokens.filter(({ use }) => use?.session)
  return memoryStoreOf({
    tokens: new Map(tokens.map((token) => [token.id, token])),
    unreported: new Set(stopped.map(({ id }) => id)),
    marks: new Map(sessions.map(({ id, use }) => [id, Number(use?.accessToken.expiresAt)])),
  })
}

const LISTS: readonly SubjectTokenFilter[] = [{ live: true }, { state: 'revoked' }, { unacknowledged: true }]

type Left = Awaited<ReturnType<typeof leftOf>>

/** All that a store shows of these tokens, which are all of their issuer. */
async function leftIn(
  store: SubjectTokenStore,
  tokens: readonly StoredSubjectToken[],
): Promise<Map<string, Left>> {
  const issuer = String(tokens[0]?.issuer)
  const { listed } = tokensIn(store, issuer)
  const lists = await Promise.all(LISTS.map((filter) => listed(filter)))
  const stopped = await store.findStopped(issuer, NOW)
  const due = await Promise.all([NOW, LATER].map((at) => store.sessions?.findDue(issuer, at, 1000) ?? []))
  const live = await total(store.countLive(issuer, NOW))
  assert.equal(live, lists[0]?.length, 'the count of what lives differs from the list')
  const shown = { lists, stopped, due }
  return new Map(
    await Promise.all(tokens.map(async (token) => [token.id, await leftOf(store, token, shown)] as const)),
  )
}

/** A store's view of a token, without the members that differ from store to store. */
async function leftOf(
  store: SubjectTokenStore,
  { issuer, id }: StoredSubjectToken,
  shown: {
    readonly lists: readonly (readonly string[])[]
    readonly stopped: Awaited<ReturnType<SubjectTokenStore['findStopped']>>
    readonly due: readonly (readonly DueSession[])[]
  },
) {
  const { stored, acknowledgementsOf } = tokensIn(store, issuer)
  const { tokenHash: _, acknowledged: _by, statusIndex, revokedAt, ...record } = await stored(id)
  const reported = [await store.report(issuer, [id]), await store.report(issuer, [id])]
  return {
    record,
    // A kill switch may take its time.
    stopped: revokedAt !== undefined && revokedAt >= NOW,
    told: toldOf({ token: record, unreported: reported[0]?.length === 1 }),
    reported,
    acknowledged: await acknowledgementsOf(id),
    lists: shown.lists.map((ids) => ids.includes(id)),
    ends: shown.stopped.filter((one) => one.statusIndex === statusIndex).map(({ expiresAt }) => expiresAt),
    marks: shown.due.map((sessions) => sessions.find((session) => session.id === id)?.mark),
  }
}
