/** A subject token that is presented again: what becomes of the record and of the access token, and what is told (docs/protocol.md §3.1, §6). */
import { expect } from 'chai'
import { webClient } from '../../fixtures/clients.ts'
import { now } from '../../fixtures/clock.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import { revoke } from '../../fixtures/management.ts'
import { exchanged, ready, type Sender, send } from './exchanging.ts'
import { answers, changesNothing, recordSays, tokenHasEnded, tokenLivesOn } from './expectations.ts'
import { fails, issuedWith, meanwhile, on, passes, works } from './given.ts'
import { declareCells } from './matrix.ts'
import { type Named, type Step, type Steps, values } from './rule.ts'
import { pairwise, type SettingName } from './settings.ts'

const FORMATS = { 'a JWT': { resource: API }, 'an opaque token': { resource: OPAQUE_API } } as const
const isJwt = ({ resource }: { readonly resource: string }): boolean => resource === API

/** It authenticates. */
const byWeb: Sender = { client: webClient() }
const refusedWith = (ended: string, members: object = {}): Steps => [
  answers(400, 'invalid_request', 'subject_token is invalid'),
  ({ events }) => {
    expect(events.at(-1)?.name).to.equal('subject_token.replayed')
    expect(events.at(-1)?.payload).to.include({ ended, ...members })
  },
]
/** A use after the exchange: refused as always, and told by one event, which says what became of the access token. */
const again = (ended: string, members?: object, sender = byWeb): Steps => [
  send({}, sender),
  refusedWith(ended, members),
  ({ events }) => expect(events).to.have.length(1),
]
const revoked: Step = ({ setting, id }) => revoke(setting, id)
const replayOf = (clientId: string) => ({ at: now(), clientId })
const BY_REPLAY = { state: 'revoked', revocation: { cause: 'replay' } }
const untouched = recordSays({ state: 'consumed', replay: undefined })

const WITHOUT = 'without status lists'
const WITH = 'with status lists, of the issuer that had none'
/** The options of the exchange, those of the first use after it, and what is told of the next one with the first options. */
const CHANGED: Named<readonly [SettingName, SettingName, ended: string, afterwards: string]> = {
  'status lists have come': [WITHOUT, WITH, 'kept', 'kept'],
  'status lists have gone': [WITH, WITHOUT, 'now', 'before'],
}

