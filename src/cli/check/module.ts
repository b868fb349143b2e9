import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Provider } from 'oidc-provider'
import type { Sequelize } from 'sequelize'
import type { Seconds } from '../../clock.ts'
import { TooLate, within } from '../../clock.ts'
import { type Impersonation, type Inside, insideOf } from '../../impersonation.ts'
import { isPlainObject } from '../../plain-json.ts'
import { messageOf } from './finding.ts'

/** A deployment as its module exports it. */
export interface Deployment {
  readonly impersonation: Impersonation
  readonly inside: Inside
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
}

/** For the module, and for the function that it exports. */
const LOADING: Seconds = 10

/** @throws {Error} that says what the module must export, or that it did not finish loading. */
export async function loadDeployment(file: string): Promise<Deployment> {
  const location = path.resolve(file)
  if (!existsSync(location)) throw new Error(`there is no ${location}`)
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
  if (inside.provider !== (provider as Provider)) {
    throw new Error('`impersonation` is attached to another provider than the one exported')
  }
  return {
    impersonation: impersonation as Impersonation,
    inside,
    ...(sequelize !== undefined && { sequelize: sequelize as Sequelize }),
    ...(typeof close === 'function' && { close: close as () => unknown }),
  }
}

async function load(location: string): Promise<Record<string, unknown>> {
  const module: Record<string, unknown> = await import(pathToFileURL(location).href)
  const exported = typeof module.default === 'function' ? await module.default() : (module.default ?? module)
  return { ...module, ...Object(exported) }
}

/** @throws {Error} that names the member that is missing or wrong. */
export function readExample(file: string): Example {
  const given = parse(file)
  const { userId, createdBy, clientId, actorId, resource, scope, context = {} } = given
  for (const [name, value] of Object.entries({ userId, createdBy, clientId, resource })) {
    if (typeof value !== 'string') throw new Error(`${file}: ${name} must be a string`)
  }
  for (const [name, value] of Object.entries({ actorId, scope })) {
    if (value !== undefined && typeof value !== 'string') throw new Error(`${file}: ${name} must be a string`)
  }
  if (!isPlainObject(context)) throw new Error(`${file}: context must be an object`)
  if (given.onBehalfOf !== undefined) assertStep(file, given.onBehalfOf)
  return { ...given, context } as unknown as Example
}

function assertStep(file: string, given: unknown): void {
  if (!isPlainObject(given)) throw new Error(`${file}: onBehalfOf must be an object`)
  const { clientId, resource, scope = '' } = given
  for (const [name, value] of Object.entries({ clientId, resource, scope })) {
    if (typeof value !== 'string') throw new Error(`${file}: onBehalfOf.${name} must be a string`)
  }
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
