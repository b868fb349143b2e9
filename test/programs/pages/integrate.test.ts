/** The programs of docs/integrate.md: each serves the whole flow and the rest of its application. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { API, addressesOf } from '../../../fixtures/deployment.ts'
import { send } from '../../../fixtures/http.ts'
import {
  blocksOf,
  type Folder,
  makeFolder,
  readPage,
  runnable,
  typescriptOf,
  whileServing,
} from '../../../fixtures/markdown.ts'
import { expectWholeFlow } from '../../../fixtures/readers-flow.ts'
import { postSubjectToken } from '../../../fixtures/requests.ts'
import { freePort } from '../../../fixtures/server-process.ts'

const FROM_NOTHING = blocksOf(readPage('docs/integrate.md')).filter(
  ({ heading }) => heading === 'From nothing',
)
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

interface Host {
  readonly code: () => string
  /** The same program with its body parsers in front of the mounts, if it has parsers. */
  readonly parsedFirst?: (code: string) => string
}

const express = {
  code: () => programFor('Express'),
  parsedFirst: (code) => moved(code, EXPRESS_PARSERS, "app.use('/oidc', provider.callback())"),
} satisfies Host

const HOSTS: Readonly<Record<string, Host>> = {
  Koa: {
    code: () => programFor('Koa'),
    parsedFirst: (code) => moved(code, 'app.use(bodyParser)\n', "app.use(mount('/oidc', provider))"),
  },
  'Express 5': express,
  'Express 4': { ...express, code: () => express.code().replace("from 'express'", "from 'express4'") },
  'Express, mounted at the prefix': {
    code: () => express.code().replace('use(impersonation', "use('/api', impersonation"),
  },
  Fastify: {
    code: () => programFor('Fastify'),
    parsedFirst: (code) => {
      expect(code).to.include('await app.register(middie)\n')
      return code.replace('await app.register(middie)\n', FORM_PARSER)
    },
  },
  'node:http': { code: () => programFor('node:http') },
  Hono: { code: () => programFor('Hono') },
}

describe('docs: integrate', () => {
  let folder: Folder
  beforeEach(async () => {
    folder = makeFolder(await freePort())
  })
  afterEach(() => folder.remove())

  for (const [host, { code, parsedFirst }] of Object.entries(HOSTS)) {
    describe(host, () => {
      it('serves the whole flow, and the rest of the application', async () => {
        await whileServing(folder, { name: 'host.ts', code: code() }, async (baseUrl) => {
          await expectWholeFlow(baseUrl)
          await expectHost(baseUrl)
          await expectContractOfManagement(baseUrl)
          await expectProxyToBeBelieved(baseUrl)
          await expectSignedCookies(baseUrl)
        })
      })

      if (!parsedFirst) return
      it('serves the whole flow behind body parsers', async () => {
        await whileServing(folder, { name: 'host.ts', code: parsedFirst(code()) }, async (baseUrl) => {
          await expectWholeFlow(baseUrl)
          await expectHost(baseUrl)
        })
      })
    })
  }

  it('serves the whole flow in NestJS', async () => {
    // Node strips types, but not decorators.
    const code = programFor('NestJS')
      .replace('@Module(', 'const decorate = Module(')
      .replace('class AppModule {}', 'class AppModule {}\ndecorate(AppModule)')
    await whileServing(folder, { name: 'host.ts', code }, async (baseUrl) => {
      await expectWholeFlow(baseUrl)
      await expectContractOfManagement(baseUrl)
      await expectProxyToBeBelieved(baseUrl)
    })
  })

  it('starts from nothing: a key, a deployment, and curl lines that issue', async () => {
    const [makeKey, request] = FROM_NOTHING.filter(({ language }) => language === 'sh')
    const deployment = FROM_NOTHING.find(({ language }) => language === 'ts')
    const { port } = new URL(folder.baseUrl)
    const here = (text = '') => text.replaceAll('3000', port)
    const shell = (text = '') => promisify(execFile)('bash', ['-ec', text], { cwd: folder.path })
    await shell(makeKey?.code)
    folder.write('my-deployment.ts', runnable(here(deployment?.code)))
    await whileServing(folder, { name: 'host.ts', code: programFor('node:http') }, async (baseUrl) => {
      const { stdout } = await shell(here(request?.code))
      expect(JSON.parse(stdout)).to.have.all.keys('subjectToken', 'expiresIn')
      await expectWholeFlow(baseUrl)
      await expectSignedCookies(baseUrl)
    })
  })

  describe('serves issuers at other paths', () => {
    const served = programFor('Express').replace("app.use('/oidc', provider.callback())\n", '')
    const issued = (program: string, issuer: string, api: string) =>
      whileServing(
        folder,
        {
          name: 'host.ts',
          code: program.replace('new Provider(issuer', `new Provider(issuer.replace('/oidc', '${issuer}')`),
          discovery: `${issuer}/.well-known/openid-configuration`,
        },
        (baseUrl) =>
          expectWholeFlow(baseUrl, {
            issuer: baseUrl + issuer,
            tokenEndpoint: `${baseUrl}${issuer}/token`,
            subjectTokens: `${baseUrl}${api}/subject-tokens`,
          }),
      )

    it('at the root, where the provider comes last', async () => {
      await issued(served.replace('app.listen', 'app.use(provider.callback())\napp.listen'), '', '/api')
    })

    it('below a path, with the management API below it', async () => {
      const program = served
        .replace('impersonation.handler()', "impersonation.handler({ prefix: '/auth/api' })")
        .replace('app.use(express.json', "app.use('/auth', provider.callback())\napp.use(express.json")
      await issued(program, '/auth', '/auth/api')
    })
  })

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
  const reader = addressesOf(baseUrl)
  expect((await send(reader.subjectTokens)).body.error).to.equal('invalid_token')
  const put = await send(reader.subjectTokens, { method: 'PUT' })
  expect([put.status, put.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD, POST, DELETE'])
  const malformed = await postSubjectToken(reader, '{"userId')
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
