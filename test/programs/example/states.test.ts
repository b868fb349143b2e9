/** The desk and the console say the same of a record. */
import { expect } from 'chai'
import { stateCell } from '../../../packages/console/src/state.ts'
import { epochTime } from '../../../src/base/clock.ts'
import type { SubjectTokenRecord } from '../../../src/records/record.ts'

const AT_THE_DESK: string = '../../../example/desk/public/states.js'
const { toneOf, wordOf } = await import(AT_THE_DESK)

const NOW = epochTime()
const RECORD = { id: 'a', createdAt: NOW - 400, expiresAt: NOW + 200, context: {}, createdBy: 'backend' }
const USED = { ...RECORD, consumedAt: NOW - 390 }
const live = { accessToken: { format: 'jwt', expiresAt: NOW + 100 } }
const over = { accessToken: { format: 'jwt', expiresAt: NOW - 100 } }
const stopped = (cause: string) => ({
  state: 'revoked',
  revokedAt: NOW - 300,
  revocation: { cause, by: 'sam' },
})

const RECORDS: Readonly<Record<string, object>> = {
  'not used yet': { ...RECORD, state: 'active' },
  'never used': { ...RECORD, state: 'expired', expiresAt: NOW - 10 },
  live: { ...USED, ...live, state: 'consumed' },
  expired: { ...USED, ...over, state: 'consumed' },
  'used again': { ...USED, ...live, ...stopped('replay'), replay: { at: NOW - 300 } },
  'used again, after its end': { ...USED, ...over, state: 'consumed', replay: { at: NOW - 10 } },
  'used again, and nothing could end it': { ...USED, ...live, state: 'consumed', replay: { at: NOW - 10 } },
  ...Object.fromEntries(
    ['self', 'continued', 'signedOut', 'api', 'console', 'host', 'replay', 'command', 'unknown'].map(
      (cause) => [`stopped, ${cause}`, { ...USED, ...live, ...stopped(cause) }],
    ),
  ),
}

describe('example: the states of the record', () => {
  for (const [what, record] of Object.entries(RECORDS)) {
    it(`are those of the console: ${what}`, () => {
      const cell = String(stateCell(record as SubjectTokenRecord, NOW, { short: () => '' } as never))
      const [, tone, word] = /class="pill (\w+)">([^<]*?)(?: by )?</.exec(cell) ?? []
      expect([toneOf(record), wordOf(record)]).to.deep.equal([tone, word])
    })
  }
})
