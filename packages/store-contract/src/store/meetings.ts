/** Who meets whom at the same moment, and the rule that the order of each two keeps. */

import assert from 'node:assert/strict'
import type {
  Acknowledgement,
  KillFilter,
  SubjectToken,
  SubjectTokenStore,
  SubjectTokenUse,
} from 'oidc-provider-impersonation'
import { isSpent } from 'oidc-provider-impersonation/inside'
import { type Act, assertOrders, type Meeting, NOT_STORED, toldOf } from './orders.ts'
import { ofSessions, sessionUse } from './sessions.ts'
import { all, BY_API, BY_KILL, ENDS_AT, NOW, type Test, useOf } from './tokens.ts'

type Create = Meeting[0]

const unspent: Create = async ({ named }) => [await named()]
const spent: Create = async ({ acted }) => [await acted()]
const spentAlone: Create = async ({ newToken, spend, stored }) => {
  const { id } = newToken()
  await spend({ grantId: `grant ${id}` }, { id, userId: `user ${id}` })
  return [await stored(id)]
}
const toInsert: Create = async ({ newToken }) => [{ ...newToken(), statusIndex: NOT_STORED }]
const issued: Create = async ({ named }) => [
  await named({ purpose: 'session', clientId: 'shop', actorId: 'bob' }),
]
const three =
  (create: Create): Create =>
  async (tokens) => [...(await create(tokens)), ...(await create(tokens)), ...(await create(tokens))]
/** What was created, and then called so. */
const after =
  (create: Create, act: Act): Create =>
  async (tokens) => {
    const subject = await create(tokens)
    await act(tokens.store, ...subject)
    return [await tokens.stored(subject[0].id)]
  }

const spend =
  (changes: Partial<SubjectTokenUse> = {}): Act =>
  (store, token) =>
    store.consume(token, NOW, { ...useOf(token), ...changes })
const revoke =
  (why = BY_API): Act =>
  async (store, { issuer, id }) => {
    const revoked = await store.revoke(issuer, id, NOW, why)
    return toldOf(revoked ?? assert.fail('a revocation did not return a token that is there'))
  }
const kill =
  (filterOf: (token: SubjectToken) => KillFilter, why = BY_KILL): Act =>
  async (store, token) => {
    const yielded = await all(store.revokeWhere(token.issuer, filterOf(token), NOW, why))
    return yielded.filter((one) => one.token.id === token.id).map(toldOf)
  }
const byUser = ({ userId }: SubjectToken): KillFilter => ({ userId })
const replayOf = (store: SubjectTokenStore, token: SubjectToken, clientId: string) =>
  store.recordReplay(isSpent(token) ? token : assert.fail('the record shows no use'), { at: NOW, clientId })
const replay =
  (clientId = 'thief'): Act =>
  (store, token) =>
    replayOf(store, token, clientId)
/** A spend whose loser finds why, and records a replay. */
const spendOrReplay =
  (clientId: string): Act =>
  async (store, token) => {
    if (await spend({ clientId })(store, token)) return 'won'
    const found = await store.find(token.issuer, token.id)
    return { stopped: await replayOf(store, found ?? token, clientId) }
  }
const acknowledge =
  (changes: Partial<Acknowledgement> = {}): Act =>
  (store, token) => {
    const note = { at: NOW, by: 'carol', note: 'asked', coversReplay: false, ...changes }
    return store.acknowledge(isSpent(token) ? token : assert.fail('the record shows no use'), note)
  }
const report =
  (from: number, until: number): Act =>
  async (store, ...subject) => {
    const ids = subject.slice(from, until).map(({ id }) => id)
    return (await store.report(subject[0].issuer, ids)).toSorted()
  }
const insertAs =
  (userId: string): Act =>
  (store, { statusIndex: _, ...token }) =>
    store.insert({ ...token, userId }).then(
      () => 'stored',
      () => 'rejected',
    )
const open: Act = (store, token) => store.consume(token, NOW, sessionUse())
const claim =
  (next: number): Act =>
  async (store, { issuer, id }) =>
    store.sessions?.claim(issuer, id, ENDS_AT, next)
const settle: Act = async (store, { issuer, id }) =>
  store.sessions?.settle(issuer, id, { mark: null, logout: 'confirmed', at: NOW + 1 })
/** Whatever it answers: it may be told before or after what it meets. */
const unheard =
  (act: Act): Act =>
  async (...given) => {
    await act(...given)
  }

