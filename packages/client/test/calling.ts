/** A client whose provider a test writes itself, and what becomes of its calls. */
import { inspect } from 'node:util'
import { expect } from 'chai'
import { type StandIn, startStandIn } from '../../../fixtures/stand-in.ts'
import {
  createImpersonationClient,
  type ImpersonationClient,
  type ImpersonationClientOptions,
  ImpersonationError,
} from '../src/index.ts'

export const ID = '0'.repeat(32)
export const BACKEND = { clientId: 'backend', clientSecret: 'backend-secret' }
export type Script = Parameters<typeof startStandIn>[0]

/** The error of a call. */
export async function errorOf(promise: Promise<unknown>): Promise<ImpersonationError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).to.be.instanceOf(ImpersonationError)
  return error as ImpersonationError
}

/** All that a log could show of it. */
export const shownOf = (error: unknown): string => inspect(error, { depth: 9, showHidden: true })

/** A client of a provider that follows this script, for one test. */
export async function withStandIn<Result>(
  script: Script,
  use: (client: ImpersonationClient, standIn: StandIn) => Promise<Result>,
  options: Partial<ImpersonationClientOptions> = {},
): Promise<Result> {
  const standIn = await startStandIn(script)
  try {
    return await use(createImpersonationClient({ issuer: standIn.issuer, ...BACKEND, ...options }), standIn)
  } finally {
    await standIn.close()
  }
}
