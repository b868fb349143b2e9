/**
 * What an impersonation costs the database (architecture.md, The tables): one statement to issue, two to exchange, and
 * one for an API that passes it on.
 */
import { expect } from 'chai'
import { actorJwt, actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { webClient } from '../../fixtures/clients.ts'
import { DATABASES } from '../../fixtures/databases.ts'
import { type Deployment, OPAQUE_API, startDeployment } from '../../fixtures/deployment.ts'
import { downstream, ownToken, passedOn, passOn, viewed } from '../../fixtures/on-behalf-of.ts'
import { beforeOn } from '../../fixtures/on-database.ts'
import { storeClient } from '../../fixtures/registration.ts'
import { exchange, issue, managementToken } from '../../fixtures/requests.ts'

for (const kind of DATABASES) {
  describe(`statements on ${kind}`, () => {
    let deployment: Deployment
    let token: string
    beforeOn(kind, async () => {
      deployment = await startDeployment({ ...downstream({ maxDelegationDepth: 3 }), database: kind })
      token = await managementToken(deployment)
      // The first use of a connection may cost statements of its own.
      const { subjectToken } = await issue(deployment, {}, token)
      await exchange(deployment, { subject_token: subjectToken })
    })
    after(() => deployment?.close())

    const during = async (work: () => Promise<unknown>) => {
      const before = deployment.database.statements.length
      await work()
      return deployment.database.statements.slice(before).map(verb)
    }

    it('are one to issue', async () => {
      expect(await during(() => issue(deployment, { context: { a: 1 } }, token))).to.deep.equal(['INSERT'])
    })

    it('are one more to issue for one client, if it is stored', async () => {
      await storeClient(deployment, webClient({ client_id: 'stored' }))
      expect(await during(() => issue(deployment, { clientId: 'stored' }, token))).to.deep.equal([
        'SELECT',
        'INSERT',
      ])
      expect(await during(() => issue(deployment, { clientId: 'spa' }, token))).to.deep.equal(['INSERT'])
    })

    it('are two to exchange for a JWT', async () => {
      const { subjectToken } = await issue(deployment, {}, token)
      expect(await during(() => exchange(deployment, { subject_token: subjectToken }))).to.deep.equal([
        'SELECT',
        'INSERT',
      ])
    })

    it('are two with an actor, and one more for a chain, however long', async () => {
      const act = (...chain: string[]): object | undefined =>
        chain.reduceRight<object | undefined>((inner, sub) => ({ sub, act: inner }), undefined)
      for (const [chain, statements] of [
        [[], ['SELECT', 'INSERT']],
        [['carol'], ['SELECT', 'INSERT', 'INSERT']],
        [
          ['carol', 'dave'],
          ['SELECT', 'INSERT', 'INSERT'],
        ],
      ] as const) {
        const { subjectToken } = await issue(deployment, {}, token)
        const actor = withActor(await actorJwt(deployment, { act: act(...chain) }))
        const parameters = { subject_token: subjectToken, ...actor }
        expect(await during(() => exchange(deployment, parameters))).to.deep.equal(statements)
      }
    })

    it('are one read for a chain that is refused, and no write', async () => {
      const { subjectToken } = await issue(deployment, {}, token)
      const actor = withActor(await actorJwt(deployment, { act: { sub: 'carol' } }))
      const refused = { subject_token: subjectToken, resource: 'https://unknown.example.com', ...actor }
      expect(await during(() => exchange(deployment, refused))).to.deep.equal(['SELECT'])
    })

    it('are none for a token that does not have our format', async () => {
      expect(await during(() => exchange(deployment, { subject_token: 'malformed' }))).to.deep.equal([])
    })

    it('are one read for a refusal, and no write', async () => {
      const { subjectToken } = await issue(deployment, {}, token)
      const refused = { subject_token: subjectToken, resource: 'https://unknown.example.com' }
      expect(await during(() => exchange(deployment, refused))).to.deep.equal(['SELECT'])
    })

    it('are one read for an API that exchanges a JWT of an impersonation, refused or not', async () => {
      const { accessToken } = await viewed(deployment)
      for (const _ of [1, 2])
        expect(await during(() => passedOn(deployment, accessToken))).to.deep.equal(['SELECT'])
      const refused = { resource: 'https://unknown.example.com' }
      expect(await during(() => passOn(deployment, accessToken, refused))).to.deep.equal(['SELECT'])
    })

    it("are none for a JWT that is a user's own", async () => {
      const accessToken = await ownToken(deployment)
      expect(await during(() => passedOn(deployment, accessToken))).to.deep.equal([])
    })

    it('are those of an opaque token itself, and one for its record', async () => {
      const parameters = { resource: OPAQUE_API, scope: 'orders:read' }
      const { accessToken } = await viewed(deployment, parameters)
      // The token, its Grant, its record.
      const three = ['SELECT', 'SELECT', 'SELECT']
      expect(await during(() => passedOn(deployment, accessToken))).to.deep.equal(three)
      const request = { accountId: 'alice', audience: OPAQUE_API, scope: 'orders:read' }
      const granted = await actorToken(deployment, request)
      expect(await during(() => passedOn(deployment, granted))).to.deep.equal(['SELECT', 'SELECT'])
      const own = await actorToken(deployment, { ...request, withGrant: false })
      expect(await during(() => passedOn(deployment, own))).to.deep.equal(['SELECT'])
    })

    it('are none for an access token of a client that may not exchange it', async () => {
      const accessToken = await ownToken(deployment)
      expect(await during(() => exchange(deployment, { subject_token: accessToken }))).to.deep.equal([])
    })

    it('are none for a management request that is refused', async () => {
      expect(await during(() => managementToken(deployment))).to.deep.equal([])
    })
  })
}

const verb = (statement: string) => /^Executing \([^)]*\): (\w+)/.exec(statement)?.[1] ?? statement
