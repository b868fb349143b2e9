/** A `sub` that equals the id of its client would look like the client's own token (protocol.md §3.2; RFC 9068 §5). */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { Configuration } from 'oidc-provider'
import { publicClient } from '../../fixtures/clients.ts'
import {
  API,
  type Deployment,
  OPAQUE_API,
  startDeployment,
  withDeployment,
} from '../../fixtures/deployment.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import type { PolicyRequest } from '../../src/index.ts'
import { expectRefused } from './refusals.ts'

const SUBJECT = { error: 'invalid_request', description: 'subject_token is invalid', check: 'subject_token' }
const REASON = 'the sub to be issued is the id of the client'

/** Named like accounts of the fixture. */
const alice = publicClient({ client_id: 'alice' })
const pairwiseCarol = publicClient({ client_id: 'carol', subject_type: 'pairwise' })
const pairwise = publicClient({ client_id: 'pairwise', subject_type: 'pairwise' })

/** The pairwise identifier of dave is the id of the client that exchanges. */
const configuration: Configuration = {
  subjectTypes: ['public', 'pairwise'],
  pairwiseIdentifier: async (_ctx, accountId, { clientId }) =>
    accountId === 'dave' ? clientId : `${accountId}@${clientId}`,
}

describe('token exchange: a sub that is the id of the client', () => {
  let deployment: Deployment
  const asked: PolicyRequest[] = []
  before(async () => {
    const isAllowed = (request: PolicyRequest) => asked.push(request) > 0
    const clients = [alice, pairwiseCarol, pairwise]
    deployment = await startDeployment({ clients, configuration, options: { isAllowed } })
  })
  after(() => deployment.close())

  for (const resource of [API, OPAQUE_API]) {
    it(`is refused for ${resource} as a bad subject token, which another client can exchange`, async () => {
      await expectRefused(deployment, {
        attempt: (subjectToken) =>
          exchange(deployment, { subject_token: subjectToken, resource }, { client: alice }),
        ...SUBJECT,
      })
    })
  }

  it('is refused if the user was named by an alias', async () => {
    await expectRefused(deployment, {
      issued: { userId: 'alias:alice' },
      attempt: (subjectToken) => exchange(deployment, { subject_token: subjectToken }, { client: alice }),
      ...SUBJECT,
    })
  })

  it('is reported to the operator with the user, before the policy is called', async () => {
    const { subjectToken, id } = await issue(deployment)
    const [events, questions] = [deployment.events.length, asked.length]
    await exchange(deployment, { subject_token: subjectToken }, { client: alice })
    expect(deployment.events.slice(events).map(({ payload }) => payload)).to.deep.equal([
      {
        stage: 'exchange',
        error: 'invalid_request',
        check: 'subject_token',
        reason: REASON,
        clientId: 'alice',
        id,
        userId: 'alice',
      },
    ])
    expect(asked.slice(questions)).to.deep.equal([])
  })

  describe('of a pairwise client', () => {
    it('is refused if the pairwise identifier is the id of the client', async () => {
      await expectRefused(deployment, {
        issued: { userId: 'dave' },
        attempt: (subjectToken) =>
          exchange(deployment, { subject_token: subjectToken }, { client: pairwise }),
        ...SUBJECT,
      })
      expect(deployment.events.some(({ payload }) => Reflect.get(payload, 'reason') === REASON)).to.equal(
        true,
      )
    })

    it('is not compared with the account id, but with the pairwise identifier', async () => {
      const { subjectToken } = await issue(deployment, { userId: 'carol' })
      const response = await exchange(deployment, { subject_token: subjectToken }, { client: pairwiseCarol })
      expect(response.status, response.text).to.equal(200)
      expect(decodeJwt(response.body.access_token).sub).to.equal('carol@carol')
    })

    it('that cannot be computed is 500, and spends nothing', () => {
      let broken = true
      const pairwiseIdentifier = async (_ctx: unknown, accountId: string) => {
        if (broken) throw new Error('private')
        return `pairwise ${accountId}`
      }
      return withDeployment(
        { clients: [pairwise], configuration: { ...configuration, pairwiseIdentifier } },
        async (failing) => {
          const response = await expectRefused(failing, {
            attempt: (subjectToken) =>
              exchange(failing, { subject_token: subjectToken }, { client: pairwise }),
            valid: (subjectToken) => {
              broken = false
              return exchange(failing, { subject_token: subjectToken }, { client: pairwise })
            },
            status: 500,
            error: 'server_error',
            check: 'server_error',
          })
          expect(response.text).not.to.include('private')
          const refused = failing.events.find(({ name }) => name === 'subject_token.refused')
          expect(refused?.payload).to.include({ userId: 'alice' })
        },
      )
    })
  })
})
