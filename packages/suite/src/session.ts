/** The tools of a check: the server's tokens, the valid request, and changes to it. */
import { type CryptoKey, createLocalJWKSet, type JSONWebKeySet, type JWK, jwtVerify } from 'jose'
import { Failed, Skipped } from './check.ts'
import { ACCESS_TOKEN, TOKEN_EXCHANGE } from './constants.ts'
import type { Deviation } from './deviations.ts'
import { type DpopKey, dpopKey, type ProofChanges } from './dpop.ts'
import type { Client, Driver, Profile, Target, Token, TokenKind } from './driver.ts'
import { granted } from './expect.ts'
import { type Answer, credentials, form, type Parameters, send } from './http.ts'
import { readJwt } from './jwt.ts'

export interface Sending {
  readonly client?: Client
  readonly headers?: Readonly<Record<string, string>>
  readonly target?: Target
  readonly fetch?: typeof fetch
}

/** A token that was issued, with the response it came in. */
export interface Granted {
  readonly token: string
  readonly answer: Answer
}

export type Claims = Readonly<Record<string, unknown>>

export class Session {
  readonly driver: Driver
  readonly profiles: ReadonlySet<Profile>
  /** The named deviations that the current check has met. */
  readonly deviations = new Set<Deviation>()
  #sample: Promise<Granted> | undefined
  #keys: Promise<readonly JWK[]> | undefined

  constructor(driver: Driver, profiles: readonly Profile[]) {
    this.driver = driver
    this.profiles = new Set(profiles)
  }

  /** The target of most checks. */
  get target(): Target {
    return this.driver.targets.jwt ?? this.targetOf('opaque')
  }

  targetOf(format: 'jwt' | 'opaque'): Target {
    const target = this.driver.targets[format]
    if (!target) throw new Skipped(`the driver has no ${format} target`)
    return target
  }

  client(name: keyof Driver['clients']): Client {
    const client = this.driver.clients[name]
    if (!client) throw new Skipped(`the driver has no client ${name}`)
    return client
  }

  async subject(kind: TokenKind, key?: DpopKey): Promise<Required<Token>> {
    return this.#token('subject', kind, key)
  }

  async actor(kind: TokenKind, key?: DpopKey): Promise<Required<Token>> {
    return this.#token('actor', kind, key)
  }

