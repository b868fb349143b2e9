/** Sessions: when they end, who ends them, and what their applications have said. Only of a store that has `sessions`. */

import assert from 'node:assert/strict'
import type {
  DueSession,
  NewSubjectToken,
  SessionLogout,
  SessionStore,
  SpentSubjectToken,
  SubjectTokenStore,
  SubjectTokenUse,
} from 'oidc-provider-impersonation'
import { all, BY_API, ENDS_AT, idsIn, idsOf, LATER, NOW, type Test, tokensIn, total } from './tokens.ts'

const RACERS = 50

/** A use that opens an application. */
export const sessionUse = (changes: Partial<SubjectTokenUse> = {}): SubjectTokenUse => ({
  at: NOW,
  clientId: 'shop',
  actor: { sub: 'bob' },
  scope: 'openid',
  accessToken: { format: 'session', expiresAt: ENDS_AT },
  session: { logout: 'pending' },
  ...changes,
})

/** Tokens that open applications, and what is asked of the store about them. */
export function sessionsIn(store: SubjectTokenStore, sessions: SessionStore) {
  const tokens = tokensIn(store)
  const { issuer } = tokens
  const issue = (changes: Partial<NewSubjectToken> = {}) =>
    tokens.insert({ purpose: 'session', clientId: 'shop', actorId: 'bob', ...changes })
  const openWith = async (use: SubjectTokenUse, changes?: Partial<NewSubjectToken>) => {
    const token = await issue(changes)
    assert.equal(await store.consume(token, NOW, use), true, 'an active token opened no session')
    return tokens.spent(token.id)
  }
  const open = (endsAt = ENDS_AT, logout: SessionLogout = 'pending') =>
    openWith(sessionUse({ accessToken: { format: 'session', expiresAt: endsAt }, session: { logout } }))
  const due = (now: number, limit = 100): Promise<readonly DueSession[]> =>
    sessions.findDue(issuer, now, limit)
  const assertDue = async (now: number, expected: readonly { readonly id: string }[], rule: string) => {
    assert.deepEqual(idsIn(await due(now)), idsIn(expected), rule)
  }
  return { ...tokens, sessions, issue, openWith, open, due, assertDue }
}

/** Runs nothing for a store without sessions. */
export const ofSessions =
  (test: Test) =>
  (title: string, body: (store: SubjectTokenStore, sessions: SessionStore) => Promise<void>): void =>
    test(title, async ({ store }) => {
      if (store.sessions) await body(store, store.sessions)
    })