declareCells('E, replays', [
  values('E30', FORMATS, (target) => [
    passes(0),
    exchanged(target),
    passes(4),
    again('now', { sameClient: false, secondsAfter: 4 }),
    recordSays(() => ({ ...BY_REPLAY, usedBy: 'spa', revokedAt: now(), replay: replayOf('web') })),
    tokenHasEnded,
  ]),
  values('E30, a lost race', FORMATS, (target) => [
    passes(0),
    ready,
    meanwhile('store.consume', exchanged(target)),
    send(target),
    refusedWith('now'),
    recordSays(() => ({ ...BY_REPLAY, replay: replayOf('spa') })),
    tokenHasEnded,
  ]),
  values('E30, whatever else is wrong', { 'another client, after the expiry': 3600 }, (seconds) => [
    passes(0),
    issuedWith({ clientId: 'spa' }),
    exchanged(),
    passes(seconds),
    send({ resource: 'https://unknown.example.com' }, byWeb),
    refusedWith('expired'),
    recordSays(() => ({ replay: replayOf('web') })),
  ]),
  values('E30, a clock', { 'that was set back': 30 }, (seconds) => [
    passes(0),
    exchanged(),
    (scene) => scene.setBack(seconds),
    again('now', { secondsAfter: 0 }),
    recordSays(BY_REPLAY),
  ]),
  values('E55, a replay', { error_detail: 'used before' }, (detail) => [
    exchanged(),
    again('now'),
    ({ setting }) => expect(setting.logged.at(-1)).to.have.property('error_detail', detail),
    recordSays(BY_REPLAY),
  ]),
  values('E86', FORMATS, (target) => [
    on(WITHOUT),
    passes(0),
    exchanged(target),
    again(isJwt(target) ? 'kept' : 'now'),
    again(isJwt(target) ? 'kept' : 'before'),
    recordSays(() => ({
      state: 'revoked',
      revocation: { cause: 'replay', ...(isJwt(target) && { ended: 'kept' }) },
      replay: replayOf('web'),
    })),
  ]),
  values('E86, the options are others now', CHANGED, ([before, after, ended, afterwards]) => [
    on(WITHOUT),
    ready,
    on(before),
    exchanged(),
    on(after),
    again(ended),
    on(before),
    again(afterwards),
    on(WITHOUT),
    recordSays({ state: 'revoked' }),
  ]),
  values('E31, revoked before', FORMATS, (target) => [
    passes(0),
    exchanged(target),
    revoked,
    passes(3),
    again('before', { secondsAfter: 3 }),
    recordSays(() => ({
      revokedAt: now() - 3,
      revocation: { cause: 'api', client: 'backend' },
      replay: replayOf('web'),
    })),
  ]),
  values('E31, expired', FORMATS, (target) => [
    passes(0),
    exchanged(target),
    passes(600),
    again('expired'),
    again('expired'),
    recordSays(() => ({ state: 'consumed', revokedAt: undefined, replay: replayOf('web') })),
  ]),
  values('E32', FORMATS, (target) => [
    passes(0),
    exchanged(target),
    again('now'),
    passes(5),
    again('before', { sameClient: true, secondsAfter: 5 }, {}),
    changesNothing,
  ]),
  values('E33', FORMATS, (target) => [
    exchanged(target),
    fails('store.recordReplay'),
    again('failed'),
    untouched,
    isJwt(target) ? tokenLivesOn : tokenHasEnded,
    works('store.recordReplay'),
    again('now'),
    recordSays({ ...BY_REPLAY, replay: ({ clientId }: { clientId: string }) => clientId === 'web' }),
    tokenHasEnded,
  ]),
  values('E33, the end fails', { 'an opaque token': FORMATS['an opaque token'] }, (target) => [
    exchanged(target),
    fails('Grant.destroy'),
    again('failed'),
    untouched,
    tokenLivesOn,
    works('Grant.destroy'),
    again('now'),
    recordSays(BY_REPLAY),
    tokenHasEnded,
  ]),
  values('E34', FORMATS, (target) => [
    on('with a leeway'),
    passes(0),
    exchanged(target, byWeb),
    again('kept', { sameClient: true, secondsAfter: 0 }),
    passes(10),
    again('kept', { sameClient: true, secondsAfter: 10 }),
    changesNothing,
    untouched,
    passes(1),
    again('now', { sameClient: true, secondsAfter: 11 }),
    recordSays(() => ({ ...BY_REPLAY, replay: replayOf('web') })),
  ]),
  values('E34, what lives on', FORMATS, (target) => [
    on('with a leeway'),
    exchanged(target, byWeb),
    again('kept'),
    untouched,
    tokenLivesOn,
  ]),
  values('E34, a lost race', FORMATS, (target) => [
    on('with a leeway'),
    ready,
    meanwhile('store.consume', exchanged(target, byWeb)),
    send(target, byWeb),
    refusedWith('kept'),
    untouched,
    tokenLivesOn,
  ]),
  values('E34, of a revoked record', FORMATS, (target) => [
    on('with a leeway'),
    exchanged(target, byWeb),
    revoked,
    again('before'),
    recordSays({ replay: undefined }),
  ]),
  values<readonly [first: Sender, next: Sender, sameClient: boolean]>(
    'E34, who is not forgiven',
    {
      'another client': [byWeb, { client: pairwise }, false],
      'a client that authenticates, after one that does not': [{}, byWeb, false],
      'a public client': [{}, {}, true],
    },
    ([first, next, sameClient]) => [
      on('with a leeway'),
      passes(0),
      exchanged({}, first),
      again('now', { sameClient, secondsAfter: 0 }, next),
      recordSays(() => ({ ...BY_REPLAY, replay: replayOf(next.client?.client_id ?? 'spa') })),
    ],
  ),
  values('E34, without leeway', { 'in the second of the exchange': byWeb }, (sender) => [
    passes(0),
    exchanged({}, sender),
    again('now', { sameClient: true, secondsAfter: 0 }),
    recordSays(BY_REPLAY),
  ]),
])
