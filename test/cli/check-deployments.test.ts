/** `oidc-impersonation check` of whole deployments: each mistake by its name, with its remedy, and a real exchange that shows it. */
import { execFile } from 'node:child_process'
import path from 'node:path'
import { expect } from 'chai'
import { check } from '../../src/cli/check/check.ts'
import * as opaqueByDefault from './check/opaque-by-default.ts'
import * as policy from './check/policy.ts'
import * as secret from './check/secret.ts'
import * as sharedLists from './check/shared-lists.ts'
import * as tokensOfAnApi from './check/tokens-of-an-api.ts'
import * as unknownResource from './check/unknown-resource.ts'
import { wholeFlow } from './check/whole-flow.ts'
import { CLI } from './command.ts'

const FOLDER = path.join(import.meta.dirname, 'check')

interface Printed {
  /** What is not as it should be, each with its remedy. */
  readonly findings: readonly string[]
  readonly last: string | undefined
  readonly code: number
  /** All of it. */
  readonly text: string
  readonly stderr: string
}

const filesOf = (name: string, example: string) => ({
  module: path.join(FOLDER, `${name}.ts`),
  example: path.join(FOLDER, `${example}.json`),
})

function printed(text: string, code: number, stderr = ''): Printed {
  const lines = text.trimEnd().split('\n')
  const findings = lines.filter((line) => /^[✗!–] |^ +→ /.test(line))
  const last = lines.at(-1)
  return { findings: findings.map((line) => line.replace(/ {2,}/g, ' ')), last, code, text, stderr }
}

const run = (name: string, exampleName: string): Promise<Printed> =>
  new Promise((resolve) => {
    const { module, example } = filesOf(name, exampleName)
    const program = ['--no-warnings', CLI, 'check', module, '--example', example]
    execFile(process.execPath, program, (error, stdout, stderr) =>
      resolve(printed(stdout, error ? Number(error.code) : 0, stderr)),
    )
  })

/** The same without its mistake, in this process. */
async function runRemedied(name: string, example: string): Promise<Printed> {
  process.env.REMEDIED = '1'
  try {
    const { text, failed } = await check({ name: 'check', ...filesOf(name, example), json: false })
    return printed(text, failed ? 1 : 0)
  } finally {
    delete process.env.REMEDIED
  }
}

const OPAQUE = [
  '✗ resources access tokens for https://api.example.com are opaque, because getResourceServerInfo returns no accessTokenFormat: an API that expects a JWT refuses them',
  " → return accessTokenFormat: 'jwt' for it, or 'opaque' if its API introspects",
]
const UNKNOWN = [
  '✗ resources "support-desk" may exchange for https://api.example.com/, which getResourceServerInfo does not know',
  ' → write https://api.example.com in its token_exchange_resources',
]
const SECRET = [
  '✗ secrets "backend": Authorization: Basic cannot carry its secret unencoded',
  ' → use A–Z a–z 0–9 - . _ ~ alone, or form-encode id and secret before Base64',
]
const TOKENS = [
  '✗ actor tokens who signs in at "support-desk" gets a token for https://api.example.com, because of defaultResource and useGrantedResource: it lacks openid, and cannot act',
  ' → let useGrantedResource return false for "support-desk"',
]
const POLICY = [
  '✗ policy isAllowed allows it, and the example expects "denied"',
  ' → let isAllowed decide on actor.sub, at every stage',
]
const LISTS = [
  '✗ status lists http://127.0.0.1:3000/api/status-lists is also the address of http://127.0.0.1:3000/oidc: only one issuer can have its lists there, and APIs refuse the JWTs of the others',
  ' → set managementResource or statusList.uri for all but one of them',
]

describe('oidc-impersonation check: whole deployments', () => {
  const SOUND = 'sam acts as alice'
  const mistakes = [
    ['opaque-by-default', opaqueByDefault, OPAQUE, 'API: 401 opaque, and there is no option introspection'],
    ['unknown-resource', unknownResource, UNKNOWN, 'exchange: 400 resource indicator is missing, or unknown'],
    ['secret', secret, SECRET, 'management token: 401 client authentication failed'],
    ['tokens-of-an-api', tokensOfAnApi, TOKENS, 'exchange: 400 actor_token is invalid'],
    ['shared-lists', sharedLists, LISTS, 'API: 503 status list: ERR_JWS_SIGNATURE_VERIFICATION_FAILED'],
    ['policy', policy, POLICY, 'mallory acts as alice', 'denied'],
  ] as const

  for (const [name, { mistaken, remedied }, findings, outcome, expected] of mistakes) {
    const example = expected ?? 'example'
    const engineer = expected ? 'mallory' : 'sam'

    it(`finds ${name}, and nothing else, until it is remedied`, async () => {
      const before = await run(name, example)
      expect(before.findings).to.deep.equal(findings)
      expect([before.code, before.last, before.stderr]).to.deep.equal([1, '14 checks, 1 fault', ''])
      const after = await runRemedied(name, example)
      expect(after.findings).to.deep.equal([])
      expect([after.code, after.last]).to.deep.equal([0, '14 checks, no fault'])
    })

    it(`${name} breaks the flow, until it is remedied`, async () => {
      expect(await wholeFlow(mistaken, engineer)).to.equal(outcome)
      const denied = 'issue: 403 the request was denied by policy'
      expect(await wholeFlow(remedied, engineer)).to.equal(expected ? denied : SOUND)
    })
  }

  it('finds nothing in a sound one', async () => {
    for (const example of ['example', 'denied']) {
      const { findings, last, code } = await run('sound', example)
      expect({ findings, last, code }).to.deep.equal({ findings: [], last: '14 checks, no fault', code: 0 })
    }
  })

  it('finds three mistakes of metadata and policy at once, and prints no secret', async () => {
    const { findings, last, code, text, stderr } = await run('three-of-metadata', 'denied')
    expect(findings).to.deep.equal([...SECRET, ...UNKNOWN, ...POLICY])
    expect([last, code]).to.deep.equal(['14 checks, 3 faults', 1])
    for (const part of [secret.SECRET, encodeURIComponent(secret.SECRET), btoa(`backend:${secret.SECRET}`)])
      expect(text + stderr).not.to.include(part)
  })

  it('finds three mistakes of tokens and lists at once', async () => {
    const { findings, last, code } = await run('three-of-tokens', 'example')
    expect(findings).to.deep.equal([...LISTS, ...OPAQUE, ...TOKENS])
    expect([last, code]).to.deep.equal(['14 checks, 3 faults', 1])
  })

  it('sees a policy that forgot the engineer where the example says nothing of it', async () => {
    const { findings, last, code } = await run('policy', 'example')
    expect(findings).to.deep.equal([
      '! policy isAllowed does not look at actor: everyone who can sign in may act',
      ' → let isAllowed decide on actor.sub',
    ])
    expect([last, code]).to.deep.equal(['15 checks, no fault, 1 not strict', 0])
  })
})
