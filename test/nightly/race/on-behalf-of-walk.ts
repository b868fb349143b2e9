/**
 * Random walks over a deployment whose APIs pass users on: what may come out is written down here a second time, from
 * protocol.md §8 and not from the source, and each response is compared with it.
 */
import { expect } from 'chai'
import fc from 'fast-check'
import { decodeJwt } from 'jose'
import type { ClientMetadata } from 'oidc-provider'
import { actorToken, withActor } from '../../../fixtures/actor-tokens.ts'
import { type StoredModels, webClient } from '../../../fixtures/clients.ts'
import { now, type StoppedClock } from '../../../fixtures/clock.ts'
import { API, type Deployment, OPAQUE_API } from '../../../fixtures/deployment.ts'
import { manage } from '../../../fixtures/management.ts'
import { apiClient, BILLING, billingApi, LEDGER, ledgerApi, passOn } from '../../../fixtures/on-behalf-of.ts'
import { exchange, issue, managementToken } from '../../../fixtures/requests.ts'
import { createVerifier, type Verifier } from '../../../packages/resource-server/src/index.ts'

export const HOPS = 3
const TTL = 30
const LIFE = 600
const AUDIENCES = [API, OPAQUE_API, BILLING, LEDGER]
const SCOPES = ['orders:read', 'orders:write', 'bills:read', 'profile', 'openid', 'offline_access', 'unknown']
const PASSABLE = SCOPES.slice(0, 4)
/** Of each resource, as the deployment lists them. */
const OFFERED: Readonly<Record<string, readonly string[]>> = {
  [API]: ['orders:read', 'orders:write', 'profile'],
  [OPAQUE_API]: ['orders:read'],
  [BILLING]: PASSABLE,
  [LEDGER]: PASSABLE,
}

const WHAT = [
  'impersonate',
  'own',
  ...Array.from({ length: 10 }, () => 'pass' as const),
  'stop',
  'tick',
  'change',
  'verify',
  'verify',
] as const

export interface Step {
  readonly what: (typeof WHAT)[number]
  readonly a: number
  readonly b: number
  readonly c: number
  /** Picks scopes. */
  readonly mask: number
}

export const step: fc.Arbitrary<Step> = fc.record({
  what: fc.constantFrom(...WHAT),
  a: fc.nat(1000),
  b: fc.nat(1000),
  c: fc.nat(1000),
  mask: fc.nat(127),
})

interface Tree {
  readonly id?: string
  readonly ceiling?: readonly string[]
  readonly bound?: boolean
  stoppedAt?: number
}

interface Token {
  readonly value: string
  readonly tree: Tree
  readonly user: string
  readonly people: readonly string[]
  readonly apis: readonly string[]
  readonly aud: string
  readonly scopes: readonly string[]
  readonly exp: number
  readonly status: unknown
  readonly opaque: boolean
}

const pick = <Value>(list: readonly Value[], index: number): Value | undefined => list[index % list.length]
const listOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value : [])
const some = (list: readonly string[], mask: number) => list.filter((_, index) => mask & (1 << index))

/** What a walk met, so that a test can see that it met something. */
export interface Met {
  accepted: number
  refused: number
  stopped: number
  deepest: number
  /** Tokens of stopped trees that the verifier refused, and others that it accepted. */
  shut: number
  open: number
}

interface World {
  readonly deployment: Deployment
  readonly models: StoredModels
  readonly clock: StoppedClock
  readonly met: Met
}

export class Walk {
  readonly #world: World
  readonly #tokens: Token[] = []
  readonly #apis: ClientMetadata[] = [apiClient(), billingApi(), ledgerApi()]
  readonly #verifiers = new Map<string, Verifier>()
  #management = { token: '', at: 0 }

