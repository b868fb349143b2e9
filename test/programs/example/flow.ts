/** The example in this process, once for each test, and the requests of its people and programs. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { deskCallback, supportDesk } from '../../../example/clients.ts'
import { startExample } from '../../../example/deployment.ts'
import { type Addresses, addressesOf } from '../../../fixtures/deployment.ts'
import { engineersToken } from '../../../fixtures/engineers-sign-in.ts'
import type { Parameters } from '../../../fixtures/http.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../../src/index.ts'

type Address = Pick<Addresses, 'baseUrl'>

/** An example that starts before each test of this `describe`, and fills this in. */
export function startEach() {
  const log: Record<string, unknown>[] = []
  const world = { ...addressesOf(''), folder: '', log, close: async () => {} }
  beforeEach(async () => {
    world.folder = mkdtempSync(path.join(tmpdir(), 'impersonation-example-'))
    log.length = 0
    const storage = path.join(world.folder, 'test.sqlite')
    const write = (entry: object) => void log.push(entry as Record<string, unknown>)
    const { baseUrl, close } = await startExample({ port: 0, storage, log: write })
    Object.assign(world, addressesOf(baseUrl), { close })
  })
  afterEach(async () => {
    await world.close()
    rmSync(world.folder, { recursive: true })
  })
  return world
}

/** The access token that the desk has of someone who has signed in and consented. */
export const signIn = ({ baseUrl }: Address, account = 'sam'): Promise<string> =>
  engineersToken(`${baseUrl}/oidc`, {
    clientId: supportDesk.client_id,
    callback: deskCallback(baseUrl),
    answers: [{ account }, { decision: 'allow' }],
  })

/** The form by which the desk exchanges a subject token. */
export const exchangeOf = ({ baseUrl }: Address, subjectToken: string): Parameters => ({
  grant_type: TOKEN_EXCHANGE,
  subject_token: subjectToken,
  subject_token_type: ACCESS_TOKEN_TYPE,
  resource: `${baseUrl}/orders-api`,
  scope: 'orders:read',
})

export const withToken = (token: string, init: RequestInit = {}): RequestInit => ({
  ...init,
  headers: { authorization: `Bearer ${token}`, ...init.headers },
})
