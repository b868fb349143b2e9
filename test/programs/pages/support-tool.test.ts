/** The programs of docs/support-tool.md, run against a deployment: an engineer views a customer, and it ends. */
import { createServer } from 'node:http'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { actorToken } from '../../../fixtures/actor-tokens.ts'
import { publicClient } from '../../../fixtures/clients.ts'
import { stopClock } from '../../../fixtures/clock.ts'
import { API, type Deployment, OPAQUE_API, startDeployment } from '../../../fixtures/deployment.ts'
import { type Listening, listen } from '../../../fixtures/listening.ts'
import { list, postRevocation } from '../../../fixtures/management.ts'
import { type Programs, programsOf, runnable, whileServing } from '../../../fixtures/markdown.ts'
import { freePort } from '../../../fixtures/server-process.ts'
import { until } from '../../../fixtures/until.ts'
import { createVerifier, type Unauthorized } from '../../../packages/resource-server/src/index.ts'

const REQUEST = { userId: 'alice', reason: 'order is missing', ticketId: 'T-1' }

describe('docs: support tool', () => {
  let deployment: Deployment
  let programs: Programs
  let api: Listening
  let backendUrl: string
  let engineersToken: string

  before(async () => {
    deployment = await startDeployment({ clients: [publicClient({ client_id: 'support-desk' })] })
    const variables = { BACKEND_SECRET: 'backend-secret' }
    programs = programsOf('docs/support-tool.md', { baseUrl: deployment.baseUrl, variables })
    programs.write('my-engineer.ts', runnable(programs.code('my-engineer.ts')))
    backendUrl = `http://127.0.0.1:${await freePort()}`
    api = await startApi(deployment)
    engineersToken = await actorToken(deployment, { accountId: 'bob', clientId: 'support-desk' })
  })
  /** Whatever a test ends with, nothing may keep asking. */
  const opened: { stop(): Promise<void> }[] = []
  afterEach(async () => {
    for (const page of opened.splice(0)) await page.stop().catch(() => {})
  })
  after(async () => {
    programs.remove()
    await api.close()
    await deployment.close()
  })

  /** The resource is one with opaque tokens, whose stop an API sees at once. */
  const served = (use: () => Promise<void>) =>
    whileServing(
      programs,
      {
        name: 'my-desk-backend.ts',
        code: programs.code('my-desk-backend.ts').replaceAll(API, OPAQUE_API),
        baseUrl: backendUrl,
        discovery: '/backend/view',
      },
      use,
    )

  /** The page's module, once for each tab. */
  async function openTab(name: string) {
    const code = programs
      .code('my-view.ts')
      .replace('https://id.example.com/oidc', deployment.issuer)
      .replace('https://desk.example.com', backendUrl)
      .replace('resource: API', `resource: '${OPAQUE_API}'`)
      .replace(`API = '${API}'`, `API = '${api.baseUrl}'`)
      .replace("('impersonation')", "('impersonation').unref()")
      .replace('5000', '50')
    const page = await import(pathToFileURL(programs.write(`${name}.ts`, code)).href)
    opened.push(page)
    const ends: string[] = []
    return {
      ends,
      start: (request = REQUEST) =>
        page.start(engineersToken, request, (why: string) => ends.push(why)) as Promise<number>,
      stop: () => page.stop() as Promise<void>,
      read: () => page.readApi('/orders') as Promise<{ status: number; body: object }>,
    }
  }

  it('is viewed until the engineer stops', async () => {
    await served(async () => {
      const tab = await openTab('stopped')
      expect(await tab.start()).to.equal(600)
      expect((await tab.read()).body).to.deep.equal({ user: 'alice', actor: 'bob' })
      await tab.stop()
      expect(tab.ends).to.deep.equal(['You have ended it.'])
      const { body } = await list(deployment, { userId: 'alice', limit: '1' })
      expect(body.items[0]).to.deep.include({
        state: 'revoked',
        context: { reason: REQUEST.reason, ticketId: 'T-1' },
      })
      expect(body.items[0].revocation).to.deep.equal({ cause: 'self', client: 'backend', by: 'bob' })
    })
  })

  it('ends on the screen when someone else stops it, and says who and why', async () => {
    await served(async () => {
      const tab = await openTab('killed')
      await tab.start()
      await kill({ actorId: 'bob', by: 'dana', reason: 'the shift is over' })
      await until(() => tab.ends.length > 0)
      expect(tab.ends).to.deep.equal(['dana stopped it: the shift is over.'])
    })
  })

  it('ends with a 401 of the API, and asks its record why', async () => {
    await served(async () => {
      const tab = await openTab('refused')
      await tab.start()
      await kill({ userId: 'alice' })
      expect((await tab.read()).status).to.equal(401)
      expect(tab.ends).to.deep.equal(['Someone stopped it: no reason given.'])
    })
  })

  it('ends in one tab when another starts, and its record as well', async () => {
    await served(async () => {
      const [first, second] = [await openTab('first'), await openTab('second')]
      await first.start()
      await second.start({ ...REQUEST, ticketId: 'T-2' })
      await until(() => first.ends.length > 0)
      // Whichever it sees first: that its record was stopped, or that there is a newer one.
      expect(first.ends.join()).to.match(/^You have (ended it elsewhere|started another view)\.$/)
      expect((await second.read()).status).to.equal(200)
      const { body } = await list(deployment, { live: 'true' })
      expect(body.items).to.have.length(1)
      expect(body.items[0].context).to.include({ ticketId: 'T-2' })
      const former = (await list(deployment, { state: 'revoked', limit: '1' })).body.items[0]
      expect(former.revocation).to.include({ cause: 'continued', continuedBy: body.items[0].id })
      await second.stop()
    })
  })

  it('ends when the sign-in does', async () => {
    await served(async () => {
      const tab = await openTab('signed-out')
      const former = engineersToken
      await tab.start()
      const token = await deployment.provider.AccessToken.find(former)
      await token?.destroy()
      await until(() => tab.ends.length > 0)
      expect(tab.ends).to.deep.equal(['Your sign-in has ended.'])
      engineersToken = await actorToken(deployment, { accountId: 'bob', clientId: 'support-desk' })
    })
  })

  it('ends when its time is over, by the clock and not by a timer', async () => {
    const clock = stopClock()
    try {
      const tab = await openTab('over')
      // Its backend is gone then, so that nothing else ends it.
      await served(() => tab.start().then(() => {}))
      clock.tick(600)
      await until(() => tab.ends.length > 0)
      expect(tab.ends).to.deep.equal(['Its time is over.'])
    } finally {
      clock.restore()
    }
  })

  it('outlives an outage of its backend, and ends if the backend does not know it any more', async () => {
    let tab: Awaited<ReturnType<typeof openTab>> | undefined
    await served(async () => {
      tab = await openTab('forgotten')
      await tab.start()
    })
    expect(tab?.ends).to.deep.equal([])
    await served(async () => {
      await until(() => tab?.ends.length === 1)
      expect(tab?.ends).to.deep.equal(['The backend no longer shows it to you.'])
    })
  })

  it('has a backend that lets no one view a person who is not a customer', async () => {
    await served(async () => {
      const tab = await openTab('denied')
      const error = await tab.start({ ...REQUEST, userId: 'carol' }).catch((thrown: Error) => thrown)
      expect(String(error)).to.include('the backend responded with 403')
    })
  })

  it('authenticates the engineer by a token of the desk, and by no other', async () => {
    const { engineerOf } = await programs.load('my-engineer.ts')
    expect(await engineerOf(engineersToken)).to.equal('bob')
    expect(await engineerOf(await actorToken(deployment, { clientId: 'spa' }))).to.equal(undefined)
    expect(
      await engineerOf(await actorToken(deployment, { clientId: 'support-desk', format: 'jwt' })),
    ).to.equal(undefined)
    expect(await engineerOf('nothing')).to.equal(undefined)
  })

  const kill = async (body: object) =>
    expect((await postRevocation(deployment, body)).body).to.deep.equal({ revoked: 1 })
})

function startApi({ issuer }: Deployment): Promise<Listening> {
  const introspection = { clientId: 'resource-server', clientSecret: 'resource-server-secret' }
  const verify = createVerifier({ issuer, audience: OPAQUE_API, introspection })
  const server = createServer((req, res) => {
    verify(req).then(
      ({ user, actor }) => res.end(JSON.stringify({ user, actor: actor?.sub })),
      (error: Unauthorized) => res.writeHead(error.status, error.headers).end(JSON.stringify(error.body)),
    )
  })
  return listen(server)
}