export function describeSessions(plain: Test): void {
  const test = ofSessions(plain)

  test('records a session: when it ends, and what its application can be told', async (store, sessions) => {
    const { issuer, openWith } = sessionsIn(store, sessions)
    const resource = 'https://api.example.com'
    const uses = [
      sessionUse(),
      sessionUse({ session: { logout: 'unsupported' } }),
      sessionUse({ grantId: 'a-grant' }),
      sessionUse({ resource }),
      sessionUse({ resource: [resource] }),
      sessionUse({ resource: [resource, 'urn:example:orders'] }),
    ]
    for (const use of uses) {
      const found = await openWith(use)
      const { tokens } = await store.list(issuer, { id: found.id }, { limit: 1, now: NOW })
      assert.deepEqual(found.use, use, 'what was recorded is not the session that was opened')
      assert.deepEqual(tokens[0]?.use, use, 'what is listed is not the session that was opened')
    }
  })

  test('finds sessions by their marks, to the second, the oldest first, and no other use', async (store, sessions) => {
    const { issuer, insert, spend, issue, open, openWith, due, assertDue } = sessionsIn(store, sessions)
    const [third, first, second] = [await open(NOW + 30), await open(NOW + 10), await open(NOW + 20)]
    await spend()
    for (const unspent of [await issue(), await insert()]) await store.revoke(issuer, unspent.id, NOW, BY_API)
    await sessionsIn(store, sessions).open(NOW + 10)
    await assertDue(NOW + 9, [], 'a session is due before its mark')
    await assertDue(NOW + 10, [first], 'a session is due at its mark, and what no session is never is')
    await assertDue(LATER, [first, second, third], 'the oldest mark must come first')
    const two = idsIn(await due(LATER, 2))
    assert.deepEqual(two, [first.id, second.id], 'the oldest are found where there are more than the limit')
    const { id, userId } = first
    const [mark, endsAt] = [NOW + 10, NOW + 10]
    const told = {
      id,
      userId,
      actorId: 'bob',
      clientId: 'shop',
      mark,
      endsAt,
      usedAt: NOW,
      logout: 'pending',
    }
    assert.deepEqual((await due(NOW + 10))[0], told, 'what is due must say what an attempt needs')
    const opened = await openWith(sessionUse(), { readOnly: true })
    const found = (await due(LATER)).find((one) => one.id === opened.id)
    assert.equal(found?.readOnly, true, 'what is due must say that it is read-only')
  })

  test('finds at once what was stopped, in any way, until someone tries to end it', async (store, sessions) => {
    const { issuer, open, due, assertDue } = sessionsIn(store, sessions)
    const [revoked, replayed, unsupported] = [
      await open(NOW + 100),
      await open(NOW + 200),
      await open(NOW + 300, 'unsupported'),
    ]
    await open(NOW + 400)
    await store.revoke(issuer, revoked.id, NOW + 1, BY_API)
    await store.recordReplay(replayed, { at: NOW + 2, clientId: 'shop' })
    await store.revoke(issuer, unsupported.id, NOW + 3, BY_API)
    const stopped = [revoked, replayed, unsupported]
    await assertDue(NOW, stopped, 'what was stopped must be found, before it ends, and nothing else')
    const told = (await due(NOW)).map(({ mark, endsAt, revokedAt, logout }) => [
      mark - endsAt,
      revokedAt,
      logout,
    ])
    const expected = [1, 2, 3].map((at) => [0, NOW + at, at === 3 ? 'unsupported' : 'pending'])
    assert.deepEqual(told, expected, 'a stop is shown with its time, and with the mark as it was')
    assert.equal(
      await sessions.claim(issuer, revoked.id, NOW + 100, NOW + 5),
      true,
      'a claim found another mark',
    )
    await assertDue(NOW + 4, stopped.slice(1), 'after an attempt, a stopped session waits for its mark')
    await assertDue(NOW + 5, [revoked, ...stopped.slice(1)], 'a stopped session is due at its mark again')
    assert.equal((await due(NOW + 5))[0]?.revokedAt, NOW + 1, 'a stop is shown also once someone has tried')
    assert.equal(
      (await store.find(issuer, revoked.id))?.use?.accessToken.expiresAt,
      NOW + 100,
      'its end has changed',
    )
  })

  test('finds at once what a kill switch stopped', async (store, sessions) => {
    const { issuer, open, issue, assertDue } = sessionsIn(store, sessions)
    const [one, other] = [await open(), await open(ENDS_AT + 1, 'unsupported')]
    await issue()
    assert.equal((await all(store.revokeWhere(issuer, { actorId: 'bob' }, NOW, BY_API))).length, 3)
    await assertDue(NOW, [one, other], 'what a kill switch stopped must be found, and nothing else')
  })

  test('moves a mark from exactly what it is, and of an open session of the issuer only', async (store, sessions) => {
    const { issuer, newToken, spend, open, assertDue } = sessionsIn(store, sessions)
    const { issuer: other } = tokensIn(store)
    const [session, exchanged] = [await open(), await spend()]
    const next = ENDS_AT + 20
    type Claim = Parameters<SessionStore['claim']>
    const assertClaims = async (granted: boolean, claims: Readonly<Record<string, Claim>>) => {
      for (const [rule, claim] of Object.entries(claims))
        assert.equal(await sessions.claim(...claim), granted, `${rule}: this claim`)
    }
    await assertClaims(false, {
      'an earlier mark': [issuer, session.id, ENDS_AT - 1, next],
      'a later mark': [issuer, session.id, ENDS_AT + 1, next],
      'another issuer': [other, session.id, ENDS_AT, next],
      'an unknown id': [issuer, newToken().id, ENDS_AT, next],
      'what is no session': [issuer, exchanged.id, ENDS_AT, next],
    })
    await assertDue(ENDS_AT, [session], 'a claim that was not granted has changed the mark')
    await assertClaims(true, { 'its mark': [issuer, session.id, ENDS_AT, next] })
    await assertClaims(false, { 'a mark that was claimed': [issuer, session.id, ENDS_AT, next + 1] })
    await assertDue(next - 1, [], 'a session is due before what a claim has moved its mark to')
    await assertDue(next, [session], 'a session is not due when what a claim has moved its mark to is over')
    await assertClaims(true, { 'its mark, at a second attempt': [issuer, session.id, next, next + 1] })
  })

  test(`has one winner among ${RACERS} claims`, async (store, sessions) => {
    const { issuer, open, due } = sessionsIn(store, sessions)
    for (const _ of Array(5)) {
      const { id } = await open()
      const claims = Array.from({ length: RACERS }, (_, index) => ENDS_AT + 1 + index)
      const won = await Promise.all(claims.map((next) => sessions.claim(issuer, id, ENDS_AT, next)))
      const winners = claims.filter((_, index) => won[index])
      assert.equal(winners.length, 1, `${winners.length} of ${RACERS} claims were granted`)
      const found = (await due(LATER)).find((session) => session.id === id)
      assert.equal(found?.mark, winners[0], 'the mark is not that of the claim that was granted')
    }
  })

  test('keeps the first answer of an application, and when it came', async (store, sessions) => {
    const { issuer, open, stored } = sessionsIn(store, sessions)
    for (const logout of ['confirmed', 'gaveUp'] as const) {
      const opened = await open()
      const session = { logout, logoutAt: NOW + 3 }
      await sessions.settle(issuer, opened.id, { mark: NOW + 20, at: NOW + 2 })
      assert.deepEqual(
        await stored(opened.id),
        await asStored(opened),
        'an attempt without answer was recorded',
      )
      await sessions.settle(issuer, opened.id, { mark: NOW + 20, logout, at: NOW + 3 })
      const expected = await asStored({ ...opened, use: { ...opened.use, session } })
      assert.deepEqual(await stored(opened.id), expected, 'what the application said is not as it was given')
      const other = logout === 'confirmed' ? 'gaveUp' : 'confirmed'
      await sessions.settle(issuer, opened.id, { mark: null, logout: other, at: NOW + 20 })
      assert.deepEqual(await stored(opened.id), expected, 'a second answer has replaced the first')
    }
    const silent = await open(ENDS_AT, 'unsupported')
    await sessions.settle(issuer, silent.id, { mark: null, logout: 'confirmed', at: NOW + 3 })
    assert.deepEqual(await stored(silent.id), await asStored(silent), 'what is unsupported was replaced')

    /** With its hash, which a spent token need not have. */
    async function asStored(token: SpentSubjectToken) {
      const { tokenHash } = await stored(token.id)
      return { ...token, tokenHash }
    }
  })

  test('is due again as it was settled, and never once it was settled for good', async (store, sessions) => {
    const { issuer, open, assertDue, stored } = sessionsIn(store, sessions)
    const opened = await open()
    await sessions.settle(tokensIn(store).issuer, opened.id, { mark: null, logout: 'confirmed', at: NOW })
    await assertDue(ENDS_AT, [opened], 'a session was settled by another issuer')
    await sessions.settle(issuer, opened.id, { mark: NOW + 20, logout: 'confirmed', at: NOW })
    await assertDue(NOW + 19, [], 'a session is due before the mark it was settled with')
    await assertDue(NOW + 20, [opened], 'a session is not due at the mark it was settled with')
    await sessions.settle(issuer, opened.id, { mark: null, at: NOW + 21 })
    await assertDue(LATER, [], 'a session is due that was settled')
    await sessions.settle(issuer, opened.id, { mark: NOW + 30, at: NOW + 22 })
    await store.revoke(issuer, opened.id, NOW, BY_API)
    await assertDue(LATER, [], 'a session was opened again after it was settled')
    assert.equal(
      await sessions.claim(issuer, opened.id, ENDS_AT, LATER),
      false,
      'a claim of a settled session',
    )
    assert.deepEqual(
      (await stored(opened.id)).revocation,
      BY_API,
      'a settled session that lives was not stopped',
    )
  })

  test('takes the end of a session for that of an access token', async (store, sessions) => {
    const { issuer, open, stored, listed } = sessionsIn(store, sessions)
    const [stopped, live] = [await open(ENDS_AT), await open(ENDS_AT)]
    const counts = async (now: number) => [
      await total(store.countLive(issuer, now)),
      (await listed({ live: true }, now)).length,
    ]
    assert.deepEqual(await counts(ENDS_AT - 1), [2, 2], 'a session lives until its end')
    assert.deepEqual(await counts(ENDS_AT), [0, 0], 'a session lives no longer than its end')
    const revoked = await store.revoke(issuer, stopped.id, NOW, BY_API)
    assert.deepEqual(
      [revoked?.unreported, revoked?.token.use?.accessToken, revoked?.token.use?.clientId],
      [true, stopped.use.accessToken, 'shop'],
      'a stop must return the session that is left to end',
    )
    assert.deepEqual(await listed({ live: true }), [live.id], 'what was stopped does not live')
    const { statusIndex } = stopped
    const shown = [{ statusIndex, expiresAt: ENDS_AT }]
    assert.deepEqual(await store.findStopped(issuer, NOW), shown, 'status lists must show it until its end')
    const late = await store.revoke(issuer, live.id, ENDS_AT, BY_API)
    assert.deepEqual(
      [late?.unreported, (await stored(live.id)).revokedAt],
      [false, undefined],
      'it had ended before',
    )
    const killed = await all(store.revokeWhere(issuer, { userId: 'alice' }, ENDS_AT - 1, BY_API))
    assert.ok(idsOf(killed).includes(live.id), 'a kill switch must stop a session until its end')
    for await (const { exchanged, withoutActor, revoked } of store.summarize(issuer, NOW - 10, NOW + 10))
      assert.deepEqual([exchanged, withoutActor, revoked], [2, 0, 2], 'a session counts as an exchange does')
  })
}