  async #token(role: 'subject' | 'actor', kind: TokenKind, key?: DpopKey): Promise<Required<Token>> {
    const request = { kind, ...(key && { jkt: key.jkt, proof: key.proof }) }
    const made =
      role === 'subject' ? await this.driver.subjectToken(request) : await this.driver.actorToken?.(request)
    if (made === undefined) throw new Skipped(`the driver has no ${role} token of kind ${kind}`)
    const { token, type = ACCESS_TOKEN } = typeof made === 'string' ? { token: made } : made
    return { token, type }
  }

  /** The parameters of the valid request, with a new subject token and `changes` on top. */
  async parameters(changes: Parameters = {}, target = this.target): Promise<Parameters> {
    const subject = 'subject_token' in changes ? undefined : await this.subject('valid')
    const actor =
      this.driver.actorRequired && !('actor_token' in changes) ? await this.actor('valid') : undefined
    return {
      grant_type: TOKEN_EXCHANGE,
      subject_token: subject?.token,
      subject_token_type: subject?.type ?? ACCESS_TOKEN,
      ...(actor && { actor_token: actor.token, actor_token_type: actor.type }),
      ...target.parameters,
      scope: target.scopes[0],
      ...changes,
    }
  }

  /** The valid request, with `changes` on top. */
  async exchange(changes: Parameters = {}, sending: Sending = {}): Promise<Answer> {
    return this.post(await this.parameters(changes, sending.target), sending)
  }

  /** A request of the token endpoint. */
  async post(parameters: Parameters, sending: Sending = {}): Promise<Answer> {
    const { client = this.driver.clients.main, headers = {}, fetch = this.#fetch } = sending
    const proof = await credentials(client)
    return send(fetch, this.driver.tokenEndpoint, {
      method: 'POST',
      headers: { ...proof.headers, ...headers },
      body: form({ ...proof.parameters, ...parameters }),
    })
  }

  get(url: string): Promise<Answer> {
    return send(this.#fetch, url)
  }

  get #fetch(): typeof fetch {
    return this.driver.fetch ?? fetch
  }

  /** One valid exchange that all checks of its response share. */
  sample(): Promise<Granted> {
    this.#sample ??= this.exchange().then(granted)
    return this.#sample
  }

  /** A valid exchange with an actor token. */
  async delegated(kind: TokenKind = 'valid'): Promise<Answer> {
    return this.exchange(await this.actorParameters(kind))
  }

  async actorParameters(kind: TokenKind, key?: DpopKey): Promise<Parameters> {
    const { token, type } = await this.actor(kind, key)
    return { actor_token: token, actor_token_type: type }
  }

  async subjectParameters(kind: TokenKind, key?: DpopKey): Promise<Parameters> {
    const { token, type } = await this.subject(kind, key)
    return { subject_token: token, subject_token_type: type }
  }

  key(): Promise<DpopKey> {
    return dpopKey()
  }

  /** A proof for the token endpoint, as a header. */
  async proof(key: DpopKey, changes?: ProofChanges): Promise<Record<string, string>> {
    return { dpop: await key.proof('POST', this.driver.tokenEndpoint, changes) }
  }

  /** A resource server's view of a token: by introspection, or from the JWT itself. */
  async claims({ token }: Granted): Promise<Claims> {
    const jwt = readJwt(token)
    if (jwt) return jwt.payload
    if (!this.profiles.has('introspection'))
      throw new Skipped('the token is opaque, and there is no introspection')
    return this.introspect(token)
  }

  async introspect(token: string): Promise<Claims> {
    const answer = await this.introspection(token)
    if (answer.status !== 200 || !answer.body)
      throw new Failed(`introspection responds with ${answer.status} and no JSON object`)
    return answer.body
  }

  async introspection(token: string, client: Client = this.client('introspecting')): Promise<Answer> {
    const proof = await credentials(client)
    return this.introspectionRequest({ ...proof.parameters, token }, proof.headers)
  }

  async introspectionRequest(
    parameters: Parameters,
    headers: Readonly<Record<string, string>>,
  ): Promise<Answer> {
    const { introspectionEndpoint } = this.driver
    if (introspectionEndpoint === undefined) throw new Skipped('the driver has no introspectionEndpoint')
    return send(this.#fetch, introspectionEndpoint, { method: 'POST', headers, body: form(parameters) })
  }

  /** The public keys of the server. */
  keys(): Promise<readonly JWK[]> {
    this.#keys ??= this.#loadKeys()
    return this.#keys
  }

  async #loadKeys(): Promise<readonly JWK[]> {
    if (this.driver.jwksUri === undefined) throw new Skipped('the driver has no jwksUri')
    const { body, status } = await this.get(this.driver.jwksUri)
    const keys = body?.keys
    if (!Array.isArray(keys)) throw new Failed(`the JWKS cannot be read: status ${status}`)
    return keys
  }

  /** Fails unless the token is a JWT that the server's keys verify. */
  async verify({ token }: Granted): Promise<void> {
    if (!readJwt(token)) throw new Failed('the token is not a JWT')
    const set: JSONWebKeySet = { keys: [...(await this.keys())] }
    const resolve = createLocalJWKSet(set)
    await jwtVerify(
      token,
      async (header, parsed): Promise<CryptoKey | Uint8Array> => resolve(header, parsed),
    ).catch((error: Error) => {
      throw new Failed(`the signature cannot be verified with the server's JWKS: ${error.message}`)
    })
  }

  deviates(name: Deviation): void {
    this.deviations.add(name)
  }
}
