/** What is printed of refusals, and of opaque access tokens by default (protocol.md §6). */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import type { Task } from './noticing.ts'

interface Printed {
  readonly stdout: string
  readonly stderr: string
}

const PROGRAM = path.join(import.meta.dirname, 'noticing.ts')
const DEBUG = 'oidc-provider:impersonation'

/** What a process prints. No secret is in it. */
async function printedBy(task: Task, env: NodeJS.ProcessEnv = {}): Promise<Printed> {
  const child = fork(PROGRAM, [JSON.stringify(task)], {
    silent: true,
    env: { ...process.env, FORCE_COLOR: '0', NODE_ENV: '', DEBUG: '', ...env },
  })
  const secrets: string[] = []
  child.once('message', (told: string[]) => secrets.push(...told))
  const [[code], stdout, stderr] = await Promise.all([
    once(child, 'exit'),
    text(child.stdout ?? expect.fail()),
    text(child.stderr ?? expect.fail()),
  ])
  expect(code, stderr).to.equal(0)
  expect(secrets).to.have.length.above(1)
  for (const secret of secrets) expect(stdout + stderr).not.to.include(secret)
  return { stdout, stderr }
}

const notice = (said: string) => `oidc-provider-impersonation NOTICE: ${said}\n`
const refused = (event: string, why: string) =>
  notice(`a request was refused, and no one listens to ${event}: ${why}. DEBUG=${DEBUG} prints each one.`)
const UNNAMED = notice(
  "the access token for https://unnamed.example.com is opaque, because getResourceServerInfo returned no accessTokenFormat for it. Return 'jwt', or 'opaque' to keep it that way.",
)
const UNDONE =
  'oidc-provider-impersonation WARNING: ttl.AccessToken has changed scope: a token of an exchange or a session stays as it was decided.\n'
const REFUSALS: Task['requests'] = ['unknown', 'denied', 'replay', 'onBehalfOf']
const HEARD = ['subject_token.refused', 'subject_token.replayed', 'access_token.refused']

const PROCESSES: Readonly<Record<string, readonly [task: Task, told: Printed, env?: NodeJS.ProcessEnv]>> = {
  'in production what was undone, and nothing else': [
    { requests: [...REFUSALS, 'opaque', 'opaque'], isTampering: true },
    { stdout: '', stderr: UNDONE },
    { NODE_ENV: 'production' },
  ],
  'what was undone, and neither a refusal that is heard nor a token that is opaque by name': [
    { requests: [...REFUSALS, 'opaqueByName', 'opaqueByName'], heard: HEARD, isTampering: true },
    { stdout: '', stderr: UNDONE },
  ],
  'the first refusal and the first token that is opaque by default, once each': [
    { requests: ['unknown', 'unknown', 'onBehalfOf', 'opaque', 'opaque'] },
    {
      stdout: refused('subject_token.refused', 'check subject_token, reason "unknown"') + UNNAMED,
      stderr: '',
    },
  ],
  'a denial at the management API, on one line': [
    { requests: ['denied', 'denied', 'unknown'] },
    {
      stdout: refused('subject_token.refused', 'check isAllowed, reason "the ticket is closed\\nand old"'),
      stderr: '',
    },
  ],
  'the use of a spent token': [
    { requests: ['replay', 'replay', 'unknown'] },
    { stdout: refused('subject_token.replayed', 'check subject_token, reason "used before"'), stderr: '' },
  ],
  'a refusal on behalf of a user, the first that no one listens to': [
    { requests: ['unknown', 'onBehalfOf', 'replay'], heard: ['subject_token.refused'] },
    {
      stdout: refused('access_token.refused', 'check subject_token, reason "unknown or expired"'),
      stderr: '',
    },
  ],
}

describe('notices: a process tells', () => {
  it('every refusal in production, heard or not, by what its event tells, if DEBUG asks for it', async () => {
    const heard = ['subject_token.refused']
    const task = { requests: [...REFUSALS, 'opaque'], heard } as const
    const { stdout, stderr } = await printedBy(task, { NODE_ENV: 'production', DEBUG })
    expect(stdout).to.equal('')
    const lines = stderr.trimEnd().split('\n')
    expect(lines.map((line) => line.split(' ').slice(1, 3).join(' '))).to.deep.equal([
      `${DEBUG} subject_token.refused`,
      `${DEBUG} subject_token.refused`,
      `${DEBUG} subject_token.replayed`,
      `${DEBUG} access_token.refused`,
    ])
    const [unknown, denied] = lines.map((line) => JSON.parse(line.slice(line.indexOf('{'))))
    expect([unknown, denied]).to.deep.equal([
      {
        stage: 'exchange',
        error: 'invalid_request',
        check: 'subject_token',
        reason: 'unknown',
        clientId: 'spa',
      },
      {
        stage: 'issuance',
        error: 'access_denied',
        check: 'isAllowed',
        reason: 'the ticket is closed\nand old',
        clientId: 'backend',
        userId: 'bob',
      },
    ])
  })

  for (const [title, [task, told, env]] of Object.entries(PROCESSES))
    it(title, async () => expect(await printedBy(task, env)).to.deep.equal(told))
})
