/** No matter what is wrong with a received token, the response is the same to the byte: no oracle (protocol.md §8.2). */
import { expect } from 'chai'
import { actorJwt, actorToken } from '../../fixtures/actor-tokens.ts'
import { now } from '../../fixtures/clock.ts'
import { onSqlite } from '../../fixtures/each-database.ts'
import { revoke } from '../../fixtures/management.ts'
import {
  BILLING,
  billingApi,
  downstream,
  LEDGER,
  passedOn,
  passOn,
  viewed,
} from '../../fixtures/on-behalf-of.ts'
import { SUBJECT_TOKEN_REFUSED } from '../../fixtures/refused.ts'

describe('on behalf of: the response to a bad token', () => {
  onSqlite(downstream(), (on) => {
    it('is the same to the byte, no matter what is wrong', async () => {
      const { deployment } = on
      const jwt = (changes: object) => actorJwt(deployment, { sub: 'alice', ...changes })
      const stopped = await viewed(deployment)
      await revoke(deployment, stopped.id)
      const child = await passedOn(deployment, (await viewed(deployment)).accessToken)
      const bad: Readonly<Record<string, string>> = {
        malformed: 'x',
        unsigned: `${(await jwt({})).split('.').slice(0, 2).join('.')}.`,
        expired: await jwt({ exp: now() - 1 }),
        stopped: stopped.accessToken,
        'for another audience': await jwt({ aud: BILLING }),
        'of a client that is gone': await jwt({ client_id: 'gone' }),
        'of a user that is gone': await jwt({ sub: 'mallory' }),
        'with an actor and without status': await jwt({ act: { sub: 'bob' } }),
        'with an API twice': await jwt({ act: { sub: 'orders-api', client_id: 'orders-api' } }),
        'with too many APIs': await jwt({ act: { sub: 'a', client_id: 'a' } }),
        'bound to a key': await jwt({ cnf: { jkt: 'x' } }),
        'opaque, for another audience': await actorToken(deployment, { audience: BILLING }),
        'opaque and unknown': 'x'.repeat(43),
      }
      const responses = await Promise.all(
        Object.entries(bad).map(async ([title, token]) => [title, await passOn(deployment, token)] as const),
      )
      const billing = { client: billingApi() }
      const tooFar = await passOn(deployment, child.accessToken, { resource: LEDGER }, billing)
      for (const [title, { status, text, headers }] of [
        ...responses,
        ['a chain too long', tooFar] as const,
      ]) {
        expect([status, JSON.parse(text)], title).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
        expect(text, title).to.equal(responses[0]?.[1].text)
        const names = [...headers.keys()].filter((name) => name !== 'date')
        expect(names, title).to.deep.equal(
          [...(responses[0]?.[1].headers.keys() ?? [])].filter((n) => n !== 'date'),
        )
      }
    })
  })
})
