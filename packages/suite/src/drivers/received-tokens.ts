/** Access tokens as an API receives them: exchanged by the application, for subject tokens of the management API. */
import { ACCESS_TOKEN, TOKEN_EXCHANGE } from '../constants.ts'
import type { TokenKind } from '../driver.ts'
import type { Parameters } from '../http.ts'
import { readJwt } from '../jwt.ts'
import type { Settings } from './environment.ts'
import type { ManagementTokens } from './management.ts'
import { fetchAccessToken } from './token-endpoint.ts'

type Exchanging = Pick<Settings, 'client' | 'api' | 'actor' | 'resource' | 'scopes'>

export class ReceivedTokens {
  readonly #tokenEndpoint: string
  readonly #settings: Exchanging
  readonly #tokens: ManagementTokens

  constructor(tokenEndpoint: string, settings: Exchanging, tokens: ManagementTokens) {
    this.#tokenEndpoint = tokenEndpoint
    this.#settings = settings
    this.#tokens = tokens
  }

  /** Returns `undefined` for what the deployment does not issue. */
  async get(kind: TokenKind): Promise<string | undefined> {
    const { scopes, actor, api } = this.#settings
    switch (kind) {
      case 'valid':
        return (await this.#receive(scopes)).token
      case 'narrow':
        return (await this.#receive(scopes.slice(0, 1))).token
      case 'chain':
        return actor && (await this.#receive(scopes, actor.token)).token
      case 'revoked':
        return this.#stopped()
      case 'other-audience':
        return api && this.#passedOn(api)
      case 'client':
        return this.#tokens.accessToken()
    }
    return undefined
  }

  /** A JWT without a reference to a status list cannot be stopped. */
  async #stopped(): Promise<string | undefined> {
    const { token, id } = await this.#receive(this.#settings.scopes)
    const { status } = readJwt(token)?.payload ?? {}
    await this.#tokens.revoke(id)
    return status === undefined ? undefined : token
  }

  /** The next API's token is not meant for this one. */
  async #passedOn({ client, resource, scopes }: NonNullable<Settings['api']>): Promise<string> {
    const { token } = await this.#receive(this.#settings.scopes)
    return this.#exchange(client, token, { resource, scope: scopes.join(' ') })
  }

  async #receive(scopes: readonly string[], actorToken?: string): Promise<{ token: string; id: string }> {
    const { client, resource } = this.#settings
    const subject = await this.#tokens.issue({})
    const actor = actorToken !== undefined && { actor_token: actorToken, actor_token_type: ACCESS_TOKEN }
    const wanted = { resource, scope: scopes.join(' '), ...actor }
    return { token: await this.#exchange(client, subject.token, wanted), id: subject.id }
  }

  #exchange(client: Settings['client'], token: string, wanted: Parameters): Promise<string> {
    const subject = { subject_token: token, subject_token_type: ACCESS_TOKEN }
    return fetchAccessToken(this.#tokenEndpoint, client, {
      grant_type: TOKEN_EXCHANGE,
      ...subject,
      ...wanted,
    })
  }
}
