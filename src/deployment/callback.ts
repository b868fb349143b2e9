import type { Seconds } from '../clock.ts'
import { AccessDenied, denied, functionFailed } from '../errors.ts'

export type CallbackName = 'isAllowed' | 'getCustomJwtClaims' | 'extraTokenClaims'

/**
 * Calls one of the deployment's functions, sync or async, under the time limit. Whatever goes wrong in it is a
 * failure of the server (500) that says nothing to the client.
 */
export async function callDeployment<Result>(
  name: CallbackName,
  timeLimit: Seconds,
  call: () => Result | Promise<Result>,
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(functionFailed(name, `took more than ${timeLimit} s`)), timeLimit * 1000)
  })
  try {
    return await Promise.race([invoke(name, call), tooLong])
  } finally {
    clearTimeout(timer)
  }
}

async function invoke<Result>(name: CallbackName, call: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await call()
  } catch (error) {
    if (name === 'getCustomJwtClaims' && error instanceof AccessDenied) throw denied(name, error.message)
    throw functionFailed(name, 'failed', error)
  }
}
