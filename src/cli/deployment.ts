/** A deployment by the module that exports it. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { Provider } from 'oidc-provider'
import type { Sequelize } from 'sequelize'
import { type Seconds, TooLate, within } from '../base/clock.ts'
import { ATTACHED, type AttachedIssuer, type Impersonation, insideOf } from '../impersonation.ts'
import type { Service } from '../provider/settings.ts'

/** A deployment as its module exports it. */
export interface Deployment {
  readonly impersonation: Impersonation
  readonly inside: Service
  /** All that the module has attached, this one included. */
  readonly issuers?: readonly AttachedIssuer[]
  /** Absent unless the module exports it. */
  readonly sequelize?: Sequelize
  /** Called at the end, if the module exports it. */
  readonly close?: () => unknown
}

/** The time to load the module, and to wait for the function that it exports. */
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
  // A look at a deployment writes nothing, and tells no application anything.
  inside.sessions.stopWatching?.()
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
