import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { Provider } from 'oidc-provider'
import type { Sequelize } from 'sequelize'
import type { Seconds } from '../../clock.ts'
import { TooLate, within } from '../../clock.ts'
import {
  ATTACHED,
  type AttachedIssuer,
  type Impersonation,
  type Inside,
  insideOf,
} from '../../impersonation.ts'
import { isPlainObject } from '../../plain-json.ts'
import { messageOf } from './finding.ts'

/** A deployment as its module exports it. */
export interface Deployment {
  readonly impersonation: Impersonation
  readonly inside: Inside
  /** All that the module has attached, this one included. */
  readonly issuers?: readonly AttachedIssuer[]
  /** Only if the module exports it. */
  readonly sequelize?: Sequelize
  /** Called at the end, if the module exports it. */
  readonly close?: () => unknown
}

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
  readonly context: Record<string, unknown>
  /** The step of an API to another one. */
  readonly onBehalfOf?: Step
  /** An application that is opened, where sessions are on: with the same people, context and backend. */
  readonly session?: { readonly clientId: string; readonly scope?: string }
  /** What the policy must say. Default: allowed. */
  readonly expect?: 'allowed' | 'denied'
}

/** For the module, and for the function that it exports. */
const LOADING: Seconds = 10

/** @throws {Error} that says what the module must export, or that it did not finish loading. */
export async function loadDeployment(file: string): Promise<Deployment> {
  const location = path.resolve(file)
  if (!existsSync(location)) throw new Error(`there is no ${location}`)
  const issuers: AttachedIssuer[] = []
  const collect = (issuer: unknown) => void issuers.push(issuer as AttachedIssuer)
  ATTACHED.subscribe(collect)
  const { impersonation, provider, sequelize, close } = await within(LOADING, load(location)).catch(
    (error) => {
      throw error instanceof TooLate
        ? new Error(`the module did not finish loading within ${LOADING} s`)
        : error
    },
  )
  if (!impersonation || !provider) {
    throw new Error(
      'the module must export `provider` and `impersonation`, or a function as default that returns both',
    )
  }
  const inside = insideOf(impersonation as Impersonation)
  // Nothing is written, and no application is told anything, because someone looks.
  inside.door?.stopWatching()
  if (inside.provider !== (provider as Provider)) {
    throw new Error('`impersonation` is attached to another provider than the one exported')
  }
  return {
    impersonation: impersonation as Impersonation,
    inside,
    issuers,
    ...(sequelize !== undefined && { sequelize: sequelize as Sequelize }),
    ...(typeof close === 'function' && { close: close as () => unknown }),
  }
}

async function load(location: string): Promise<Record<string, unknown>> {
  const module: Record<string, unknown> = await import(pathToFileURL(location).href)
  const exported = typeof module.default === 'function' ? await module.default() : (module.default ?? module)
  return { ...module, ...Object(exported) }
}

/** Milliseconds. */
const CLOSING = 3_000

/** The process ends in any case, and what fails to close must not keep back what the command says. */
export async function closeDeployment(deployment: Deployment): Promise<void> {
  await Promise.race([close(deployment).catch(() => {}), setTimeout(CLOSING)])
}

async function close({ close, sequelize }: Deployment): Promise<void> {
  await close?.()
  await sequelize?.close()
}

/** @throws {Error} that names the member that is missing or wrong. */
export function readExample(file: string): Example {
  const given = parse(file)
  const { context = {}, onBehalfOf: step, session, expect = 'allowed' } = given
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
