/** Reports, acknowledgements, insertions and calls of two issuers meet at the same moment. */

import assert from 'node:assert/strict'
import type {
  Acknowledgement,
  NewSubjectToken,
  Replay,
  SpentSubjectToken,
  SubjectToken,
} from 'oidc-provider-impersonation'
import { isBefore, meet } from './meet.ts'
import { assertOrder, BY_KILL, callsIn, spendOf } from './orders.ts'
import { all, BY_API, idsOf, NOW, type Test, tokensIn, total } from './tokens.ts'

const THIEF: Replay = { at: NOW, clientId: 'thief' }
const byUser = ({ userId }: SubjectToken) => ({ userId })

export function describeRecordMeetings(test: Test): void {
  test('report and report at the same moment: each id is returned once', async ({ store }) => {
    const { issuer, spent, revoke } = callsIn(store)
    const three = async () => {
      const ids: string[] = []
      for (const _ of Array(3)) {
        const token = await spent()
        await revoke()(token)
        ids.push(token.id)
      }
      return ids
    }
    const some = (from: number) => (ids: readonly string[]) => store.report(issuer, ids.slice(from, from + 2))
    for (const { subject, one, other } of await meet(three, some(0), some(1))) {
      const reported = [...one.answer, ...other.answer]
      assert.deepEqual(reported.toSorted(), subject, 'each id is returned by exactly one report')
      assert.deepEqual(await store.report(issuer, subject), [], 'an id is returned by one report')
    }
  })

  test('report and stop at the same moment: the stop is reported once, by this call or the next', async ({
    store,
  }) => {
    const { issuer, spent, revoke, kill } = callsIn(store)
    const report = ({ id }: SubjectToken) => store.report(issuer, [id])
    for (const stop of [revoke(), kill(byUser)])
      for (const { subject, other } of await meet(spent, stop, report)) {
        const reported = [...other.answer, ...(await report(subject)), ...(await report(subject))]
        assert.deepEqual(reported, [subject.id], 'the report of a stop is lost, or given twice')
      }
  })

  test('acknowledgement and replay at the same moment: both are on the record', async ({ store }) => {
    const { spentAlone, stored, acknowledgementsOf, listed } = callsIn(store)
    const replay = (token: SpentSubjectToken) => store.recordReplay(token, THIEF)
    const acknowledge = (token: SpentSubjectToken) => store.acknowledge(token, NOTE)
    for (const { subject } of await meet(spentAlone, replay, acknowledge)) {
      const { replay: found, use } = await stored(subject.id)
      const acknowledged = await acknowledgementsOf(subject.id)
      assert.deepEqual([found, use], [THIEF, subject.use], 'a replay beside an acknowledgement is lost')
      assert.deepEqual(acknowledged, [NOTE], 'an acknowledgement beside a replay is lost')
      const unacknowledged = await listed({ unacknowledged: true, userId: [subject.userId] })
      assert.deepEqual(unacknowledged, [subject.id], 'what was said before a replay does not cover it')
    }
  })

  test('acknowledgement and stop at the same moment: both are on the record', async ({ store }) => {
    const { spentAlone, revoke, stored, acknowledgementsOf } = callsIn(store)
    const acknowledge = (token: SpentSubjectToken) => store.acknowledge(token, NOTE)
    for (const { subject, one } of await meet(spentAlone, revoke(), acknowledge)) {
      const found = await stored(subject.id)
      assertOrder(found, [spendOf(subject)], [one])
      assert.deepEqual(
        await acknowledgementsOf(subject.id),
        [NOTE],
        'an acknowledgement beside a stop is lost',
      )
    }
  })

  test('acknowledgement and acknowledgement at the same moment: one is on the record', async ({ store }) => {
    const { spentAlone, acknowledgementsOf, listed } = callsIn(store)
    const acknowledge = (by: string) => (token: SpentSubjectToken) =>
      store.acknowledge(token, { ...NOTE, by })
    for (const { subject } of await meet(spentAlone, acknowledge('one'), acknowledge('other'))) {
      const acknowledged = (await acknowledgementsOf(subject.id)) ?? []
      assert.equal(acknowledged.length, 1, 'the same alarms are covered once')
      assert.ok(['one', 'other'].includes(String(acknowledged[0]?.by)))
    }
    assert.deepEqual(await listed({ unacknowledged: true }), [])
  })

  test('two acknowledgements at the same moment, one after a replay: that one is on the record', async ({
    store,
  }) => {
    const { spentAlone, acknowledgementsOf, listed } = callsIn(store)
    const [before, after] = [NOTE, { ...NOTE, by: 'dora', coversReplay: true }]
    const replayed = async () => {
      const token = await spentAlone()
      await store.recordReplay(token, THIEF)
      return token
    }
    const acknowledge = (note: Acknowledgement) => (token: SpentSubjectToken) =>
      store.acknowledge(token, note)
    for (const { subject, one, other } of await meet(replayed, acknowledge(before), acknowledge(after))) {
      const acknowledged = (await acknowledgementsOf(subject.id)) ?? []
      assert.deepEqual(acknowledged.slice(-1), [after], 'an acknowledgement that covers a replay is lost')
      if (isBefore(one, other)) assert.deepEqual(acknowledged, [before, after])
      if (isBefore(other, one)) assert.deepEqual(acknowledged, [after], 'a replay is covered once')
    }
    assert.deepEqual(await listed({ unacknowledged: true }), [])
  })

  test('insertion and insertion of one id at the same moment: one is stored', async ({ store }) => {
    const { newToken, stored } = tokensIn(store)
    const insertAs = (userId: string) => (token: NewSubjectToken) =>
      store.insert({ ...token, userId }).then(
        () => userId,
        () => undefined,
      )
    for (const { subject, one, other } of await meet(
      async () => newToken(),
      insertAs('one'),
      insertAs('other'),
    )) {
      const stay = [one.answer, other.answer].filter((name) => name !== undefined)
      assert.equal(stay.length, 1, 'of two insertions of one id, one is stored and one rejects')
      assert.equal((await stored(subject.id)).userId, stay[0], 'an insertion that rejected was stored')
    }
  })

  test('two issuers at the same moment: each call sees its own', async ({ store }) => {
    const [one, other] = [callsIn(store), callsIn(store)]
    const [mine, theirs] = [await one.spent(), await other.spent()]
    const calls = [
      (issuer: string) => store.find(issuer, mine.id).then((found) => found && [found.id]),
      (issuer: string) =>
        store.findByStatusIndex(issuer, mine.statusIndex).then((found) => found && [found.id]),
      (issuer: string) =>
        store
          .list(issuer, { actorId: [`oldest ${mine.id}`] }, { limit: 9, now: NOW })
          .then(({ tokens }) => (tokens.length > 0 ? tokens.map(({ id }) => id) : undefined)),
      async (issuer: string) => {
        const killed = idsOf(await all(store.revokeWhere(issuer, byUser(mine), NOW, BY_KILL)))
        return killed.length > 0 ? killed : undefined
      },
      (issuer: string) =>
        store.revoke(issuer, mine.id, NOW, BY_API).then((found) => found && [found.token.id]),
      (issuer: string) => store.report(issuer, [mine.id]).then((ids) => (ids.length > 0 ? ids : undefined)),
    ]
    for (const call of calls) {
      const results = await meet(
        async () => undefined,
        () => call(one.issuer),
        () => call(other.issuer),
      )
      for (const result of results)
        assert.equal(result.other.answer, undefined, 'a call of another issuer returned a token')
      const found = results.flatMap((result) => result.one.answer ?? [])
      assert.deepEqual(
        [...new Set(found)],
        [mine.id],
        'a call beside one of another issuer returned no token',
      )
    }
    assert.equal((await other.stored(theirs.id)).revokedAt, undefined)
    const counts = await Promise.all([one, other].map(({ issuer }) => total(store.countLive(issuer, NOW))))
    assert.deepEqual(counts, [0, 1])
  })

  test('a kill switch that is left after its first batch loses nothing', async ({ store }) => {
    const { issuer, insert, useOf, stored } = callsIn(store)
    const spentOne = async () => {
      const token = await insert({ userId: 'target' })
      assert.equal(await store.consume(token, NOW, useOf(token)), true)
      return token
    }
    const tokens = await Promise.all(Array.from({ length: 45 }, spentOne))
    for await (const _ of store.revokeWhere(issuer, { userId: 'target' }, NOW, BY_KILL)) break
    const returned = await all(store.revokeWhere(issuer, { userId: 'target' }, NOW, BY_KILL))
    const ids = new Set(idsOf(returned))
    for (const { id } of tokens) {
      assert.ok(ids.has(id), 'what a kill switch stopped and no one reported is lost')
      assert.deepEqual((await stored(id)).revocation, BY_KILL)
    }
    for (const { token, unreported } of returned)
      assert.deepEqual([unreported, token.use?.grantId], [true, `grant ${token.id}`])
  })
}

const NOTE: Acknowledgement = { at: NOW, by: 'carol', note: 'asked', coversReplay: false }
