/**
 * Subject tokens from the management API of oidc-provider-impersonation, over HTTP. It writes nothing but the records it
 * asks for, and revokes them when it is closed.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, TokenKind } from '../driver.ts'
import { type Answer, send } from '../http.ts'
import { fetchAccessToken } from './token-endpoint.ts'

export interface ManagementApi {
  readonly tokenEndpoint: string
  /** The resource that the backend's access token is for, and the base of the routes. */
  readonly managementResource: string
  readonly backend: Client
  readonly user: string
  /** Another client that may exchange, for tokens of kind `other-client`. */
  readonly otherClientId?: string | undefined
  readonly context: Readonly<Record<string, unknown>>
  /** The first scope of the target, for tokens of kind `narrow`. */
  readonly scope: string
}

const SOMEONE_ELSE = 'token-exchange-suite-someone-else'
/** Seconds. A run takes less. */
const LIFE = 120

/** How the request differs from that of a valid token. Absent: the API cannot issue such a token. */
const CHANGES = ({
  scope,
  otherClientId,
}: ManagementApi): Readonly<Partial<Record<TokenKind, Readonly<Record<string, unknown>>>>> => ({
  valid: {},
  'just-expired': { expiresIn: 1 },
  revoked: {},
  ...(otherClientId !== undefined && { 'other-client': { clientId: otherClientId } }),
  'other-actor': { actorId: SOMEONE_ELSE },
  'other-resource': { resource: `https://${SOMEONE_ELSE}.example/` },
  narrow: { scope },
})

interface Issued {
  readonly token: string
  readonly id: string
  readonly at: number
}

export class ManagementTokens {
  readonly #api: ManagementApi
  readonly #ids: string[] = []
  #accessToken: Promise<string> | undefined
  #shortLived: Promise<Issued> | undefined

  constructor(api: ManagementApi) {
    this.#api = api
  }

  /** Issues the token that must expire, so that its second passes while other checks run. */
  async prepare(): Promise<void> {
    await this.#expiring()
  }

  async get(kind: TokenKind): Promise<string | undefined> {
    if (kind === 'client') return this.accessToken()
    if (kind === 'just-expired') return this.#expired()
    const changes = CHANGES(this.#api)[kind]
    if (!changes) return undefined
    const { token, id } = await this.issue(changes)
    if (kind === 'revoked') await this.revoke(id)
    return token
  }

  async issue(changes: Readonly<Record<string, unknown>>): Promise<Issued> {
    const { user, context } = this.#api
    const body = JSON.stringify({ userId: user, context, expiresIn: LIFE, ...changes })
    const answer = await this.#call('POST', '', body)
    const token = answer.body?.subjectToken
    if (answer.status !== 201 || typeof token !== 'string')
      throw new Error(`the management API responds with ${answer.status} ${String(answer.body?.error)}`)
    const id = answer.headers.get('location')?.split('/').at(-1) ?? ''
    this.#ids.push(id)
    return { token, id, at: Date.now() }
  }

  /** The backend's own access token. */
  accessToken(): Promise<string> {
    const { tokenEndpoint, managementResource: resource, backend } = this.#api
    const scope = 'subject-tokens:create subject-tokens:revoke'
    const wanted = { grant_type: 'client_credentials', resource, scope }
    this.#accessToken ??= fetchAccessToken(tokenEndpoint, backend, wanted)
    return this.#accessToken
  }

  revoke(id: string): Promise<Answer> {
    return this.#call('DELETE', `/${id}`)
  }

  /** Ends everything that was issued here. */
  async close(): Promise<void> {
    for (const id of this.#ids.splice(0)) await this.revoke(id)
  }

  #expiring(): Promise<Issued> {
    this.#shortLived ??= this.issue({ expiresIn: 1 })
    return this.#shortLived
  }

  async #expired(): Promise<string> {
    const { token, at } = await this.#expiring()
    // Times are whole seconds, so that a life of one may take up to two.
    const left = at + 2100 - Date.now()
    if (left > 0) await sleep(left)
    return token
  }

  async #call(method: string, path: string, body?: string): Promise<Answer> {
    const headers = {
      authorization: `Bearer ${await this.accessToken()}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    }
    const url = `${this.#api.managementResource}/subject-tokens${path}`
    return send(fetch, url, { method, headers, ...(body !== undefined && { body }) })
  }
}
