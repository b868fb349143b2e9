/** No matter what is wrong with a subject token, the response is the same to the byte: no oracle (protocol.md §3). */
import { expect } from 'chai'
import { actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { webClient } from '../../fixtures/clients.ts'
import { stopClock } from '../../fixtures/clock.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import { onSqlite } from '../../fixtures/each-database.ts'
import type { HttpResponse } from '../../fixtures/http.ts'
import { revoke } from '../../fixtures/management.ts'
import { SUBJECT_TOKEN_REFUSED } from '../../fixtures/refused.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import { mintId } from '../../src/subject-tokens/id.ts'
import { mintToken } from '../../src/subject-tokens/secret.ts'

describe('token exchange: the response to a bad subject token', () => {
  onSqlite({}, (on) => {
    for (const [resource, userId] of [
      [API, 'erin'],
      [OPAQUE_API, 'dave'],
    ] as const) {
      it(`is the same to the byte, no matter what is wrong, for ${resource}`, async () => {
        const { deployment } = on
        const clock = stopClock()
        try {
          const [expired, used, revoked, revokedUsed, otherClient, otherActor] = [
            await issue(deployment, { expiresIn: 1 }),
            await issue(deployment),
            await issue(deployment),
            await issue(deployment),
            await issue(deployment, { clientId: 'web' }),
            await issue(deployment, { actorId: 'carol' }),
          ]
          const [otherResource, disabledUser] = [
            await issue(deployment, { resource: 'https://elsewhere.example.com' }),
            await issue(deployment, { userId }),
          ]
          for (const { subjectToken } of [used, revokedUsed]) {
            await exchange(deployment, { subject_token: subjectToken, resource }, { client: webClient() })
          }
          for (const { id } of [revoked, revokedUsed]) await revoke(deployment, id)
          const other = await on.start()
          const foreign = await issue(other)
          deployment.accounts.disable(userId)
          clock.tick(1)

          const bad: Readonly<Record<string, string>> = {
            unknown: mintToken(mintId()),
            'the secret of another': `${used.subjectToken.slice(0, 26)}${revoked.subjectToken.slice(26)}`,
            malformed: 'x',
            expired: expired.subjectToken,
            used: used.subjectToken,
            revoked: revoked.subjectToken,
            'used and revoked': revokedUsed.subjectToken,
            'of another client': otherClient.subjectToken,
            'of another actor': otherActor.subjectToken,
            'for another resource': otherResource.subjectToken,
            'of a disabled user': disabledUser.subjectToken,
            'of another issuer': foreign.subjectToken,
          }
          const responses: [title: string, response: HttpResponse][] = []
          for (const actor of [{}, withActor(await actorToken(deployment))]) {
            for (const [title, token] of Object.entries(bad)) {
              const parameters = { subject_token: token, resource, scope: 'orders:read', ...actor }
              responses.push([title, await exchange(deployment, parameters)])
            }
          }
          for (const [title, { status, text, headers }] of responses) {
            expect([status, text], title).to.deep.equal([400, JSON.stringify(SUBJECT_TOKEN_REFUSED)])
            const kept = [...headers].filter(([name]) => name !== 'date')
            const first = [...(responses[0]?.[1].headers ?? [])].filter(([name]) => name !== 'date')
            expect(kept, title).to.deep.equal(first)
          }
        } finally {
          clock.restore()
        }
      })
    }
  })
})
