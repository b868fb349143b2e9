/** The state of a record, as its row and its page say it. */
import { expect } from 'chai'
import { type People, peopleFor } from '../../src/console/people.ts'
import { stateCell, wordOf } from '../../src/console/state.ts'
import type { SubjectTokenRecord } from '../../src/records/record.ts'

const NOW = Date.UTC(2026, 10, 21, 20, 10, 48) / 1000

const UNUSED: SubjectTokenRecord = {
  id: '0'.repeat(32),
  userId: 'alice',
  context: {},
  createdBy: 'backend',
  createdAt: NOW - 540,
  expiresAt: NOW + 60,
  state: 'active',
}
const LIVE: SubjectTokenRecord = {
  ...UNUSED,
  state: 'consumed',
  usedBy: 'desk',
  consumedAt: NOW - 120,
  accessToken: { format: 'jwt', expiresAt: NOW + 184 },
}
const STOPPED = { state: 'revoked', revokedAt: NOW - 60 } as const
const REPLAYED = { replay: { at: NOW - 60, clientId: 'thief' } }

const RUNS = `<b class="pill live">Live</b> <small data-until="${NOW + 184}">3:04</small>`
const KEPT =
  '<b class="pill alarm">Stopped, still live</b> <small>cannot be ended, expires at <time datetime="2026-11-21T20:13:52Z">20:13:52</time></small>'
const byDora = {
  ...STOPPED,
  revocation: { cause: 'console', by: 'dora', reason: 'wrong customer' },
} as const

const SESSION: SubjectTokenRecord = {
  ...UNUSED,
  use: 'session',
  state: 'consumed',
  usedBy: 'shop',
  consumedAt: NOW - 120,
  session: { endsAt: NOW + 184, logout: 'pending' },
}

const ROWS: Readonly<Record<string, readonly [SubjectTokenRecord, string, string]>> = {
  'a session': [SESSION, 'Live', `${RUNS} <small>session</small>`],
  'a session whose application cannot be told': [
    { ...SESSION, session: { endsAt: NOW + 184, logout: 'unsupported' } },
    'Live',
    `${RUNS} <b class="alarm">session, cannot be told</b>`,
  ],
  'a session that its application did not confirm': [
    { ...SESSION, session: { endsAt: NOW, logout: 'gaveUp', logoutAt: NOW } },
    'Expired',
    '<b class="pill ended">Expired</b> <small>2:00</small> <b class="alarm">session, not confirmed</b>',
  ],
  'a session that has run out': [
    { ...SESSION, session: { endsAt: NOW, logout: 'confirmed' } },
    'Expired',
    '<b class="pill ended">Expired</b> <small>2:00</small> <small>session</small>',
  ],
  'a session that was stopped': [
    { ...SESSION, ...byDora },
    'Stopped',
    '<b class="pill stopped">Stopped by <bdi>Dora Dorn</bdi></b> <small>1:00</small> <small>session</small>',
  ],
  'not used yet': [
    UNUSED,
    'Not used yet',
    '<b class="pill ended">Not used yet</b> <small>until <time datetime="2026-11-21T20:11:48Z">20:11:48</time></small>',
  ],
  'never used': [{ ...UNUSED, state: 'expired' }, 'Never used', '<b class="pill ended">Never used</b> '],
  live: [LIVE, 'Live', RUNS],
  expired: [
    { ...LIVE, accessToken: { format: 'opaque', expiresAt: NOW } },
    'Expired',
    '<b class="pill ended">Expired</b> <small>2:00</small>',
  ],
  'stopped by someone': [
    { ...LIVE, ...byDora },
    'Stopped',
    '<b class="pill stopped">Stopped by <bdi>Dora Dorn</bdi></b> <small>1:00</small>',
  ],
  'stopped by no one in particular': [
    { ...LIVE, ...STOPPED, revocation: { cause: 'command' } },
    'Stopped',
    '<b class="pill stopped">Stopped</b> <small>1:00</small>',
  ],
  'stopped before it was used': [
    { ...UNUSED, ...byDora },
    'Stopped',
    '<b class="pill stopped">Stopped by <bdi>Dora Dorn</bdi></b> ',
  ],
  'ended by the engineer': [
    { ...LIVE, ...STOPPED, revocation: { cause: 'self', by: 'sam', reason: 'done' } },
    'Ended by the engineer',
    '<b class="pill ended">Ended by the engineer</b> <small>1:00</small>',
  ],
  continued: [
    { ...LIVE, ...STOPPED, revocation: { cause: 'continued', continuedBy: 'f'.repeat(32) } },
    'Continued',
    '<b class="pill ended">Continued</b> <small>1:00</small>',
  ],
  'signed out': [
    { ...LIVE, ...STOPPED, revocation: { cause: 'signedOut' } },
    'Signed out',
    '<b class="pill ended">Signed out</b> <small>1:00</small>',
  ],
  'stopped because it was used again': [
    { ...LIVE, ...STOPPED, ...REPLAYED, revocation: { cause: 'replay' } },
    'Used again',
    '<b class="pill alarm">Used again</b> <small>1:00</small>',
  ],
  'used again once it was stopped': [
    { ...LIVE, ...REPLAYED, ...byDora },
    'Used again',
    '<b class="pill alarm">Used again</b> <small>1:00</small>',
  ],
  'used again, and live all the same': [
    { ...LIVE, ...REPLAYED },
    'Used again',
    `<b class="pill alarm">Used again</b> <small data-until="${NOW + 184}">3:04</small>`,
  ],
  'stopped, and nothing could end it': [
    { ...LIVE, ...STOPPED, revocation: { cause: 'api', ended: 'kept' } },
    'Stopped, still live',
    KEPT,
  ],
  'ended by the engineer, and nothing could end it': [
    { ...LIVE, ...STOPPED, revocation: { cause: 'self', ended: 'kept' } },
    'Stopped, still live',
    KEPT,
  ],
  'used again, and nothing could end it': [
    { ...LIVE, ...STOPPED, ...REPLAYED, revocation: { cause: 'replay', ended: 'kept' } },
    'Used again',
    KEPT.replace('Stopped, still live', 'Used again'),
  ],
  'stopped without effect, and expired since': [
    {
      ...LIVE,
      ...STOPPED,
      accessToken: { format: 'jwt', expiresAt: NOW },
      revocation: { cause: 'api', ended: 'kept' },
    },
    'Stopped',
    '<b class="pill stopped">Stopped</b> <small>2:00</small>',
  ],
}

describe('console: the state of a record', () => {
  let people: People
  before(async () => {
    people = await peopleFor(['dora'], { nameOf: () => new Map([['dora', 'Dora Dorn']]) }, () => undefined)
  })

  for (const [title, [record, word, cell]] of Object.entries(ROWS))
    it(title, () => {
      expect(wordOf(record, NOW)).to.equal(word)
      expect(String(stateCell(record, NOW, people))).to.equal(cell)
    })
})
