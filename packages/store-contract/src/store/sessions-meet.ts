/** A session is opened, claimed, settled and stopped at the same moment. Only of a store that has `sessions`. */

import assert from 'node:assert/strict'
import type {
  SessionOutcome,
  SessionStore,
  SpentSubjectToken,
  SubjectToken,
  SubjectTokenStore,
} from 'oidc-provider-impersonation'
import { isSpent } from 'oidc-provider-impersonation/inside'
import { during, meet } from './meet.ts'
import { assertOrder, BY_KILL, callsIn, type Spend, spendOf } from './orders.ts'
import { ENDS_AT, LATER, ofSessions, sessionsIn } from './sessions.ts'
import { NOW, type Test } from './tokens.ts'

const CONFIRMED: SessionOutcome = { mark: null, logout: 'confirmed', at: NOW + 1 }
const SAID = { logout: 'confirmed', logoutAt: NOW + 1 }

/** The calls of both, of one issuer. */
function callsOf(store: SubjectTokenStore, sessions: SessionStore) {
  const calls = callsIn(store)
  const { issuer } = calls
  const { useOf } = sessionsIn(store, sessions)
  const issued = () => {
    const { id } = calls.newToken()
    return calls.insert({ id, userId: `user ${id}`, purpose: 'session', clientId: 'shop', actorId: 'bob' })
  }
  const opens = async (token: SubjectToken): Promise<Spend> => {
    const use = useOf()
    return { use, won: await store.consume(token, NOW, use) }
  }
  const opened = async (): Promise<SpentSubjectToken> => {
    const token = await issued()
    assert.equal((await opens(token)).won, true, 'an active token opened no session')
    const found = await calls.stored(token.id)
    return isSpent(found) ? found : assert.fail('a session that was opened shows no use')
  }
  const claim =
    (next: number) =>
    ({ id }: SubjectToken) =>
      sessions.claim(issuer, id, ENDS_AT, next)
  const settle = ({ id }: SubjectToken) => sessions.settle(issuer, id, CONFIRMED)
  const markOf = async (id: string, now = LATER) =>
    (await sessions.findDue(issuer, now, 1000)).find((session) => session.id === id)?.mark
  return { ...calls, issued, opens, opened, claim, settle, markOf }
}

export function describeSessionMeetings(plain: Test): void {
  const test = ofSessions(plain)

  test('session and stop at the same moment: it is to be ended, or was never opened', async (store, sessions) => {
    const { issued, opens, revoke, kill, stored, markOf, assertShown } = callsOf(store, sessions)
    for (const stop of [revoke(BY_KILL), kill(({ userId }) => ({ userId }))]) {
      for (const { subject, one, other } of await meet(issued, opens, stop)) {
        assertOrder(await stored(subject.id), [one], [other])
        const mark = await markOf(subject.id, NOW)
        if (one.answer.won) assert.equal(mark, ENDS_AT, 'a session was stopped, and no one is to end it')
        else assert.equal(mark, undefined, 'a session is to be ended that was never opened')
      }
      await assertShown()
    }
  })

  test('a session that shows its use has its mark from then on', async (store, sessions) => {
    const { issuer, issued, opens, markOf } = callsOf(store, sessions)
    for (const _ of Array(3)) {
      const token = await issued()
      const look = async () => {
        const found = await store.find(issuer, token.id)
        if (found?.use)
          assert.equal(await markOf(token.id), ENDS_AT, 'a session has been opened without its mark')
      }
      await during(() => opens(token), look)
      assert.equal(await markOf(token.id), ENDS_AT, 'a session has been opened without its mark')
    }
  })

  test('claim and claim at the same moment: one of them is granted', async (store, sessions) => {
    const { opened, claim, markOf } = callsOf(store, sessions)
    for (const { subject, one, other } of await meet(opened, claim(ENDS_AT + 1), claim(ENDS_AT + 2))) {
      assert.notEqual(one.answer, other.answer, 'of two claims, exactly one must be granted')
      const mark = ENDS_AT + (one.answer ? 1 : 2)
      assert.equal(await markOf(subject.id), mark, 'the mark is not that of the claim that was granted')
    }
  })

  test('claim and settlement at the same moment: it stays settled', async (store, sessions) => {
    const { opened, claim, settle, stored, markOf } = callsOf(store, sessions)
    for (const { subject } of await meet(opened, claim(ENDS_AT + 1), settle)) {
      assert.equal(await markOf(subject.id), undefined, 'a claim has opened again what was settled')
      const { use } = await stored(subject.id)
      assert.deepEqual(use?.session, SAID, 'a claim has taken away what the application said')
    }
  })

  test('settlement and stop at the same moment: both are on the record', async (store, sessions) => {
    const { issuer, opened, settle, revoke, stored, markOf, assertShown } = callsOf(store, sessions)
    const replay = (token: SpentSubjectToken) => store.recordReplay(token, { at: NOW, clientId: 'thief' })
    for (const { subject, other } of await meet(opened, settle, revoke(BY_KILL))) {
      const { use, ...found } = await stored(subject.id)
      assert.deepEqual(use?.session, SAID, 'a stop has taken away what the application said')
      assertOrder({ ...found, use: subject.use }, [spendOf(subject)], [other])
      assert.equal(await markOf(subject.id), undefined, 'a stop has opened again what was settled')
    }
    for (const { subject } of await meet(opened, settle, replay)) {
      const { use, replay: found } = await stored(subject.id)
      assert.deepEqual(use?.session, SAID, 'a replay has taken away what the application said')
      assert.equal(found?.clientId, 'thief', 'a settlement has taken away a replay')
    }
    await assertShown()
    assert.deepEqual(await sessions.findDue(issuer, LATER, 10), [], 'a session is due that was settled')
  })
}
