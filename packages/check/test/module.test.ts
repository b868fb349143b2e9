/** `oidc-impersonation-check`: the files that it is given, which are refused before anything is looked at. */
import path from 'node:path'
import { mock } from 'node:test'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { moduleOf, useFolder } from '../../../fixtures/deployment-module.ts'
import { loadDeployment } from '../../../src/cli/deployment.ts'
import { readExample } from '../src/example.ts'

const EXAMPLE = {
  userId: 'alice',
  createdBy: 'backend',
  clientId: 'spa',
  resource: 'https://api.example.com',
}
const STEP = { clientId: 'orders-api', resource: 'https://billing.example.com' }

describe('oidc-impersonation-check: an example', () => {
  const folder = useFolder()
  const write = (text: string) => folder.write(text, 'example.json')
  const read = (example: object) => readExample(write(JSON.stringify(example)))

  it('has no actor, no scope and no step unless it says so, and an empty context', () => {
    expect(read(EXAMPLE)).to.deep.equal({ ...EXAMPLE, context: {} })
    const full = { ...EXAMPLE, actorId: 'sam', scope: 'a b', context: { ticket: 'T-1' }, onBehalfOf: STEP }
    const scoped = { ...full, onBehalfOf: { ...STEP, scope: 'c' } }
    const opened = { ...full, session: { clientId: 'shop', scope: 'openid' } }
    for (const example of [full, scoped, opened]) expect(read(example)).to.deep.equal(example)
  })

  it('is refused where its file cannot be read', () => {
    const none = path.join(folder.path, 'none.json')
    expect(() => readExample(none)).to.throw(Error, new RegExp(`^${none}: ENOENT`))
  })

  const REQUIRED = Object.keys(EXAMPLE)
  const REFUSED: readonly [what: string, text: string | object, message: string][] = [
    ['text that is not JSON', '{', 'in JSON at position 1'],
    ['a list', '[]', 'not a JSON object'],
    ...[...REQUIRED, 'actorId', 'scope'].map((name): [string, object, string] => [
      REQUIRED.includes(name) ? `no ${name}` : `a number for ${name}`,
      { [name]: REQUIRED.includes(name) ? undefined : 1 },
      `${name} must be a string`,
    ]),
    ['a list for its context', { context: ['T-1'] }, 'context must be an object'],
    ['another readOnly', { readOnly: 'true' }, 'readOnly must be true or false'],
    ['another expectation', { expect: 'maybe' }, 'expect must be "allowed" or "denied"'],
    ['a step that is not an object', { onBehalfOf: true }, 'onBehalfOf must be an object'],
    ...Object.entries({ clientId: undefined, resource: undefined, scope: 1 }).map(
      ([name, value]): [string, object, string] => [
        `a step with a wrong ${name}`,
        { onBehalfOf: { ...STEP, [name]: value } },
        `onBehalfOf.${name} must be a string`,
      ],
    ),
    [
      'an application that is not an object',
      { actorId: 'sam', session: 'shop' },
      'session must be an object',
    ],
    [
      'an application without its client',
      { actorId: 'sam', session: {} },
      'session.clientId must be a string',
    ],
    ['an application, and no one who opens it', { session: { clientId: 'shop' } }, 'session needs actorId'],
  ]
  for (const [what, given, message] of REFUSED) {
    it(`is refused with ${what}, by the name of its file`, () => {
      const file = write(typeof given === 'string' ? given : JSON.stringify({ ...EXAMPLE, ...given }))
      expect(() => readExample(file))
        .to.throw(Error)
        .with.property('message')
        .that.satisfies((said: string) => said.startsWith(`${file}: `) && said.includes(message))
    })
  }
})

describe('oidc-impersonation-check: a module', () => {
  const folder = useFolder()
  afterEach(() => mock.timers.reset())

  it('ends no session and tells no application, because someone looks', async () => {
    mock.timers.enable({ apis: ['setInterval'] })
    const file = folder.write(
      moduleOf({
        before: `export const looks = []
          const findDue = async () => (looks.push('looked'), [])
          const sessions = { findDue, claim: async () => false, settle: async () => {} }`,
        store: '{ ...createMemoryStore(), sessions }',
        options: `sessions: { door: 'http://127.0.0.1:3000/impersonate' }`,
        configuration: `findAccount: (ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
          features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },`,
      }),
    )
    await loadDeployment(file)
    mock.timers.tick(60_000)
    const { looks } = await import(pathToFileURL(file).href)
    expect(looks).to.deep.equal([])
  })

  for (const [what, text] of Object.entries({
    'waits for what never comes': 'await new Promise(() => {})',
    'exports a function that never returns what it promises': 'export default () => new Promise(() => {})',
  })) {
    it(`is given up after 10 s if it ${what}`, async () => {
      const file = folder.write(text, 'endless.mjs')
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
