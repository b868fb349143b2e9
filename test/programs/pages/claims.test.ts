/** docs/claims.md: the recipe for several organisations, in a deployment. */
import { expect } from 'chai'
import { actorToken, withActor } from '../../../fixtures/actor-tokens.ts'
import { webClient } from '../../../fixtures/clients.ts'
import { withDeployment } from '../../../fixtures/deployment.ts'
import { programsOf } from '../../../fixtures/markdown.ts'
import { exchange, issue, postSubjectToken } from '../../../fixtures/requests.ts'

describe('docs: the recipe for several organisations', () => {
  it('lets no one into another organisation', async () => {
    const programs = programsOf('docs/claims.md')
    try {
      const { isAllowed } = await programs.load('my-organisations.ts')
      await withDeployment({ options: { isAllowed } }, async (deployment) => {
        const attempt = async (request: object) => (await postSubjectToken(deployment, request)).status
        expect(await attempt({ userId: 'carol', actorId: 'bob' }), 'another user').to.equal(403)
        expect(await attempt({ userId: 'alice', actorId: 'carol' }), 'another engineer').to.equal(403)
        expect(await attempt({ userId: 'dave', actorId: 'bob' }), 'of none').to.equal(403)
        expect(await attempt({ userId: 'alice' }), 'no engineer').to.equal(403)
        const { subjectToken } = await issue(deployment, { actorId: 'bob' })
        const request = { subject_token: subjectToken, ...withActor(await actorToken(deployment)) }
        const elsewhere = await exchange(deployment, request, { client: webClient() })
        expect([elsewhere.status, elsewhere.body.error]).to.deep.equal([400, 'access_denied'])
        expect((await exchange(deployment, request)).status, 'spent').to.equal(200)
      })
    } finally {
      programs.remove()
    }
  })
})

describe('docs: the recipe for a second reason', () => {
  it('lets no one change things without one, at any stage, and everyone look', async () => {
    const programs = programsOf('docs/claims.md')
    try {
      const { isAllowed } = await programs.load('my-second-reason.ts')
      await withDeployment({ options: { isAllowed } }, async (deployment) => {
        const attempt = async (request: object) =>
          (await postSubjectToken(deployment, { userId: 'alice', ...request })).status
        expect(await attempt({ readOnly: true })).to.equal(201)
        expect(await attempt({ context: { writeReason: 'the address is wrong' } })).to.equal(201)
        for (const context of [{}, { writeReason: ' ' }, { writeReason: true }])
          expect(await attempt({ context }), JSON.stringify(context)).to.equal(403)
      })
      for (const stage of ['exchange', 'session', 'onBehalfOf'])
        expect(() => isAllowed({ stage, context: {}, subjectTokenId: 'a-record' }), stage).to.throw(/say why/)
      expect(isAllowed({ stage: 'onBehalfOf' }), "a user's own").to.equal(true)
    } finally {
      programs.remove()
    }
  })
})
