/** The suite against a deployment that runs, with settings from the environment. */
import { expect } from 'chai'
import { actorToken } from '../../../fixtures/actor-tokens.ts'
import { API, type Deployment, OPAQUE_API, withDeployment } from '../../../fixtures/deployment.ts'
import { list, show } from '../../../fixtures/management.ts'
import { BILLING, downstream } from '../../../fixtures/on-behalf-of.ts'
import { issue } from '../../../fixtures/requests.ts'
import { deployment as configurationOf } from '../../../packages/suite/src/drivers/deployment.ts'
import { type Report, run } from '../../../packages/suite/src/run.ts'
import type { SubjectTokenRecord } from '../../../src/records/record.ts'

const environmentOf = async (deployment: Deployment) => ({
  SUITE_ISSUER: deployment.issuer,
  SUITE_BACKEND_ID: 'backend',
  SUITE_BACKEND_SECRET: 'backend-secret',
  SUITE_CLIENT_ID: 'web',
  SUITE_CLIENT_SECRET: 'web-secret',
  SUITE_OTHER_CLIENT_ID: 'spa',
  SUITE_USER: 'alice',
  SUITE_RESOURCE: API,
  SUITE_SCOPES: 'orders:read orders:write',
  SUITE_OPAQUE_RESOURCE: OPAQUE_API,
  SUITE_OPAQUE_SCOPES: 'orders:read',
  SUITE_INTROSPECTING_ID: 'resource-server',
  SUITE_INTROSPECTING_SECRET: 'resource-server-secret',
  SUITE_ACTOR: 'bob',
  SUITE_ACTOR_TOKEN: await actorToken(deployment),
  SUITE_DPOP: '1',
})

/** All records, but of tokens that lived for a second. */
async function longLived(deployment: Deployment): Promise<SubjectTokenRecord[]> {
  const records: SubjectTokenRecord[] = []
  let cursor: string | undefined
  do {
    const { body } = await list(deployment, { limit: '100', ...(cursor !== undefined && { cursor }) })
    records.push(...body.items)
    cursor = body.nextCursor
  } while (cursor !== undefined)
  return records.filter(({ createdAt, expiresAt }) => expiresAt > createdAt + 1)
}

const notPassed = ({ results }: Report) =>
  results
    .filter(({ outcome }) => outcome !== 'passed' && outcome !== 'skipped')
    .map(({ check, detail }) => `${check.id}: ${detail}`)

/** There is one. */
function only<Value>([value, ...others]: readonly Value[]): Value {
  if (value === undefined || others.length > 0) throw new Error(`${1 + others.length} instead of one`)
  return value
}

describe('suite: a deployment that runs', () => {
  it('passes over HTTP alone, and nothing that the suite issued stays usable', () =>
    withDeployment({ options: { requiredContext: ['reason'] } }, async (deployment) => {
      const own = await issue(deployment, { userId: 'alice', context: { reason: 'a ticket' } })
      const report = await run(only(configurationOf(await environmentOf(deployment))))
      expect(notPassed(report)).to.deep.equal([])
      expect(report.results.filter(({ outcome }) => outcome === 'passed').length).to.be.greaterThan(110)

      const others = (await longLived(deployment)).filter(({ id }) => id !== own.id)
      expect(others.length).to.be.greaterThan(100)
      expect(others.filter(({ revokedAt }) => revokedAt === undefined)).to.deep.equal([])
      const reasons = new Set(
        others.map(({ context }) => JSON.stringify(context).includes('token-exchange-suite')),
      )
      expect(reasons).to.deep.equal(new Set([true]))
      expect((await show(deployment, own.id)).body.state).to.equal('active')
    }))

  it('passes where an API exchanges what it receives, and nothing stays usable', () =>
    withDeployment(downstream(), async (deployment) => {
      const [, onBehalfOf] = configurationOf({
        ...(await environmentOf(deployment)),
        SUITE_API_ID: 'orders-api',
        SUITE_API_SECRET: 'orders-secret',
        SUITE_DOWNSTREAM_RESOURCE: BILLING,
        SUITE_DOWNSTREAM_SCOPES: 'orders:read orders:write',
      })
      if (!onBehalfOf) throw new Error('no second run')
      const report = await run(onBehalfOf)
      expect(notPassed(report)).to.deep.equal([])
      const passed = report.results.filter(({ outcome }) => outcome === 'passed').map(({ check }) => check.id)
      expect(passed).to.include.members([
        'on-behalf-of.act',
        'on-behalf-of.chain',
        'on-behalf-of.expiry',
        'subject.revoked',
        'subject.other-audience',
        'scope.ceiling',
      ])
      const alive = (await longLived(deployment)).filter(({ revokedAt }) => revokedAt === undefined)
      expect(alive).to.deep.equal([])
    }))

  it('needs no more than one user, one client and one resource', () =>
    withDeployment({}, async (deployment) => {
      const all = await environmentOf(deployment)
      const few = Object.entries(all).filter(([name]) => !/OPAQUE|INTROSPECTING|ACTOR|DPOP/.test(name))
      const report = await run(only(configurationOf(Object.fromEntries(few))), { only: ['request.', 'jwt.'] })
      expect(notPassed(report)).to.deep.equal([])
    }))

  it('names the variables that are missing', () => {
    expect(() => configurationOf({ SUITE_ISSUER: 'https://id.example.com/oidc' })).to.throw(
      TypeError,
      'set these variables: SUITE_RESOURCE, SUITE_USER, SUITE_BACKEND_ID, SUITE_BACKEND_SECRET, SUITE_CLIENT_ID, SUITE_SCOPES',
    )
  })
})
