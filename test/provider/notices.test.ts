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
const SILENT = { stdout: '', stderr: '' }

describe('notices: a refusal that no one listens to', () => {
  const first: [title: string, request: Task['requests'][number], event: string, why: string][] = [
    ['at the exchange', 'unknown', 'subject_token.refused', 'check subject_token, reason "unknown"'],
    [
      'at the management API, by the policy',
      'denied',
      'subject_token.refused',
      'check isAllowed, reason "the ticket is closed\\nand old"',
    ],
    ['of a spent token', 'replay', 'subject_token.replayed', 'check subject_token, reason "used before"'],
    [
      'on behalf of a user',
      'onBehalfOf',
      'access_token.refused',
      'check subject_token, reason "unknown or expired"',
    ],
  ]
  for (const [title, request, event, why] of first) {
    it(`is printed if it is the first of the process: ${title}`, async () => {
      const printed = await printedBy({ requests: [request, request, 'unknown', 'onBehalfOf'] })
      expect(printed).to.deep.equal({ stdout: refused(event, why), stderr: '' })
    })
  }

  it('is printed although someone listens to another event', async () => {
    const heard = ['subject_token.refused']
    const { stdout } = await printedBy({ requests: ['unknown', 'onBehalfOf', 'replay'], heard })
    expect(stdout).to.equal(
      refused('access_token.refused', 'check subject_token, reason "unknown or expired"'),
    )
  })

  it('is not printed where someone listens', async () => {
    const heard = ['subject_token.refused', 'subject_token.replayed', 'access_token.refused']
    const requests = ['unknown', 'denied', 'replay', 'onBehalfOf'] as const
    expect(await printedBy({ requests, heard })).to.deep.equal(SILENT)
  })
})

describe('notices: an opaque access token', () => {
  it('is explained once, if getResourceServerInfo did not ask for it', async () => {
    const printed = await printedBy({ requests: ['opaque', 'opaque'] })
    const why = 'because getResourceServerInfo returned no accessTokenFormat for it'
    const said = `the access token for https://unnamed.example.com is opaque, ${why}. Return 'jwt', or 'opaque' to keep it that way.`
    expect(printed).to.deep.equal({ stdout: notice(said), stderr: '' })
  })

  it('is not explained if it did', async () => {
    expect(await printedBy({ requests: ['opaqueByName'] })).to.deep.equal(SILENT)
  })
})

describe('notices: what was undone', () => {
  for (const NODE_ENV of ['', 'production'])
    it(`is said once for each function, NODE_ENV=${NODE_ENV}`, async () => {
      const task: Task = { requests: ['opaqueByName', 'opaqueByName'], isTampering: true }
      const { stderr } = await printedBy(task, { NODE_ENV })
      expect(stderr).to.equal(
        'oidc-provider-impersonation WARNING: ttl.AccessToken has changed scope: a token of an exchange or a session stays as it was decided.\n',
      )
    })
})

describe('notices: in production', () => {
  it('nothing is printed', async () => {
    const requests = ['unknown', 'denied', 'replay', 'onBehalfOf', 'opaque'] as const
    expect(await printedBy({ requests }, { NODE_ENV: 'production' })).to.deep.equal(SILENT)
  })

  it('every refusal is printed, heard or not, by what its event tells, if DEBUG asks for it', async () => {
    const requests = ['unknown', 'denied', 'replay', 'onBehalfOf', 'opaque'] as const
    const heard = ['subject_token.refused']
    const { stdout, stderr } = await printedBy({ requests, heard }, { NODE_ENV: 'production', DEBUG })
    expect(stdout).to.equal('')
    const lines = stderr.trimEnd().split('\n')
    expect(lines.map((line) => line.split(' ').slice(1, 3).join(' '))).to.deep.equal([
      `${DEBUG} subject_token.refused`,
      `${DEBUG} subject_token.refused`,
      `${DEBUG} subject_token.replayed`,
      `${DEBUG} access_token.refused`,
    ])
    const [unknown, denied] = lines.map((line) => JSON.parse(line.slice(line.indexOf('{'))))
    expect(unknown).to.deep.equal({
      stage: 'exchange',
      error: 'invalid_request',
      check: 'subject_token',
      reason: 'unknown',
      clientId: 'spa',
    })
    expect(denied).to.deep.equal({
      stage: 'issuance',
      error: 'access_denied',
      check: 'isAllowed',
      reason: 'the ticket is closed\nand old',
      clientId: 'backend',
      userId: 'bob',
    })
  })
})
