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
