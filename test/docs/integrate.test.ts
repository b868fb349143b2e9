/** The programs of docs/integrate.md: each serves the whole flow and the rest of its application. */
import { expect } from 'chai'
import { API } from '../../fixtures/deployment.ts'
import { send } from '../../fixtures/http.ts'
import { type Folder, makeFolder, readPage, typescriptOf, whileServing } from '../../fixtures/markdown.ts'
import { expectWholeFlow, readersManagementToken } from '../../fixtures/readers-flow.ts'
import { freePort } from '../../fixtures/server-process.ts'

const PROGRAMS = typescriptOf(readPage('docs/integrate.md'))

function programFor(host: string): string {
  const program = PROGRAMS.find(({ heading }) => heading === host)
  if (!program) throw new Error(`no program for ${host}`)
  return program.code
}

/** Moves a line in front of another. */
function moved(code: string, line: string, before: string): string {
  expect(code).to.include(line)
  expect(code).to.include(before)
  return code.replace(line, '').replace(before, `${line}${before}`)
}

const EXPRESS_PARSERS = 'app.use(express.json(), express.urlencoded({ extended: false }))\n'
const FORM_PARSER = `app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
  done(null, Object.fromEntries(new URLSearchParams(String(body)))),
)
await app.register(middie, { hook: 'preHandler' })
`

/** The same program with its body parsers in front of the mounts. */
const PARSED_FIRST: Readonly<Record<string, (code: string) => string>> = {
  Koa: (code) => moved(code, 'app.use(bodyParser)\n', "app.use(mount('/oidc', provider))"),
  Express: (code) => moved(code, EXPRESS_PARSERS, "app.use('/oidc', provider.callback())"),
  Fastify: (code) => {
    expect(code).to.include('await app.register(middie)\n')
    return code.replace('await app.register(middie)\n', FORM_PARSER)
  },
}

describe('docs: integrate', () => {
  let folder: Folder
  beforeEach(async () => {
    folder = makeFolder(await freePort())
  })
  afterEach(() => folder.remove())

  for (const [host, parsedFirst] of Object.entries(PARSED_FIRST)) {
    describe(host, function () {
      this.timeout(60_000)

      it('serves the whole flow, and the rest of the application', async () => {
        await whileServing(folder, { name: 'host.ts', code: programFor(host) }, async (baseUrl) => {
          await expectWholeFlow(baseUrl)
          await expectHost(baseUrl)
          await expectContractOfManagement(baseUrl)
          await expectProxyToBeBelieved(baseUrl)
          await expectSignedCookies(baseUrl)
        })
      })

      it('serves the whole flow behind body parsers', async () => {
        await whileServing(
          folder,
          { name: 'host.ts', code: parsedFirst(programFor(host)) },
          async (baseUrl) => {
            await expectWholeFlow(baseUrl)
            await expectHost(baseUrl)
          },
        )
      })
    })
  }

  it('moves the API to the path that both options name', async () => {
    const [, options] = /createImpersonation\((\{ store: .*?\})\)/.exec(programFor('Koa')) ?? []
    const elsewhere = programFor('Koa')
      .replace(
        `${options}`,
        `{ store: createSubjectTokenStore(sequelize), managementResource: '${API}/internal' }`,
      )
      .replace('impersonation.router()', "impersonation.router({ prefix: '/internal' })")
    await whileServing(folder, { name: 'host.ts', code: elsewhere }, async (baseUrl) => {
      const post = (path: string) => send(`${baseUrl}${path}/subject-tokens`, { method: 'POST' })
      expect((await post('/internal')).status).to.equal(401)
      expect((await post('/api')).status).to.equal(404)
    })
  })
})

/** Every other path belongs to the host application. */
async function expectHost(baseUrl: string): Promise<void> {
  expect((await send(`${baseUrl}/`)).text).to.equal('mine')
  expect((await send(`${baseUrl}/api/health`)).text).to.equal('fine')
  for (const path of ['/nowhere', '/api/nowhere', '/oidc/nowhere'])
    expect((await send(baseUrl + path)).status, path).to.equal(404)
  const ticket = await send(`${baseUrl}/tickets`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"ticket":"T-1"}',
  })
  expect([ticket.status, ticket.body]).to.deep.equal([200, { ticket: 'T-1' }])
}

/** Refusals reach the client as the API describes them, in every framework. */
async function expectContractOfManagement(baseUrl: string): Promise<void> {
  const url = `${baseUrl}/api/subject-tokens`
  expect((await send(url)).body.error).to.equal('invalid_token')
  const put = await send(url, { method: 'PUT' })
  expect([put.status, put.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD, POST, DELETE'])
  const malformed = await send(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await readersManagementToken(baseUrl)}`,
      'content-type': 'application/json',
    },
    body: '{"userId',
  })
  expect([malformed.status, malformed.body?.error]).to.deep.equal([400, 'invalid_request'])
}

async function expectProxyToBeBelieved(baseUrl: string): Promise<void> {
  const { body } = await send(`${baseUrl}/oidc/.well-known/openid-configuration`, {
    headers: { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'id.example.com' },
  })
  expect(body.token_endpoint).to.equal('https://id.example.com/oidc/token')
}

async function expectSignedCookies(baseUrl: string): Promise<void> {
  const parameters = new URLSearchParams({
    client_id: 'spa',
    response_type: 'code',
    scope: 'openid',
    redirect_uri: 'https://app.example.com/callback',
    code_challenge: 'v'.repeat(43),
    code_challenge_method: 'S256',
  })
  const { status, headers } = await fetch(`${baseUrl}/oidc/auth?${parameters}`, { redirect: 'manual' })
  expect(status).to.equal(303)
  expect(headers.getSetCookie().join('\n')).to.include('_interaction.sig=')
}