  constructor(world: World) {
    this.#world = world
    for (const api of this.#apis) world.models.register(api)
  }

  async take(given: Step): Promise<void> {
    await this[given.what](given)
  }

  async #token(): Promise<string> {
    if (now() - this.#management.at > 300)
      this.#management = { token: await managementToken(this.#world.deployment), at: now() }
    return this.#management.token
  }

  async impersonate({ a, b, c, mask }: Step): Promise<void> {
    const { deployment } = this.#world
    const resource = pick([API, OPAQUE_API], a) ?? API
    const user = pick(['alice', 'dave', 'erin'], b) ?? ''
    const people = c % 3 === 0 ? [] : c % 3 === 1 ? ['bob'] : ['carol']
    const ceiling = a % 4 === 0 ? [...some(PASSABLE, b), 'orders:read'] : undefined
    const bound = b % 5 === 0
    const limits = { ...(ceiling && { scope: ceiling.join(' ') }), ...(bound && { resource }) }
    const { subjectToken, id } = await issue(deployment, { userId: user, ...limits }, await this.#token())
    const actor =
      people[0] === undefined ? {} : withActor(await actorToken(deployment, { accountId: people[0] }))
    const requested = ['orders:read', ...some(PASSABLE, mask)]
    const parameters = { subject_token: subjectToken, resource, scope: requested.join(' '), ...actor }
    const { status, body, text } = await exchange(deployment, parameters, { client: webClient() })
    expect(status, text).to.equal(200)
    const opaque = resource === OPAQUE_API
    const model = opaque ? await deployment.provider.AccessToken.find(body.access_token) : undefined
    this.#tokens.push({
      value: body.access_token,
      tree: { id, ...(ceiling && { ceiling }), bound },
      user,
      people,
      apis: [],
      aud: resource,
      scopes: body.scope.split(' '),
      exp: now() + LIFE,
      status: model ? model.extra?.status : decodeJwt(body.access_token).status,
      opaque,
    })
  }

