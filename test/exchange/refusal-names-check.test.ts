/** The operator reads which check refused; the client does not (protocol.md §3, §6). */
import { expect } from 'chai'
import { actorJwt, actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { onSqlite } from '../../fixtures/each-database.ts'
import type { Parameters } from '../../fixtures/http.ts'
import { exchange, issue, postSubjectToken } from '../../fixtures/requests.ts'
import { AccessDenied, type ImpersonationOptions, type PolicyRequest } from '../../src/index.ts'
import { expectRefused, onlyEvent } from './refusals.ts'

describe('token exchange: a refusal names its check', () => {
  onSqlite({}, (on) => {
    type Case = [
      check: string,
      options: Partial<ImpersonationOptions>,
      error: string,
      parameters: () => Promise<Parameters>,
    ]
    const bob = async () => withActor(await actorJwt(on.deployment))
    const none = async () => ({})
    const cases: Case[] = [
      [
        'actorIsNotSubject',
        {},
        'invalid_request',
        async () => withActor(await actorJwt(on.deployment, { sub: 'alice' })),
      ],
      ['requireActor', { requireActor: true }, 'invalid_request', none],
      ['requiredContext', { requiredContext: ['ticketId', 'reason'] }, 'access_denied', bob],
      [
        'maxDelegationDepth',
        { maxDelegationDepth: 2 },
        'invalid_request',
        async () => withActor(await actorJwt(on.deployment, { act: { sub: 'carol', act: { sub: 'dave' } } })),
      ],
      ['isAllowed', { isAllowed: ({ stage }: PolicyRequest) => stage === 'issuance' }, 'access_denied', bob],
      [
        'getCustomJwtClaims',
        {
          getCustomJwtClaims: () => {
            throw new AccessDenied('private: ticket is closed')
          },
        },
        'access_denied',
        none,
      ],
    ]
    for (const [check, options, error, parameters] of cases) {
      it(`${check}, in the event and never in the response, and spends nothing`, async () => {
        const strict = await on.start({ issuer: on.deployment.issuer, options })
        const { subjectToken, id } = await issue(on.deployment, { context: { ticketId: 'T-1' } })
        const response = await exchange(strict, { subject_token: subjectToken, ...(await parameters()) })
        expect([response.status, response.body.error], response.text).to.deep.equal([400, error])
        for (const secret of [check, 'private', 'reason', 'carol'])
          expect(response.text).not.to.include(secret)
        const event = onlyEvent(strict, 'subject_token.refused')
        expect(event).to.include({ check, error, stage: 'exchange' })
        expect(event.id ?? id).to.equal(id)
        // If the rule does not apply, the same token still works.
        const lenient = await exchange(on.deployment, { subject_token: subjectToken })
        expect(lenient.status, lenient.text).to.equal(200)
      })
    }

    it('at the issuance, too', async () => {
      const strict = await on.start({ options: { isAllowed: () => false } })
      const responses = [
        await postSubjectToken(strict, { userId: 'alice', actorId: 'alice' }),
        await postSubjectToken(strict, { userId: 'alice' }),
      ]
      for (const response of responses) {
        expect([response.status, response.text]).to.deep.equal([403, responses[0]?.text])
      }
      const checks = strict.events.map(({ payload }) => 'check' in payload && payload.check)
      expect(checks).to.deep.equal(['actorIsNotSubject', 'isAllowed'])
    })

    it('of an actor constraint: a missing actor, and another actor', async () => {
      for (const [attempt, valid] of [
        [none, bob],
        [async () => withActor(await actorToken(on.deployment, { accountId: 'carol' })), bob],
      ] as const) {
        await expectRefused(on.deployment, {
          issued: { actorId: 'bob' },
          attempt: async (token) => exchange(on.deployment, { subject_token: token, ...(await attempt()) }),
          valid: async (token) => exchange(on.deployment, { subject_token: token, ...(await valid()) }),
          error: 'invalid_request',
          description: 'subject_token is invalid',
          check: 'subject_token',
        })
      }
    })
  })
})
