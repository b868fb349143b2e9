/** The state of a record, as its row and its page say it. */
import { expect } from 'chai'
import { html } from '../../src/console/html.ts'
import { NO_NAMES } from '../../src/console/people.ts'
import { stateCell } from '../../src/console/state.ts'
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

const RUNS = `<b class="pill live">live · <span data-until="${NOW + 184}">3:04</span></b>`
const BY_DORA =
  '<b class="pill warn">stopped</b><small>by <bdi>dora</bdi> “<bdi>wrong customer</bdi>”</small>'

describe('console: the state of a record', () => {
  const byDora = {
    ...STOPPED,
    revocation: { cause: 'console', by: 'dora', reason: 'wrong customer' },
  } as const

  for (const [title, record, expected] of [
    ['not used yet', UNUSED, '<b class="pill ">not used yet</b><small>until 20:11:48</small>'],
    ['never used', { ...UNUSED, state: 'expired' }, '<b class="pill ">never used</b>'],
    ['live', LIVE, RUNS],
    [
      'ended',
      { ...LIVE, accessToken: { format: 'opaque', expiresAt: NOW } },
      '<b class="pill ">ended after 2:00</b>',
    ],
    ['stopped', { ...LIVE, ...byDora }, BY_DORA],
    [
      'stopped because it was used again',
      { ...LIVE, ...STOPPED, ...REPLAYED, revocation: { cause: 'replay' } },
      '<b class="pill bad">used again</b><small>by <bdi>thief</bdi>, 20:09:48</small>',
    ],
    [
      'ended by the engineer',
      { ...LIVE, ...STOPPED, revocation: { cause: 'self', by: 'sam', reason: 'done' } },
      '<b class="pill ">ended</b><small>by <bdi>sam</bdi> “<bdi>done</bdi>”</small>',
    ],
    [
      'stopped, and nothing could end it',
      { ...LIVE, ...STOPPED, revocation: { cause: 'api', ended: 'kept' } },
      `${RUNS.replace('pill live', 'pill bad')}<small>stopped: cannot be ended, expires at 20:13:52</small>`,
    ],
    [
      'used again, and nothing could end it',
      { ...LIVE, ...STOPPED, ...REPLAYED, revocation: { cause: 'replay', ended: 'kept' } },
      `<b class="pill bad">used again</b>${RUNS.replace('pill live', 'pill bad')}<small>stopped: cannot be ended, expires at 20:13:52</small>`,
    ],
    [
      'stopped, and expired since',
      {
        ...LIVE,
        ...STOPPED,
        accessToken: { format: 'jwt', expiresAt: NOW },
        revocation: { cause: 'api', ended: 'kept' },
      },
      '<b class="pill warn">stopped</b><small></small>',
    ],
    ['used again and live', { ...LIVE, ...REPLAYED }, `<b class="pill bad">used again</b>${RUNS}`],
    [
      'used again once it was stopped',
      { ...LIVE, ...REPLAYED, ...byDora },
      `<b class="pill bad">used again</b>${BY_DORA}`,
    ],
  ] as const) {
    it(title, () => {
      expect(html`${stateCell(record, NOW)}`.write(NO_NAMES)).to.equal(expected)
    })
  }
})