  async own({ a, b, mask }: Step): Promise<void> {
    const aud = pick([API, OPAQUE_API], a) ?? API
    const user = pick(['alice', 'dave'], b) ?? ''
    const scopes = some(PASSABLE, mask)
    const opaque = aud === OPAQUE_API
    const request = {
      accountId: user,
      scope: scopes.join(' '),
      audience: aud,
      format: opaque ? 'opaque' : 'jwt',
    } as const
    const value = await actorToken(this.#world.deployment, request)
    const exp = opaque
      ? ((await this.#world.deployment.provider.AccessToken.find(value))?.exp ?? 0)
      : (decodeJwt(value).exp ?? 0)
    this.#tokens.push({
      value,
      tree: {},
      user,
      people: [],
      apis: [],
      aud,
      scopes,
      exp,
      status: undefined,
      opaque,
    })
  }

  /** An API exchanges a token, which it may or may not have received. */
  async pass({ a, b, c, mask }: Step): Promise<void> {
    const { deployment, met } = this.#world
    // Mostly what was issued lately, so that chains grow.
    const parent = pick(a % 4 === 0 ? this.#tokens : this.#tokens.slice(-4), a)
    const receivers = this.#apis.filter((one) =>
      listOf(one.token_exchange_audiences).includes(parent?.aud ?? ''),
    )
    const api = pick(b % 3 > 0 && receivers.length > 0 ? receivers : this.#apis, b)
    const allowed = listOf(api?.token_exchange_resources)
    const resource = pick(c % 3 > 0 && allowed.length > 0 ? allowed : AUDIENCES, c)
    if (!parent || !api || !resource) return
    const requested = some(SCOPES, mask)
    const { status, body, text } = await passOn(
      deployment,
      parent.value,
      { resource, scope: requested.length > 0 ? requested.join(' ') : null },
      { client: api },
    )
    const expected = refusalOf(parent, api, { resource, requested })
    const why = `${JSON.stringify({ ...parent, value: '…' })} by ${JSON.stringify(api)} for ${resource}: ${text}`
    expect(status === 200 ? 'accepted' : body.error, why).to.equal(expected ?? 'accepted')
    if (status !== 200) {
      met.refused += 1
      return
    }
    met.accepted += 1
    this.#tokens.push(childOf(parent, api, { resource, requested, value: body.access_token }))
    met.deepest = Math.max(met.deepest, parent.apis.length + 1)
  }

  async stop({ a }: Step): Promise<void> {
    const token = pick(this.#tokens, a)
    const { id, stoppedAt } = token?.tree ?? {}
    if (!token || id === undefined || stoppedAt !== undefined) return
    const [root] = this.#tokens.filter(({ tree, apis }) => tree === token.tree && apis.length === 0)
    const { status } = await manage(this.#world.deployment, 'DELETE', `/${id}`, {
      token: await this.#token(),
    })
    expect(status).to.equal(204)
    // Nothing is left to stop once the token of the exchange has expired, and no other of the tree lives longer.
    if ((root?.exp ?? 0) <= now()) return
    token.tree.stoppedAt = now()
    this.#world.met.stopped += 1
  }

  async tick({ a }: Step): Promise<void> {
    this.#world.clock.tick(1 + (a % 90))
  }

  /** The administrator changes what an API is known by, or where it may go. */
  async change({ a, b, c }: Step): Promise<void> {
    const index = a % this.#apis.length
    const api = this.#apis[index]
    if (!api) return
    const audiences = b % 8 === 0 ? undefined : some(AUDIENCES, b)
    const resources = c % 8 === 0 ? undefined : some(AUDIENCES, c)
    const { token_exchange_audiences: _, token_exchange_resources: __, ...rest } = api
    const changed = {
      ...rest,
      ...(audiences && { token_exchange_audiences: audiences }),
      ...(resources && { token_exchange_resources: resources }),
    } as ClientMetadata
    this.#apis[index] = changed
    this.#world.models.register(changed)
  }

  /** What an API that looks at the status lists says of a token. */
  async verify({ a, b }: Step): Promise<void> {
    const { met } = this.#world
    const jwts = this.#tokens.filter(({ opaque }) => !opaque)
    const stopped = jwts.filter(({ tree }) => tree.stoppedAt !== undefined)
    const token = pick(b % 2 > 0 && stopped.length > 0 ? stopped : jwts, a)
    if (!token) return
    const { issuer } = this.#world.deployment
    const verify = this.#verifiers.get(token.aud) ?? createVerifier({ issuer, audience: token.aud })
    this.#verifiers.set(token.aud, verify)
    const headers = new Headers({ authorization: `Bearer ${token.value}` })
    const request = {
      method: 'GET',
      url: 'https://api.example.com/',
      headers,
    } as unknown as Parameters<Verifier>[0]
    const caller = await verify(request).catch(() => undefined)
    const { stoppedAt } = token.tree
    const over = token.exp <= now() || (stoppedAt !== undefined && now() >= stoppedAt + TTL + 2)
    if (over) {
      met.shut += 1
      expect(caller, 'the verifier accepted a token of a stopped tree').to.equal(undefined)
    } else if (stoppedAt === undefined) {
      met.open += 1
      expect(caller).to.deep.include({
        user: token.user,
        actors: token.people.map((sub) => ({ sub })),
        through: [...token.apis],
        impersonated: token.tree.id !== undefined,
      })
    }
  }
}

interface Request {
  readonly resource: string
  readonly requested: readonly string[]
}

/** The error that the request must get; `undefined` if it must succeed. */
function refusalOf(parent: Token, api: ClientMetadata, { resource, requested }: Request): string | undefined {
  const audiences = listOf(api.token_exchange_audiences)
  const resources = listOf(api.token_exchange_resources)
  if (!api.token_exchange_audiences) return 'unauthorized_client'
  const { tree, apis, aud, exp } = parent
  if (exp <= now() || tree.stoppedAt !== undefined || !audiences.includes(aud)) return 'invalid_request'
  if (apis.includes(api.client_id) || apis.length + 1 > HOPS) return 'invalid_request'
  if (!resources.includes(resource) || resource === aud || resource === OPAQUE_API || tree.bound)
    return 'invalid_target'
  if (requested.length > 0 && grantedOf(parent, { resource, requested }).length === 0) return 'invalid_scope'
  return undefined
}

const grantedOf = ({ scopes, tree: { ceiling } }: Token, { resource, requested }: Request): string[] =>
  requested.filter(
    (scope) =>
      PASSABLE.includes(scope) &&
      OFFERED[resource]?.includes(scope) &&
      scopes.includes(scope) &&
      (!ceiling || ceiling.includes(scope)),
  )

/** The token that was issued, compared with what it must be. */
function childOf(
  parent: Token,
  { client_id: api }: ClientMetadata,
  { resource, requested, value }: Request & { readonly value: string },
): Token {
  const claims = decodeJwt(value)
  const granted = grantedOf(parent, { resource, requested })
  const apis = [api, ...parent.apis]
  const chain = [...apis.map((id) => ({ sub: id, client_id: id })), ...parent.people.map((sub) => ({ sub }))]
  const act = chain.reduceRight<object | undefined>(
    (inner, link) => (inner ? { ...link, act: inner } : link),
    undefined,
  )
  const exp = Math.min(parent.exp, now() + LIFE)
  expect(claims).to.deep.include({ sub: parent.user, aud: resource, client_id: api, act, exp })
  expect(claims.status).to.deep.equal(parent.status)
  expect(
    String(claims.scope ?? '')
      .split(' ')
      .filter(Boolean),
  ).to.have.members(granted)
  return { ...parent, value, apis, aud: resource, scopes: granted, exp, opaque: false }
}
