/** The claim `status` (protocol.md §4, §4.1; draft-ietf-oauth-status-list §6.2), and actor tokens that have one (§3.3). */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { actorJwt, actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { DATABASES } from '../../fixtures/databases.ts'
import {
  API,
  type Deployment,
  type DeploymentOverrides,
  OPAQUE_API,
  startDeployment,
  withDeployment,
} from '../../fixtures/deployment.ts'
import { revoke } from '../../fixtures/management.ts'
import { beforeOn } from '../../fixtures/on-database.ts'
import { exchange, introspect, issue } from '../../fixtures/requests.ts'
import { impersonate, statusOf } from '../../fixtures/status-lists.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { expectActorRefused } from './refusals.ts'

const DEPTH: DeploymentOverrides = { options: { maxDelegationDepth: 2 } }

/** A token of alice, in which bob acts, that can act itself. */
async function aliceByBob(deployment: Deployment, changes: Readonly<Record<string, string>> = {}) {
  const actor = withActor(await actorToken(deployment))
  return impersonate(deployment, { ...actor, scope: 'openid', ...changes })
}

for (const kind of DATABASES) {
  describe(`status on ${kind}`, () => {
    let deployment: Deployment
    beforeOn(kind, async () => {
      deployment = await startDeployment({ ...DEPTH, database: kind })
    })
    after(() => deployment?.close())

    it('is in every access token, JWT and opaque, and never the same', async () => {
      const places: string[] = []
      for (let round = 0; round < 3; round += 1) {
        const { accessToken: jwt } = await impersonate(deployment)
        const { accessToken: opaque } = await aliceByBob(deployment, { resource: OPAQUE_API })
        const statuses = [decodeJwt(jwt).status, (await introspect(deployment, opaque)).status]
        for (const status of statuses) {
          expect(status).to.have.all.keys('status_list')
          const { idx, uri } = Object(status).status_list
          expect(idx).to.be.a('number').within(0, 131_071)
          expect(uri).to.equal(`${deployment.baseUrl}/api/status-lists/0`)
          places.push(`${uri}#${idx}`)
        }
      }
      expect(new Set(places).size).to.equal(6)
    })

    for (const [format, resource] of Object.entries({ JWT: API, 'opaque token': OPAQUE_API })) {
      it(`lets ${format === 'JWT' ? 'a' : 'an'} ${format} act until it is stopped, and costs one statement`, async () => {
        const { accessToken, id } = await aliceByBob(deployment, { resource })
        const { subjectToken } = await issue(deployment, { userId: 'dave' })
        const { statements } = deployment.database
        const before = statements.length
        const parameters = { subject_token: subjectToken, ...withActor(accessToken) }
        expect((await exchange(deployment, parameters)).status).to.equal(200)
        const ours = statements.slice(before).filter((sql) => /subject_token/.test(sql))
        expect(ours.filter((sql) => /^Executing \([^)]*\): SELECT/.test(sql))).to.have.length(2)
        await revoke(deployment, id)
        await expectActorRefused(deployment, accessToken, { userId: 'dave', validActor: 'erin' })
      })
    }
  })
}

