/** The policies of docs/claims.md, in deployments. */
import { expect } from 'chai'
import { actorToken, withActor } from '../../../fixtures/actor-tokens.ts'
import { webClient } from '../../../fixtures/clients.ts'
import { type Deployment, OPAQUE_API, withDeployment } from '../../../fixtures/deployment.ts'
import { usePrograms } from '../../../fixtures/markdown.ts'
import { exchange, issue, postSubjectToken } from '../../../fixtures/requests.ts'

describe('docs: claims', () => {
  const programs = usePrograms('docs/claims.md')
  const statusOf = async (deployment: Deployment, request: object) =>
    (await postSubjectToken(deployment, { userId: 'alice', ...request })).status

  it('has rules that require an engineer, and protect colleagues', async () => {
    const rules = await programs.load('my-rules.ts')
    await withDeployment({ options: { ...rules } }, async (deployment) => {
      expect(await statusOf(deployment, {})).to.equal(403)
      expect(await statusOf(deployment, { userId: 'bob', actorId: 'carol' })).to.equal(403)
      const { subjectToken } = await issue(deployment, { actorId: 'bob' })
      const foreign = await actorToken(deployment, { format: 'jwt', audience: OPAQUE_API })
      const response = await exchange(deployment, { subject_token: subjectToken, ...withActor(foreign) })
      expect([response.status, response.body.error]).to.deep.equal([400, 'access_denied'])
    })
  })

  it('has a recipe for several organisations, which lets no one into another', async () => {
    const { isAllowed } = await programs.load('my-organisations.ts')
    await withDeployment({ options: { isAllowed } }, async (deployment) => {
      for (const [what, request] of Object.entries({
        'another user': { userId: 'carol', actorId: 'bob' },
        'another engineer': { actorId: 'carol' },
        'both of none': { userId: 'dave', actorId: 'erin' },
        'no engineer': {},
      }))
        expect(await statusOf(deployment, request), what).to.equal(403)
      const { subjectToken } = await issue(deployment, { actorId: 'bob' })
      const request = { subject_token: subjectToken, ...withActor(await actorToken(deployment)) }
      const elsewhere = await exchange(deployment, request, { client: webClient() })
      expect([elsewhere.status, elsewhere.body.error]).to.deep.equal([400, 'access_denied'])
      expect((await exchange(deployment, request)).status, 'spent').to.equal(200)
    })
  })

  it('has a recipe for a second reason: no one changes things without one, at any stage, and everyone may look', async () => {
    const { isAllowed } = await programs.load('my-second-reason.ts')
    await withDeployment({ options: { isAllowed } }, async (deployment) => {
      expect(await statusOf(deployment, { readOnly: true })).to.equal(201)
      const context = { writeReason: 'the address is wrong' }
      expect(await statusOf(deployment, { context })).to.equal(201)
      for (const context of [{}, { writeReason: ' ' }, { writeReason: true }])
        expect(await statusOf(deployment, { context }), JSON.stringify(context)).to.equal(403)
    })
    for (const stage of ['exchange', 'session', 'onBehalfOf'])
      expect(() => isAllowed({ stage, context: {}, subjectTokenId: 'a-record' }), stage).to.throw(/say why/)
    expect(isAllowed({ stage: 'onBehalfOf' }), "a user's own").to.equal(true)
  })
})
