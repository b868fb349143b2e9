/** `oidc-impersonation check`: the files that it is given, which are refused before anything is looked at. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { mock } from 'node:test'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { SIGNING_KEY } from '../../../fixtures/keys.ts'
import { loadDeployment, readExample } from '../../../src/cli/check/module.ts'
import { ROOT } from './deployment.ts'

/** The text of a module whose store tells who looks for sessions. */
const WITH_SESSIONS = `
import Provider from 'oidc-provider'
import { createImpersonation } from '${ROOT}/src/index.ts'
import { createMemoryStore } from '${ROOT}/src/testing/index.ts'
export const looks = []
const findDue = async () => (looks.push('looked'), [])
const sessions = { findDue, claim: async () => false, settle: async () => {} }
export const impersonation = createImpersonation({
  store: { ...createMemoryStore(), sessions },
  sessions: { door: 'https://id.example.com/impersonate' },
})
export const provider = new Provider('https://id.example.com/oidc', impersonation.configure({
  adapter: () => ({}),
  findAccount: (ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
  jwks: ${JSON.stringify({ keys: [SIGNING_KEY] })},
  cookies: { keys: ['a key'] },
  features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
}))
impersonation.attach(provider)
`

const EXAMPLE = {
  userId: 'alice',
  createdBy: 'backend',
  clientId: 'spa',
  resource: 'https://api.example.com',
}
const STEP = { clientId: 'orders-api', resource: 'https://billing.example.com' }

describe('oidc-impersonation check: an example', () => {
  let folder: string
  let file: string
  before(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'example-'))
    file = path.join(folder, 'example.json')
  })
  after(() => rmSync(folder, { recursive: true }))

  const read = (text: string) => {
    writeFileSync(file, text)
    return readExample(file)
  }

  it('has no actor, no scope and no step unless it says so, and an empty context', () => {
    expect(read(JSON.stringify(EXAMPLE))).to.deep.equal({ ...EXAMPLE, context: {} })
    const full = { ...EXAMPLE, actorId: 'sam', scope: 'a b', context: { ticket: 'T-1' }, onBehalfOf: STEP }
    expect(read(JSON.stringify(full))).to.deep.equal(full)
    const scoped = { ...full, onBehalfOf: { ...STEP, scope: 'c' } }
    expect(read(JSON.stringify(scoped))).to.deep.equal(scoped)
    const opened = { ...full, session: { clientId: 'shop', scope: 'openid' } }
    expect(read(JSON.stringify(opened))).to.deep.equal(opened)
  })

  it('is refused where its file cannot be read', () => {
    const none = path.join(folder, 'none.json')
    expect(() => readExample(none)).to.throw(Error, new RegExp(`^${none}: ENOENT`))
  })

  const refused: [what: string, text: string, message: RegExp][] = [
    ['text that is not JSON', '{', /in JSON at position 1/],
    ['a list', '[]', /not a JSON object$/],
    ...['userId', 'createdBy', 'clientId', 'resource'].map((name): [string, string, RegExp] => [
      `no ${name}`,
      JSON.stringify({ ...EXAMPLE, [name]: undefined }),
      new RegExp(`${name} must be a string$`),
    ]),
    ...['actorId', 'scope'].map((name): [string, string, RegExp] => [
      `a number for ${name}`,
      JSON.stringify({ ...EXAMPLE, [name]: 1 }),
      new RegExp(`${name} must be a string$`),
    ]),
    [
      'a list for its context',
      JSON.stringify({ ...EXAMPLE, context: ['T-1'] }),
      /context must be an object$/,
    ],
    [
      'another expectation',
      JSON.stringify({ ...EXAMPLE, expect: 'maybe' }),
      /expect must be "allowed" or "denied"$/,
    ],
    [
      'a step that is not an object',
      JSON.stringify({ ...EXAMPLE, onBehalfOf: true }),
      /onBehalfOf must be an object$/,
    ],
    [
      'an application that is not an object',
      JSON.stringify({ ...EXAMPLE, actorId: 'sam', session: 'shop' }),
      /session must be an object$/,
    ],
    [
      'an application without its client',
      JSON.stringify({ ...EXAMPLE, actorId: 'sam', session: {} }),
      /session\.clientId must be a string$/,
    ],
    [
      'an application, and no one who opens it',
      JSON.stringify({ ...EXAMPLE, session: { clientId: 'shop' } }),
      /session needs actorId$/,
    ],
    ...Object.entries({ clientId: undefined, resource: undefined, scope: 1 }).map(
      ([name, value]): [string, string, RegExp] => [
        `a step with a wrong ${name}`,
        JSON.stringify({ ...EXAMPLE, onBehalfOf: { ...STEP, [name]: value } }),
        new RegExp(`onBehalfOf\\.${name} must be a string$`),
      ],
    ),
  ]
  for (const [what, text, message] of refused) {
    it(`is refused with ${what}, by the name of its file`, () => {
      expect(() => read(text))
        .to.throw(Error, message)
        .with.property('message')
        .that.satisfies((said: string) => said.startsWith(`${file}: `))
    })
  }
})

describe('oidc-impersonation check: a module', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'module-'))
  })
  after(() => rmSync(folder, { recursive: true }))
  afterEach(() => mock.timers.reset())

  it('ends no session and tells no application, because someone looks', async () => {
    const inside = mkdtempSync(path.join(ROOT, 'test', '.module-'))
    mock.timers.enable({ apis: ['setInterval'] })
    try {
      const file = path.join(inside, 'deployment.ts')
      writeFileSync(file, WITH_SESSIONS)
      await loadDeployment(file)
      mock.timers.tick(60_000)
      const { looks } = await import(pathToFileURL(file).href)
      expect(looks).to.deep.equal([])
    } finally {
      rmSync(inside, { recursive: true })
    }
  })

  const endless: [what: string, text: string][] = [
    ['waits for what never comes', 'await new Promise(() => {})'],
    ['exports a function that never returns what it promises', 'export default () => new Promise(() => {})'],
  ]
  for (const [index, [what, text]] of endless.entries()) {
    it(`is given up after 10 s if it ${what}`, async () => {
      const file = path.join(folder, `${index}.mjs`)
      writeFileSync(file, text)
      mock.timers.enable({ apis: ['setTimeout'] })
      let ended = false
      const loading = loadDeployment(file)
        .catch((error: Error) => error.message)
        .finally(() => {
          ended = true
        })
      mock.timers.tick(9_999)
      await new Promise((resolve) => setImmediate(resolve))
      expect(ended).to.equal(false)
      mock.timers.tick(1)
      expect(await loading).to.equal('the module did not finish loading within 10 s')
    })
  }
})
