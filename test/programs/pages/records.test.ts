/** The program of docs/records.md, run in a deployment: a customer sees who was in the account, and ends it. */
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import type { Context, Middleware } from 'koa'
import { actorToken, withActor } from '../../../fixtures/actor-tokens.ts'
import { type Deployment, startDeployment } from '../../../fixtures/deployment.ts'
import { send } from '../../../fixtures/http.ts'
import { show } from '../../../fixtures/management.ts'
import { type Folder, makeFolder, readPage, runnable, typescriptOf } from '../../../fixtures/markdown.ts'
import { exchange, issue } from '../../../fixtures/requests.ts'
import type { Impersonation } from '../../../src/index.ts'

const PAGE = readPage('docs/records.md')

describe('docs: records', () => {
  let deployment: Deployment
  let folder: Folder
  let page: Middleware

  before(async () => {
    deployment = await startDeployment({ before: [(ctx, next) => page(ctx, next)] })
    folder = makeFolder(Number(new URL(deployment.baseUrl).port))
    const { code } = typescriptOf(PAGE).find(({ code }) => code.startsWith('// my-accesses.ts\n')) ?? {
      code: '',
    }
    const { accesses } = (await import(
      pathToFileURL(folder.write('my-accesses.ts', runnable(code))).href
    )) as {
      accesses(given: Impersonation, userOf: (ctx: Context) => Promise<string | undefined>): Middleware
    }
    page = accesses(
      deployment.impersonation,
      async (ctx) => ctx.get('Cookie').replace(/^user=/, '') || undefined,
    )
  })
  after(async () => {
    folder.remove()
    await deployment.close()
  })

  const visit = (headers: Record<string, string> = {}, method = 'GET') =>
    send(`${deployment.baseUrl}/me/accesses`, {
      method,
      headers: { cookie: 'user=alice', ...headers },
      redirect: 'manual',
    })

  it('has a page of about twenty lines', () => {
    const [block] = typescriptOf(PAGE)
    const lines = block?.code.slice(block.code.indexOf('export const accesses')).trim().split('\n') ?? []
    expect(lines.length).to.be.within(15, 25)
  })

  it('shows the customer who was there and why, and no one else', async () => {
    const { subjectToken } = await issue(deployment, {
      userId: 'alice',
      context: { reason: '<order> "lost"' },
    })
    const acting = withActor(await actorToken(deployment))
    expect((await exchange(deployment, { subject_token: subjectToken, ...acting })).status).to.equal(200)
    await issue(deployment, { userId: 'dave', context: { reason: 'another matter' } })
    const { status, text } = await visit()
    expect(status).to.equal(200)
    expect(text).to.include('<td>bob<td>&#60;order&#62; &#34;lost&#34;<td>consumed')
    expect(text).not.to.include('another matter')
    expect((await visit({ cookie: '' })).status).to.equal(401)
  })

  it('ends it for the customer, and says so on the record', async () => {
    const { id } = await issue(deployment, { userId: 'alice' })
    expect((await visit({}, 'POST')).status).to.equal(403)
    expect((await show(deployment, id)).body.state).to.equal('active')
    expect((await visit({ 'sec-fetch-site': 'same-origin' }, 'POST')).status).to.equal(302)
    expect((await show(deployment, id)).body.revocation).to.deep.equal({
      cause: 'host',
      by: 'alice',
      reason: 'the customer ended it',
    })
  })
})
