/** Issuers that share their keys and the address of their lists (protocol.md §4.1): `{base}/oidc` and `{base}`. */
import { expect } from 'chai'
import type Koa from 'koa'
import mount from 'koa-mount'
import { API, type Deployment, startDeployment } from '../../fixtures/deployment.ts'
import { revoke } from '../../fixtures/management.ts'
import { impersonate, statusOf } from '../../fixtures/status-lists.ts'
import { createVerifier, type VerifierOptions } from '../../packages/resource-server/src/index.ts'
import { withBearer } from '../../packages/resource-server/test/issuer.ts'
import type { ImpersonationOptions } from '../../src/index.ts'

describe('status lists of two issuers at one address', () => {
  /** The issuer `{base}/oidc`, whose lists are the ones at `{base}/api/status-lists`. */
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

  /** The issuer `{base}`, on a database of its own: its first token has the place of the other's first one. */
  const startRoot = async (options: Partial<ImpersonationOptions> = {}): Promise<Deployment> => {
    const root = await startDeployment({ issuer: below.baseUrl, options })
    started.push(root)
    atRoot = mount(root.provider)
    // For the management resource, which follows from the issuer.
    return { ...root, baseUrl: below.baseUrl }
  }
  const seen = (token: string, issuer: string, options: Partial<VerifierOptions> = {}): Promise<string> =>
    createVerifier({ issuer, audience: API, ...options })(withBearer(token)).then(
      () => 'valid',
      ({ name, reason }) => `${name}: ${reason}`,
    )

  const OTHER_LIST = 'ProviderUnavailable: status list: ERR_JWT_CLAIM_VALIDATION_FAILED iss'

  it('stop no token of the other issuer, and let none pass that it stopped', async () => {
    const root = await startRoot()
    const [first, namesake] = [await impersonate(below), await impersonate(root)]
    const [second, stopped] = [await impersonate(below), await impersonate(root)]
    expect(statusOf(first.accessToken)).to.deep.equal(statusOf(namesake.accessToken))
    await revoke(below, first.id)
    await revoke(root, stopped.id)
    expect(await seen(first.accessToken, below.issuer)).to.equal('Unauthorized: stopped')
    expect(await seen(second.accessToken, below.issuer)).to.equal('valid')
    for (const { accessToken } of [namesake, stopped])
      expect(await seen(accessToken, root.issuer)).to.equal(OTHER_LIST)
  })

  it('judge the tokens of both once the one at the root has another address', async () => {
    const uri = 'http://127.0.0.1/lists-of-the-root'
    const root = await startRoot({ statusList: { uri } })
    const lists: VerifierOptions['fetch'] = (url, init) =>
      fetch(String(url).replace(uri, `${new URL(root.tokenEndpoint).origin}/api/status-lists`), init)
    const options = { statusLists: uri, fetch: lists }
    const [first, stopped] = [await impersonate(root), await impersonate(root)]
    await revoke(root, stopped.id)
    expect(await seen(first.accessToken, root.issuer, options)).to.equal('valid')
    expect(await seen(stopped.accessToken, root.issuer, options)).to.equal('Unauthorized: stopped')
    expect(await seen((await impersonate(below)).accessToken, below.issuer)).to.equal('valid')
  })
})
