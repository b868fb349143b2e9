/** Stops and replays of one token meet at the same moment. */

import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import type { Replay, Revocation, SpentSubjectToken, SubjectToken } from 'oidc-provider-impersonation'
import { meet } from './meet.ts'
import { assertOrder, callsIn, spendOf } from './orders.ts'
import { all, NOW, type Test } from './tokens.ts'

const THIEF: Replay = { at: NOW, clientId: 'thief' }
const byUser = ({ userId }: SubjectToken) => ({ userId })

export function describeStopMeetings(test: Test): void {
  test('revocation and revocation at the same moment: one cause, and one report', async ({ store }) => {
    const { issuer, named, revoke, stored, assertShown } = callsIn(store)
    const reported: string[] = []
    const byConsole = async (token: SubjectToken) => {
      const stop = await revoke({ cause: 'console', by: 'carol' })(token)
      for (const { unreported } of stop.returned)
        assert.equal(unreported, true, 'a stop was not told to be reported')
      return stop
    }
    const meetings = await meet(named, revoke(), byConsole)
    for (const { subject, one, other } of meetings) {
      assertOrder(await stored(subject.id), [], [one, other])
      reported.push(...(await Promise.all([1, 2].map(() => store.report(issuer, [subject.id])))).flat())
    }
    assert.deepEqual(
      reported,
      meetings.map(({ subject }) => subject.id),
      'each stop is reported once',
    )
    await assertShown()
  })

  test('kill switch and revocation at the same moment: one cause, and the use from both', async ({
    store,
  }) => {
    const { spent, kill, revoke, stored, assertShown } = callsIn(store)
    for (const { subject, one, other } of await meet(spent, kill(byUser), revoke())) {
      assertOrder(await stored(subject.id), [spendOf(subject)], [one, other])
      assert.notEqual(one.answer.returned.length, 0, 'a kill switch left out what lives and is not reported')
    }
    await assertShown()
  })

  test('kill switch and kill switch at the same moment: each token is stopped once, and told', async ({
    store,
  }) => {
    const { issuer, named, spent, stored, assertShown } = callsIn(store)
    const one = { cause: 'api', client: 'one' } as const
    const other = { cause: 'api', client: 'other' } as const
    const both = async () => [await named(), await spent()]
    const killAll = (why: Revocation) => async (tokens: readonly SubjectToken[]) => {
      const killed = tokens.map(({ userId }) => all(store.revokeWhere(issuer, { userId }, NOW, why)))
      return (await Promise.all(killed)).flat()
    }
    for (const { subject, ...calls } of await meet(both, killAll(one), killAll(other)))
      for (const token of subject) {
        const answers = [calls.one.answer, calls.other.answer].flatMap((killed, index) => {
          const returned = killed.filter(({ token: { id } }) => id === token.id)
          return returned.length > 0
            ? [{ ...calls.one, answer: { why: index === 0 ? one : other, returned } }]
            : []
        })
        assert.notEqual(
          answers.length,
          0,
          'two kill switches at the same moment: neither returned what was stopped',
        )
        const found = await stored(token.id)
        assert.ok(isDeepStrictEqual(found.revocation, one) || isDeepStrictEqual(found.revocation, other))
        for (const { answer } of answers)
          for (const { token: returned, unreported } of answer.returned) {
            assert.deepEqual(
              [returned.revocation, unreported],
              [found.revocation, true],
              'a kill switch returned another cause than the record has, or a stop as reported',
            )
            assert.equal(returned.use?.grantId, token.use?.grantId, 'a stop did not return the use')
          }
      }
    await assertShown()
  })

  test('replay and replay at the same moment: one is on the record, and it stopped the token', async ({
    store,
  }) => {
    const { spent, stored, assertShown } = callsIn(store)
    const replayBy = (clientId: string) => (token: SpentSubjectToken) =>
      store.recordReplay(token, { at: NOW, clientId })
    for (const { subject, one, other } of await meet(spent, replayBy('one'), replayBy('other'))) {
      const { replay, revocation } = await stored(subject.id)
      assert.notEqual(one.answer, other.answer, 'of two replays, exactly one stops the token')
      assert.equal(
        replay?.clientId,
        one.answer ? 'one' : 'other',
        'the record has another replay than that of the stop',
      )
      assert.deepEqual(revocation, { cause: 'replay' })
    }
    await assertShown()
  })

  for (const [name, at] of [
    ['revocation', 'revoke'],
    ['kill switch', 'kill'],
  ] as const)
    test(`replay and ${name} at the same moment: one of them stops the token, and tells`, async ({
      store,
    }) => {
      const { issuer, spent, revoke, kill, stored, assertShown } = callsIn(store)
      const stop = at === 'revoke' ? revoke() : kill(byUser)
      const replay = (token: SpentSubjectToken) => store.recordReplay(token, THIEF)
      for (const { subject, one, other } of await meet(spent, stop, replay)) {
        const found = await stored(subject.id)
        assert.deepEqual(found.replay, THIEF, 'a replay beside a stop is not on the record')
        assert.deepEqual(found.use, subject.use, 'a use is gone')
        const cause = other.answer ? { cause: 'replay' } : one.answer.why
        assert.deepEqual(
          found.revocation,
          cause,
          'a replay says that it stopped the token, and the record has another cause',
        )
        for (const { token, unreported } of one.answer.returned) {
          assert.deepEqual(token.revocation, cause, 'a stop returned another cause than the record has')
          assert.equal(token.use?.grantId, subject.use.grantId, 'a stop did not return the use')
          assert.equal(
            unreported,
            !other.answer,
            'the stop of a replay counts as reported, any other does not',
          )
        }
        if (!other.answer) assert.notEqual(one.answer.returned.length, 0, 'no call returned the stop')
        const reported = await store.report(issuer, [subject.id])
        assert.deepEqual(reported, other.answer ? [] : [subject.id], 'one call tells of a stop')
      }
      await assertShown()
    })
}
