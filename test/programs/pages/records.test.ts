/** The program of docs/records.md, run in a deployment: a customer sees who was in the account, and ends it. */
import { expect } from 'chai'
import type { Context, Middleware } from 'koa'
import { type Deployment, startDeployment } from '../../../fixtures/deployment.ts'
import { send } from '../../../fixtures/http.ts'
import { show } from '../../../fixtures/management.ts'
import { type Programs, programsOf } from '../../../fixtures/markdown.ts'
import { viewed } from '../../../fixtures/on-behalf-of.ts'
import { issue } from '../../../fixtures/requests.ts'

describe('docs: records', () => {
  let deployment: Deployment
  let programs: Programs
  let page: Middleware

  before(async () => {
    deployment = await startDeployment({ before: [(ctx, next) => page(ctx, next)] })
    programs = programsOf('docs/records.md')
    const { accesses } = await programs.load('my-accesses.ts')
    page = accesses(
      deployment.impersonation,
      async (ctx: Context) => ctx.get('Cookie').replace(/^user=/, '') || undefined,
    )
  })
  after(async () => {
    programs.remove()
    await deployment.close()
  })

  const visit = (headers: Record<string, string> = {}, method = 'GET') =>
    send(`${deployment.baseUrl}/me/accesses`, {
      method,
      headers: { cookie: 'user=alice', ...headers },
      redirect: 'manual',
    })

  it('has a page of about twenty lines', () => {
    const [, program = ''] = programs.code('my-accesses.ts').split('export const accesses')
    const lines = program.trim().split('\n')
    expect(lines.length).to.be.within(15, 25)
  })

  it('shows the customer who was there and why, and no one else', async () => {
    await viewed(deployment, {}, { context: { reason: '<order> "lost"' } })
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