const MEETINGS: Readonly<Record<string, readonly Meeting[]>> = {
  'spend and spend at the same moment: one of them wins': [
    [unspent, spend({ clientId: 'one' }), spend({ clientId: 'other' })],
  ],
  'spend and revocation at the same moment: one of two orders': [[unspent, spend(), revoke()]],
  'spend and kill switch of a user at the same moment: one of two orders': [[unspent, spend(), kill(byUser)]],
  'spend and kill switch of a backend at the same moment: one of two orders': [
    [unspent, spend(), kill(({ createdBy }) => ({ createdBy }))],
  ],
  'spend and kill switch of an actor at the same moment: one of two orders': [
    [unspent, spend(), kill(({ id }) => ({ actorId: `newest ${id}` }))],
  ],
  'spend and kill switch of a link of its chain at the same moment: it is stopped or never found': [
    [unspent, spend(), kill(({ id }) => ({ actorId: `oldest ${id}` }))],
  ],
  'spend, revocation and kill switch at the same moment: one order of the three': [
    [unspent, spend(), revoke(), kill(byUser)],
  ],
  'a spend that loses finds why at once, and its replay stops what the winner got': [
    [unspent, spendOrReplay('one'), spendOrReplay('other')],
  ],
  'revocation and revocation at the same moment: one cause, and one report': [
    [unspent, revoke(), revoke({ cause: 'console', by: 'carol' })],
  ],
  'kill switch and revocation at the same moment: one cause, and the use from both': [
    [spent, kill(byUser), revoke()],
  ],
  'kill switch and kill switch at the same moment: each token is stopped once, and told': [
    [unspent, kill(byUser), kill(byUser, { cause: 'api', client: 'other' })],
    [spent, kill(byUser), kill(byUser, { cause: 'api', client: 'other' })],
  ],
  'replay and replay at the same moment: one is on the record, and it stopped the token': [
    [spent, replay('one'), replay('other')],
  ],
  'replay and revocation at the same moment: one of them stops the token, and tells': [
    [spent, revoke(), replay()],
  ],
  'replay and kill switch at the same moment: one of them stops the token, and tells': [
    [spent, kill(byUser), replay()],
  ],
  'report and report at the same moment: each id is returned once': [
    [three(after(spent, revoke())), report(0, 2), report(1, 3)],
  ],
  'report and stop at the same moment: the stop is reported once, by this call or the next': [
    [spent, unheard(revoke()), report(0, 1)],
    [spent, unheard(kill(byUser)), report(0, 1)],
  ],
  'acknowledgement and replay at the same moment: both are on the record': [
    [spentAlone, replay(), acknowledge()],
  ],
  'acknowledgement and stop at the same moment: both are on the record': [
    [spentAlone, revoke(), acknowledge()],
  ],
  'acknowledgement and acknowledgement at the same moment: one is on the record': [
    [spentAlone, acknowledge({ by: 'one' }), acknowledge({ by: 'other' })],
  ],
  'two acknowledgements at the same moment, one after a replay: that one is on the record': [
    [after(spentAlone, replay()), acknowledge(), acknowledge({ by: 'dora', coversReplay: true })],
  ],
  'insertion and insertion of one id at the same moment: one is stored': [
    [toInsert, insertAs('one'), insertAs('other')],
  ],
}

/** Meetings of calls of a store that has `sessions`. */
const MEETINGS_OF_SESSIONS: typeof MEETINGS = {
  'session and stop at the same moment: it is to be ended, or was never opened': [
    [issued, open, revoke(BY_KILL)],
    [issued, open, kill(byUser)],
  ],
  'claim and claim at the same moment: one of them is granted': [
    [after(issued, open), claim(ENDS_AT + 1), claim(ENDS_AT + 2)],
  ],
  'claim and settlement at the same moment: it stays settled': [
    [after(issued, open), claim(ENDS_AT + 1), settle],
  ],
  'settlement and stop at the same moment: both are on the record': [
    [after(issued, open), settle, revoke(BY_KILL)],
    [after(issued, open), settle, replay()],
  ],
}

export function describeMeetings(test: Test): void {
  const assertAll = async (store: SubjectTokenStore, meetings: readonly Meeting[]) => {
    for (const meeting of meetings) await assertOrders(store, meeting)
  }
  for (const [title, meetings] of Object.entries(MEETINGS))
    test(title, ({ store }) => assertAll(store, meetings))
  for (const [title, meetings] of Object.entries(MEETINGS_OF_SESSIONS))
    ofSessions(test)(title, (store) => assertAll(store, meetings))
}
