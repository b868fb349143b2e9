/** From the stop to the API that refuses (protocol.md §4.1): our verifier with our lists. */
import { expect } from 'chai'
import type Koa from 'koa'
import mount from 'koa-mount'
import { actorToken, withActor } from '../../../fixtures/actor-tokens.ts'
import { stopClock } from '../../../fixtures/clock.ts'
import {
  API,
  type Deployment,
  startDeployment,
  useDeployment,
  withDeployment,
} from '../../../fixtures/deployment.ts'
import { revoke, revokeWhere } from '../../../fixtures/management.ts'
import { onEachKind } from '../../../fixtures/on-database.ts'
import { type Impersonation, impersonate, statusOf, stoppedIndexes } from '../../../fixtures/status-lists.ts'
import { createVerifier, type VerifierOptions } from '../../../packages/resource-server/src/index.ts'
import { withBearer } from '../../../packages/resource-server/test/issuer.ts'
import { purge } from '../../../src/sequelize/index.ts'

const TTL = 5

/** What an API of this issuer says of tokens. */
function readerOf(issuer: string, options: Partial<VerifierOptions> = {}) {
  const verify = createVerifier({ issuer, audience: API, requireStatus: true, ...options })
  return (tokens: readonly Impersonation[]) =>
    Promise.all(
      tokens.map(({ accessToken }) =>
        verify(withBearer(accessToken)).then(
          () => 'valid',
          ({ name, reason }) => `${name}: ${reason}`,
        ),
      ),
    )
}
const indexesOf = (tokens: readonly Impersonation[]) =>
  tokens.map(({ accessToken }) => statusOf(accessToken).idx)
const STOPPED = 'Unauthorized: stopped'

onEachKind((kind) => {
  describe('a stop', () => {
    const deployment = useDeployment({ database: kind, options: { statusList: { ttl: TTL } } })

    it('reaches other processes within a second, the API within ttl + 2 s, and those that start after a purge', async () => {
      const clock = stopClock()
      const by = async (accountId: string) => {
        const actor = withActor(await actorToken(deployment, { accountId }))
        return Promise.all([impersonate(deployment, actor), impersonate(deployment, actor)])
      }
      const [bobs, carols] = [await by('bob'), await by('carol')]
      const { database, issuer } = deployment
      const seen = readerOf(issuer)
      expect(await seen([...bobs, ...carols])).to.deep.equal(Array(4).fill('valid'))
      await withDeployment({ database, issuer }, async (other) => {
        expect(await stoppedIndexes(other)).to.deep.equal([])
        expect((await revokeWhere(deployment, { actorId: 'bob' })).body).to.deep.equal({ revoked: 2 })
        clock.tick(1)
        for (const process of [deployment, other])
          expect(await stoppedIndexes(process)).to.have.members(indexesOf(bobs))
      })
      // An API that sees tokens every second.
      for (let second = 1; second < TTL + 2; second += 1) {
        await seen(carols)
        clock.tick(1)
      }
      expect(await seen([...bobs, ...carols])).to.deep.equal([STOPPED, STOPPED, 'valid', 'valid'])
      // A stop after a stop, of a list that has just been signed.
      expect(await stoppedIndexes(deployment)).to.have.members(indexesOf(bobs))
      const [carol = expect.fail()] = carols
      await revoke(deployment, carol.id)
      clock.tick(1)
      expect(await stoppedIndexes(deployment)).to.have.members(indexesOf([...bobs, carol]))
      clock.tick(600 + 250)
      await purge(database.sequelize, { retention: 0 })
      await withDeployment({ database, issuer }, async (restarted) => {
        expect(await stoppedIndexes(restarted)).to.have.members(indexesOf([...bobs, carol]))
        clock.tick(60)
        expect(await stoppedIndexes(restarted)).to.deep.equal([])
      })
      clock.restore()
    })
  })
})

describe('status lists of two issuers, {base} and {base}/oidc, that share their keys', () => {
  let below: Deployment
  let atRoot: Koa.Middleware | undefined
  const started: Deployment[] = []
  beforeEach(async () => {
    const others: Koa.Middleware = (ctx, next) =>
      atRoot && !/^\/(oidc|api)\//.test(ctx.path) ? atRoot(ctx, next) : next()
    below = await startDeployment({ before: [others] })
    started.push(below)
  })
  afterEach(async () => {
    for (const deployment of started.splice(0)) await deployment.close()
    atRoot = undefined
  })

  /** On a database of its own: its first token has the place of the other's first one. */
  async function startRoot(uri?: string): Promise<Deployment> {
    const options = uri === undefined ? {} : { statusList: { uri } }
    const root = await startDeployment({ issuer: below.baseUrl, options })
    started.push(root)
    atRoot = mount(root.provider)
    return root
  }
  const twoOf = async (deployment: Deployment) =>
    [await impersonate(deployment), await impersonate(deployment)] as const

  it('stop no token of the other issuer, and let none pass that it stopped', async () => {
    const root = await startRoot()
    const [ofBelow, ofRoot] = [await twoOf(below), await twoOf(root)]
    expect(indexesOf(ofBelow)).to.deep.equal(indexesOf(ofRoot))
    await revoke(below, ofBelow[0].id)
    await revoke(root, ofRoot[1].id)
    expect(await readerOf(below.issuer)(ofBelow)).to.deep.equal([STOPPED, 'valid'])
    const other = 'ProviderUnavailable: status list: ERR_JWT_CLAIM_VALIDATION_FAILED iss'
    expect(await readerOf(root.issuer)(ofRoot)).to.deep.equal([other, other])
  })

  it('judge the tokens of both once the one at the root has another address', async () => {
    const uri = 'http://127.0.0.1/lists-of-the-root'
    const root = await startRoot(uri)
    const fetchThere: VerifierOptions['fetch'] = (url, init) =>
      fetch(String(url).replace(uri, `${new URL(root.tokenEndpoint).origin}/api/status-lists`), init)
    const tokens = await twoOf(root)
    await revoke(root, tokens[1].id)
    const ofRoot = readerOf(root.issuer, { statusLists: uri, fetch: fetchThere })
    expect(await ofRoot(tokens)).to.deep.equal(['valid', STOPPED])
    expect(await readerOf(below.issuer)(await twoOf(below))).to.deep.equal(['valid', 'valid'])
  })
})
