/** The programs of docs/integrate.md and example/hosts: each serves the whole flow and the rest of its application. */
import { expect } from 'chai'
import { runCheck } from '../../../fixtures/commands.ts'
import { API, addressesOf } from '../../../fixtures/deployment.ts'
import { send } from '../../../fixtures/http.ts'
import {
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

const PROGRAMS = typescriptOf(readPage('docs/integrate.md'))

function programFor(heading: string): string {
  const program = PROGRAMS.find((block) => block.heading === heading)
  if (!program) throw new Error(`no program for ${heading}`)
  return program.code
}

const PROVIDER = programFor('The provider')
const fileFor = (host: string): string => readPage(`example/hosts/${host}.ts`)

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
  /** The program has no routes of its own. */
  readonly isAlone?: boolean
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
    code: () => fileFor('fastify'),
    parsedFirst: (code) => {
      expect(code).to.include('await app.register(middie)\n')
      return code.replace('await app.register(middie)\n', FORM_PARSER)
    },
  },
  'node:http': { code: () => programFor('node:http') },
  Hono: { code: () => fileFor('hono') },
  NestJS: { code: () => fileFor('nestjs'), isAlone: true },
}

describe('docs: integrate', () => {
  let folder: Folder
  beforeEach(async () => {
    folder = makeFolder(await freePort())
    folder.write('provider.ts', runnable(PROVIDER))
  })
  afterEach(() => folder.remove())

  for (const [host, { code, parsedFirst, isAlone }] of Object.entries(HOSTS)) {
    describe(host, () => {
      it('serves the whole flow, and the rest of the application', async () => {
        await whileServing(folder, { name: 'host.ts', code: code() }, async (baseUrl) => {
          await expectWholeFlow(baseUrl)
          if (!isAlone) await expectHost(baseUrl)
          await expectContractOfManagement(baseUrl)
          await expectProxyToBeBelieved(baseUrl)
          await expectSignedCookies(baseUrl)
        })
      })

      it('has no mistake that check finds, but for the resources that it leaves to the reader', async () => {
        expect(await troublesIn(folder, code())).to.deep.equal(['warning: resources'])
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

  it('has the provider of the example', () => {
    const [, ...lines] = fileFor('provider').split('\n')
    expect(lines.join('\n')).to.equal(PROVIDER.replace('// provider.ts\n', ''))
  })

  describe('serves issuers at other paths', () => {
    const served = programFor('Express').replace("app.use('/oidc', provider.callback())\n", '')
    const issued = (code: string, issuer: string, api: string) => {
      const elsewhere = `new Provider(issuer.replace('/oidc', '${issuer}')`
      folder.write('provider.ts', runnable(PROVIDER.replace('new Provider(issuer', elsewhere)))
      const discovery = `${issuer}/.well-known/openid-configuration`
      return whileServing(folder, { name: 'host.ts', code, discovery }, (baseUrl) =>
        expectWholeFlow(baseUrl, {
          issuer: baseUrl + issuer,
          tokenEndpoint: `${baseUrl}${issuer}/token`,
          subjectTokens: `${baseUrl}${api}/subject-tokens`,
        }),
      )
    }

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
    const option = `  managementResource: '${API}/internal',\n`
    folder.write('provider.ts', runnable(PROVIDER.replace('  isAllowed,', `${option}  isAllowed,`)))
    const elsewhere = programFor('Koa').replace(
      'impersonation.router()',
      "impersonation.router({ prefix: '/internal' })",
    )
    await whileServing(folder, { name: 'host.ts', code: elsewhere }, async (baseUrl) => {
      const post = (path: string) => send(`${baseUrl}${path}/subject-tokens`, { method: 'POST' })
      expect((await post('/internal')).status).to.equal(401)
      expect((await post('/api')).status).to.equal(404)
    })
  })
})

/** What check finds where the reader builds the same without listening, and exports what was built. */
async function troublesIn(folder: Folder, code: string): Promise<string[]> {
  const silent = code.replace(/(await )?(app|\}\))\.listen\(.*\)$/m, (_line, _await, start) =>
    start === 'app' ? '' : start,
  )
  expect(silent).not.to.include('.listen(')
  const exported = "export { impersonation, provider }\nexport { sequelize } from './my-deployment.ts'\n"
  const { stdout } = await runCheck(folder.write('host.ts', runnable(`${silent}\n${exported}`)), '--json')
  const findings: { level: string; about: string }[] = JSON.parse(stdout)
  return findings.filter(({ level }) => level !== 'ok').map(({ level, about }) => `${level}: ${about}`)
}

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
