/** TypeScript in the documentation: all of it compiles, and the runnable parts do what the page says. */
import { execFile } from 'node:child_process'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { actorToken, withActor } from '../../../fixtures/actor-tokens.ts'
import { CALLBACK, machineClient } from '../../../fixtures/clients.ts'
import { type Deployment, OPAQUE_API, startDeployment } from '../../../fixtures/deployment.ts'
import { manage } from '../../../fixtures/management.ts'
import {
  type Block,
  blocksOf,
  compile,
  DOCS,
  type Folder,
  makeFolder,
  readPage,
  runnable,
  typescriptOf,
} from '../../../fixtures/markdown.ts'
import { HARMLESS, MACHINE, register } from '../../../fixtures/registration.ts'
import { exchange, introspect, issue, managementToken, postSubjectToken } from '../../../fixtures/requests.ts'
import { type ImpersonationOptions, TOKEN_EXCHANGE } from '../../../src/index.ts'
import { endUnspent } from '../../../src/sequelize/tokens/end-unspent.ts'

interface NamedBlock extends Block {
  /** The name in its first line, or else the page and a number. */
  readonly name: string
}

const BLOCKS: readonly NamedBlock[] = DOCS.flatMap((page) =>
  typescriptOf(readPage(page)).map((block, index) => ({
    ...block,
    // The other pages import more from the reader's own code than a complete deployment needs.
    name:
      /^\/\/ ((?!my-deployment)[\w-]+\.ts)\n/.exec(block.code)?.[1] ??
      `${path.basename(page, '.md')}-${index}.ts`,
  })),
)

describe('docs: TypeScript', function () {
  this.timeout(60_000)
  let folder: Folder
  let deployment: Deployment
  // biome-ignore lint/suspicious/noExplicitAny: the exports of a block are checked when it is compiled
  let load: (name: string) => Promise<any>

  before(async () => {
    let rules: Required<Pick<ImpersonationOptions, 'isAllowed' | 'getCustomJwtClaims'>> | undefined
    deployment = await startDeployment({
      options: {
        isAllowed: (request) => rules?.isAllowed(request) ?? false,
        getCustomJwtClaims: (request) => rules?.getCustomJwtClaims(request) ?? {},
      },
      configuration: {
        features: { registration: { enabled: true, initialAccessToken: true } } as never,
      },
    })
    folder = makeFolder(Number(new URL(deployment.baseUrl).port))
    for (const { name, code } of BLOCKS) folder.write(name, code)
    // Unchanged for the compiler; next to it a copy that can run.
    load = (name) => {
      const { code } = BLOCKS.find((block) => block.name === name) ?? { code: '' }
      const file = folder.write(
        `run-${name}`,
        runnable(code).replaceAll("'./my-rules.ts'", "'./run-my-rules.ts'"),
      )
      return import(pathToFileURL(file).href)
    }
    rules = await load('my-rules.ts')
  })
  after(async () => {
    folder.remove()
    await deployment.close()
  })

  it('compiles', async () => {
    expect(BLOCKS.length).to.be.greaterThan(12)
    expect(new Set(BLOCKS.map(({ name }) => name)).size).to.equal(BLOCKS.length)
    expect(await compile(folder)).to.equal('')
  })

  it('has a test of the rules that passes', async () => {
    const test = BLOCKS.find(({ heading }) => heading === 'Test your functions')
    const file = folder.write(
      'run-test.ts',
      runnable(test?.code ?? '').replace("'./my-rules.ts'", "'./run-my-rules.ts'"),
    )
    await promisify(execFile)(process.execPath, ['--no-warnings', file])
  })

  it('has rules that require an engineer, and protect colleagues', async () => {
    const refused = async (body: object) => (await postSubjectToken(deployment, body)).status
    expect(await refused({ userId: 'alice' })).to.equal(403)
    expect(await refused({ userId: 'bob', actorId: 'carol' })).to.equal(403)
    const { subjectToken } = await issue(deployment, { actorId: 'bob' })
    const foreign = await actorToken(deployment, { accountId: 'bob', format: 'jwt', audience: OPAQUE_API })
    const response = await exchange(deployment, { subject_token: subjectToken, ...withActor(foreign) })
    expect([response.status, response.body.error]).to.deep.equal([400, 'access_denied'])
  })

  it('has a command and SQL that end what a restored database would revive', async () => {
    const [{ code } = { code: '' }] = blocksOf(readPage('docs/operate.md')).filter(
      ({ language, code }) => language === 'sql' && code.startsWith('DELETE'),
    )
    const { subjectToken } = await issue(deployment, { actorId: 'bob' })
    const opaque = await actorToken(deployment)
    expect(await introspect(deployment, opaque)).to.include({ active: true })
    expect(readPage('docs/operate.md')).to.include('npx oidc-impersonation end-unspent')
    expect(await endUnspent(deployment.database.sequelize)).to.be.at.least(1)
    await deployment.database.sequelize.query(code)
    expect(await introspect(deployment, opaque)).to.deep.equal({ active: false })
    const response = await exchange(deployment, {
      subject_token: subjectToken,
      ...withActor(await actorToken(deployment)),
    })
    expect([response.status, response.body.error_description]).to.deep.equal([
      400,
      'subject_token is invalid',
    ])
  })

  it('has an invitation that lets clients register with the grant, more than once', async () => {
    const { invite } = await load('invite.ts')
    const token = await invite(deployment.provider)
    const metadata = {
      ...HARMLESS,
      grant_types: ['authorization_code', TOKEN_EXCHANGE],
      redirect_uris: [CALLBACK],
    }
    for (const _ of [1, 2]) expect((await register(deployment, metadata, token)).status).to.equal(201)
    const found = await deployment.provider.InitialAccessToken.find(token)
    expect(found?.remainingTTL).to.be.within(3500, 3600)
    expect((await register(deployment, { ...MACHINE, scope: 'subject-tokens:read' }, token)).status).to.equal(
      201,
    )
  })

  it('stores a client, whose registration takes effect with the next request', async () => {
    const { storeClient } = await load('store-client.ts')
    const client = machineClient({ client_id: 'stored-backend', scope: 'subject-tokens:read' })
    await storeClient(deployment.database.sequelize, client)
    const token = await managementToken(deployment, { client, scope: 'subject-tokens:read' })
    const list = async () => (await manage(deployment, 'GET', '', { token })).status
    expect(await list()).to.equal(200)
    await storeClient(deployment.database.sequelize, { ...client, scope: 'subject-tokens:revoke' })
    expect(await list()).to.equal(403)
  })
})
