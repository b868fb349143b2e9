/**
 * What an impersonation costs the database (docs/contributing/architecture.md, The tables): one statement to issue, two to exchange, and
 * one for an API that passes it on.
 */
import { expect } from 'chai'
import { actorJwt, actorToken, withActor } from '../../../fixtures/actor-tokens.ts'
import { webClient } from '../../../fixtures/clients.ts'
import { type Deployment, OPAQUE_API, useDeployment } from '../../../fixtures/deployment.ts'
import type { Parameters } from '../../../fixtures/http.ts'
import { downstream, ownToken, passOn, viewed } from '../../../fixtures/on-behalf-of.ts'
import { onEachKind } from '../../../fixtures/on-database.ts'
import { storeClient } from '../../../fixtures/registration.ts'
import { exchange, issue, managementToken } from '../../../fixtures/requests.ts'

const UNKNOWN = { resource: 'https://unknown.example.com' }
const [READ, WRITE] = ['SELECT', 'INSERT']
const ofAlice = { accountId: 'alice', audience: OPAQUE_API, scope: 'orders:read' }
const ofOpaque = { resource: OPAQUE_API, scope: 'orders:read' }
const chain = (...subs: readonly string[]): object | undefined =>
  subs.reduceRight<object | undefined>((act, sub) => ({ sub, act }), undefined)

type Work = (deployment: Deployment, token: string) => Promise<() => Promise<unknown>>

const issuing =
  (body: Readonly<Record<string, unknown>>): Work =>
  async (deployment, token) =>
  () =>
    issue(deployment, body, token)
const exchanging =
  (changes: Parameters = {}, acting?: readonly string[]): Work =>
  async (deployment, token) => {
    const { subjectToken } = await issue(deployment, {}, token)
    const actor = acting && withActor(await actorJwt(deployment, { act: chain(...acting) }))
    return () => exchange(deployment, { subject_token: subjectToken, ...changes, ...actor })
  }
const exchangingOpaquely =
  (withGrant: boolean): Work =>
  async (deployment, token) => {
    const { subjectToken } = await issue(deployment, {}, token)
    const actor = withActor(await actorToken(deployment, { withGrant }))
    return () => exchange(deployment, { subject_token: subjectToken, ...actor })
  }
const passing =
  (received: (deployment: Deployment) => Promise<string>, changes: Parameters = {}): Work =>
  async (deployment) => {
    const accessToken = await received(deployment)
    return () => passOn(deployment, accessToken, changes)
  }
const ofImpersonation = async (deployment: Deployment, changes?: Parameters) =>
  (await viewed(deployment, changes)).accessToken

const COSTS: readonly [title: string, statements: readonly string[], Work][] = [
  ['to issue', [WRITE], issuing({ context: { a: 1 } })],
  ['to issue for a client of the configuration', [WRITE], issuing({ clientId: 'spa' })],
  ['to issue for a client that is stored', [READ, WRITE], issuing({ clientId: 'stored' })],
  ['to exchange for a JWT', [READ, WRITE], exchanging()],
  ['to exchange with an actor', [READ, WRITE], exchanging({}, [])],
  ['to exchange with a chain', [READ, WRITE, WRITE], exchanging({}, ['carol'])],
  ['to exchange with a longer chain', [READ, WRITE, WRITE], exchanging({}, ['carol', 'dave'])],
  // The second is the actor token; the third its Grant.
  ['to exchange with an opaque actor', [READ, READ, WRITE], exchangingOpaquely(false)],
  ['to exchange with an opaque actor that has a Grant', [READ, READ, READ, WRITE], exchangingOpaquely(true)],
  ['to exchange for an opaque token', [READ, WRITE, WRITE, WRITE], exchanging(ofOpaque)],
  ['of a refusal', [READ], exchanging(UNKNOWN)],
  ['of a refusal of a chain', [READ], exchanging(UNKNOWN, ['carol'])],
  ['of what does not have our format', [], exchanging({ subject_token: 'malformed' })],
  ['of an API, for a JWT', [READ], passing(ofImpersonation)],
  ['of an API that is refused', [READ], passing(ofImpersonation, UNKNOWN)],
  // The token, its Grant, its record.
  ['of an API, for an opaque token', [READ, READ, READ], passing((on) => ofImpersonation(on, ofOpaque))],
  ["of an API, for a user's own JWT", [], passing(ownToken)],
  ["of an API, for a user's own opaque token", [READ, READ], passing((on) => actorToken(on, ofAlice))],
  [
    "of an API, for a user's own opaque token without a Grant",
    [READ],
    passing((on) => actorToken(on, { ...ofAlice, withGrant: false })),
  ],
  [
    'of a client that may not exchange an access token',
    [],
    async (deployment) => {
      const accessToken = await ownToken(deployment)
      return () => exchange(deployment, { subject_token: accessToken })
    },
  ],
  ['of a management token', [], async (deployment) => () => managementToken(deployment)],
]

const verb = (statement: string) => /^Executing \([^)]*\): (\w+)/.exec(statement)?.[1] ?? statement

onEachKind((kind) => {
  describe('statements', () => {
    const deployment = useDeployment({ ...downstream({ maxDelegationDepth: 3 }), database: kind })
    let token: string
    before(async () => {
      token = await managementToken(deployment)
      await storeClient(deployment, webClient({ client_id: 'stored' }))
      // The first use of a connection may cost statements of its own.
      const { subjectToken } = await issue(deployment, {}, token)
      await exchange(deployment, { subject_token: subjectToken })
    })

    for (const [title, expected, prepare] of COSTS) {
      it(`${title}: ${expected.length}`, async () => {
        const work = await prepare(deployment, token)
        const before = deployment.database.statements.length
        await work()
        expect(deployment.database.statements.slice(before).map(verb)).to.deep.equal(expected)
      })
    }
  })
})