describe('status of an actor token', () => {
  let deployment: Deployment
  let base = ''
  before(async () => {
    deployment = await startDeployment(DEPTH)
    base = `${deployment.baseUrl}/api/status-lists`
  })
  after(() => deployment.close())

  it('refers to a record of ours that is not stopped', async () => {
    const { accessToken } = await impersonate(deployment)
    const status = { status_list: statusOf(accessToken) }
    const { subjectToken } = await issue(deployment)
    const actor = withActor(await actorJwt(deployment, { status }))
    expect((await exchange(deployment, { subject_token: subjectToken, ...actor })).status).to.equal(200)
  })

  const at = (changes: Readonly<Record<string, unknown>>) => ({
    status_list: { idx: 1, uri: `${base}/0`, ...changes },
  })
  const wrong: [title: string, status: () => unknown][] = [
    ['of no record', () => at({ idx: 131_071 })],
    ['of a list that is not there yet', () => at({ uri: `${base}/1` })],
    ['of a list of someone else', () => at({ uri: 'https://lists.example.com/status-lists/0' })],
    ['of an address that only begins like ours', () => at({ uri: `${base}x/0` })],
    ['of an address with a query', () => at({ uri: `${base}/0?x` })],
    ['of an address with a path behind', () => at({ uri: `${base}/0/` })],
    ['of an address spelled another way', () => at({ uri: `${base}/00` })],
    ['of an address with an escape', () => at({ uri: `${base}/%30` })],
    ['of the base alone', () => at({ uri: base })],
    ['of no number', () => at({ uri: `${base}/` })],
    ['of a number that no database has', () => at({ uri: `${base}/${'9'.repeat(40)}` })],
    ['with an index outside the list', () => at({ idx: 131_072 })],
    ['with a negative index', () => at({ idx: -1 })],
    ['with half an index', () => at({ idx: 0.5 })],
    ['with an index as text', () => at({ idx: '1' })],
    ['without an index', () => at({ idx: undefined })],
    ['without an address', () => at({ uri: undefined })],
    ['of another mechanism', () => ({ other: {} })],
    ['null', () => null],
    ['a text', () => 'valid'],
    ['an array', () => []],
    ['with a list of null', () => ({ status_list: null })],
  ]
  for (const [title, status] of wrong) {
    it(`is refused: ${title}`, async () => {
      await impersonate(deployment)
      await expectActorRefused(deployment, await actorJwt(deployment, { status: status() }))
    })
  }

  it('is refused when the record is of a token that was not exchanged', async () => {
    const { id } = await issue(deployment)
    const store = createSubjectTokenStore(deployment.database.sequelize)
    const { statusIndex } = (await store.find(deployment.issuer, id)) ?? expect.fail('not found')
    await expectActorRefused(deployment, await actorJwt(deployment, { status: at({ idx: statusIndex }) }))
  })

  it('is refused when the record is of another issuer on the same database', async () => {
    const uri = `${deployment.baseUrl}/api/status-lists`
    const options = { statusList: { uri } }
    await withDeployment({ database: deployment.database, options }, async (other) => {
      const { accessToken } = await impersonate(other)
      const status = { status_list: statusOf(accessToken) }
      await expectActorRefused(deployment, await actorJwt(deployment, { status }))
    })
  })

  it('keeps users of a host from acting who has status lists of its own', async () => {
    const status = { status_list: { idx: 1, uri: 'https://lists.example.com/1' } }
    const extraTokenClaims = (_ctx: unknown, token: object) =>
      Reflect.get(token, 'gty') === 'authorization_code' ? { status } : undefined
    await withDeployment({ configuration: { extraTokenClaims } }, async (own) => {
      for (const format of ['opaque', 'jwt'] as const) {
        const { subjectToken } = await issue(own)
        const actor = withActor(await actorToken(own, { format }))
        const { body } = await exchange(own, { subject_token: subjectToken, ...actor })
        expect(body.error_description).to.equal('actor_token is invalid')
      }
    })
  })

  it('is refused for an opaque token whose record is of another token', async () => {
    const { accessToken } = await aliceByBob(deployment, { resource: OPAQUE_API })
    const { accessToken: other } = await aliceByBob(deployment)
    const model = await deployment.provider.AccessToken.find(accessToken)
    const { adapter } = deployment.provider.AccessToken
    const stored = await adapter.find(accessToken)
    await adapter.upsert(
      accessToken,
      { ...stored, extra: { ...model?.extra, status: { status_list: statusOf(other) } } } as never,
      600,
    )
    await expectActorRefused(deployment, accessToken, { userId: 'dave', validActor: 'erin' })
  })

  it('is a 503 while storage is down, and spends nothing', async () => {
    const { accessToken } = await aliceByBob(deployment)
    const { database, issuer } = deployment
    const real = createSubjectTokenStore(database.sequelize)
    const findByStatusIndex = () => Promise.reject(new Error('down'))
    const options = { ...DEPTH.options, statusList: { uri: base }, store: { ...real, findByStatusIndex } }
    await withDeployment({ database, issuer, options }, async (down) => {
      const { subjectToken } = await issue(deployment, { userId: 'dave' })
      const parameters = { subject_token: subjectToken, ...withActor(accessToken) }
      const response = await exchange(down, parameters)
      expect([response.status, response.body.error]).to.deep.equal([503, 'temporarily_unavailable'])
      expect((await exchange(deployment, parameters)).status).to.equal(200)
    })
  })
})

describe('without status lists', () => {
  const without: DeploymentOverrides = { options: { ...DEPTH.options, statusList: false } }

  it('an access token has no status', () =>
    withDeployment(without, async (deployment) => {
      const { accessToken } = await impersonate(deployment)
      expect(decodeJwt(accessToken)).not.to.have.property('status')
      const opaque = await impersonate(deployment, { resource: OPAQUE_API })
      expect(await introspect(deployment, opaque.accessToken)).not.to.have.property('status')
    }))

  it('a JWT of the exchange acts, and an opaque token does not', () =>
    withDeployment(without, async (deployment) => {
      const jwt = await aliceByBob(deployment)
      const { subjectToken } = await issue(deployment, { userId: 'dave' })
      const actor = withActor(jwt.accessToken)
      expect((await exchange(deployment, { subject_token: subjectToken, ...actor })).status).to.equal(200)
      const opaque = await aliceByBob(deployment, { resource: OPAQUE_API })
      await expectActorRefused(deployment, opaque.accessToken, { userId: 'dave', validActor: 'erin' })
    }))

  it('a token that has one does not act', () =>
    withDeployment(without, async (deployment) => {
      const status = { status_list: { idx: 0, uri: `${deployment.baseUrl}/api/status-lists/0` } }
      await expectActorRefused(deployment, await actorJwt(deployment, { status }))
    }))
})

describe('the address of the lists', () => {
  it('is that of the option', () =>
    withDeployment({ options: { statusList: { uri: 'https://cdn.example.com/l' } } }, async (deployment) => {
      const { accessToken } = await impersonate(deployment)
      expect(statusOf(accessToken).uri).to.equal('https://cdn.example.com/l/0')
    }))

  it('follows from the management resource', () =>
    withDeployment({ options: { managementResource: 'https://id.example.com/management/' } }, async (own) => {
      const list = await fetch(`${own.baseUrl}/api/status-lists/0`)
      expect(decodeJwt(await list.text()).sub).to.equal('https://id.example.com/management/status-lists/0')
    }))

  it('must be given where the management resource is no web address', async () => {
    const start = (options: DeploymentOverrides['options']) =>
      withDeployment(
        { options: { managementResource: 'urn:example:management', ...options } },
        async () => {},
      )
    const failed = await start({}).then(
      () => undefined,
      (error: unknown) => error,
    )
    expect(failed).to.be.instanceOf(TypeError).and.have.property('message').that.includes('statusList.uri')
    await start({ statusList: false })
    await start({ statusList: { uri: 'https://id.example.com/lists' } })
  })
})
