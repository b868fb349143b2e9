/** The contents of an example file. */
import { readFileSync } from 'node:fs'
import { isPlainObject, messageOf } from 'oidc-provider-impersonation/inside'

/** An API exchanges the access token that it received: its client, and where it goes. */
export interface Step {
  readonly clientId: string
  readonly resource: string
  readonly scope?: string
}

/** An impersonation to try: who becomes whom, where and why. */
export interface Example {
  readonly userId: string
  readonly createdBy: string
  readonly clientId: string
  readonly actorId?: string
  readonly resource: string
  readonly scope?: string
  /** As the backend asks for it. Default: the option `readOnly`. */
  readonly readOnly?: boolean
  readonly context: Record<string, unknown>
  /** The step of an API to another one. */
  readonly onBehalfOf?: Step
  /** An application that is opened, where sessions are on: with the same people, context and backend. */
  readonly session?: { readonly clientId: string; readonly scope?: string }
  /** The decision that the policy must make. Default: allowed. */
  readonly expect?: 'allowed' | 'denied'
}

/** The ids of the clients that it names. */
export const clientsIn = ({ createdBy, clientId, onBehalfOf: step, session }: Example): string[] => [
  ...new Set([createdBy, clientId, step?.clientId ?? clientId, session?.clientId ?? clientId]),
]

/** @throws {Error} that names the member that is missing or wrong. */
export function readExample(file: string): Example {
  const given = parse(file)
  const { context = {}, readOnly = false, onBehalfOf: step, session, expect = 'allowed' } = given
  const assert = (fits: boolean, rule: string) => {
    if (!fits) throw new Error(`${file}: ${rule}`)
  }
  const assertText = (members: Record<string, unknown>, start = '') => {
    for (const [name, value] of Object.entries(members))
      assert(typeof value === 'string', `${start}${name} must be a string`)
  }
  const { userId, createdBy, clientId, resource, actorId = '', scope = '' } = given
  assertText({ userId, createdBy, clientId, resource, actorId, scope })
  assert(isPlainObject(context), 'context must be an object')
  assert(typeof readOnly === 'boolean', 'readOnly must be true or false')
  assert(expect === 'allowed' || expect === 'denied', 'expect must be "allowed" or "denied"')
  if (step !== undefined) {
    assert(isPlainObject(step), 'onBehalfOf must be an object')
    const { clientId, resource, scope = '' } = step as Record<string, unknown>
    assertText({ clientId, resource, scope }, 'onBehalfOf.')
  }
  if (session !== undefined) {
    assert(isPlainObject(session), 'session must be an object')
    const { clientId, scope = '' } = session as Record<string, unknown>
    assertText({ clientId, scope }, 'session.')
    assert(actorId !== '', 'session needs actorId')
  }
  return { ...given, context } as unknown as Example
}

function parse(file: string): Record<string, unknown> {
  try {
    const given: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (isPlainObject(given)) return given
  } catch (error) {
    throw new Error(`${file}: ${messageOf(error)}`)
  }
  throw new Error(`${file}: not a JSON object`)
}
