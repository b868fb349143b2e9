/** One walk: its people, its clock, and the requests that its steps share. */
import { expect } from 'chai'
import type { ClientMetadata } from 'oidc-provider'
import { now } from '../../../fixtures/clock.ts'
import { type DpopKey, dpopKey } from '../../../fixtures/dpop.ts'
import { credentials, form, type HttpResponse, type Parameters } from '../../../fixtures/http.ts'
import { expectError } from '../oracles.ts'
import { APPLICATIONS, backend } from '../setting.ts'
import type { Issuer, World } from '../world.ts'
import { type Expected, expectations } from './events.ts'
import type { AccessToken, Lane, Token } from './model.ts'
import { LANES } from './steps.ts'

export interface Walk extends Expected {
  readonly world: World
  readonly lanes: readonly Lane[]
  readonly key: DpopKey
  /** A DPoP proof that was accepted, by client and issuer. */
  readonly proofs: Map<string, { readonly proof: string; readonly at: number }>
  issuer(index: 0 | 1): Issuer
  postToken(
    issuer: 0 | 1,
    client: ClientMetadata,
    parameters: Parameters,
    more?: Headers,
  ): Promise<HttpResponse>
  /** What a resource server learns of an opaque token (RFC 7662). */
  readonly postIntrospection: Walk['postToken']
  /** Ends a token (RFC 7009). */
  readonly postRevocation: Walk['postToken']
  /** The access token of the backend of a lane. */
  managementToken(lane: Lane, issuer: 0 | 1): Promise<string>
  /** A request of the management API by the backend of a lane. */
  manage(lane: Lane, issuer: 0 | 1, request: Managing): Promise<HttpResponse>
}

type Headers = Readonly<Record<string, string>>

interface Managing {
  readonly method: string
  /** What follows `/api/subject-tokens`. */
  readonly path?: string
  readonly body?: unknown
}

let key: Promise<DpopKey> | undefined

export async function startWalk(world: World): Promise<Walk> {
  key ??= dpopKey()
  const name = world.name()
  const lanes = Array.from({ length: LANES }, (_, index) => laneOf(`${name}.${index}`))
  const issuer = (index: 0 | 1) => world.issuers[index]
  const tokens = new Map<string, { readonly value: string; readonly until: number }>()

  const post = (path: string): Walk['postToken'] => {
    return (index, client, parameters, headers = {}) => {
      const auth = credentials(client)
      return world.send(issuer(index), {
        method: 'POST',
        path,
        headers: { ...auth.headers, ...headers, 'content-type': 'application/x-www-form-urlencoded' },
        body: form({ ...auth.body, ...parameters }).toString(),
      })
    }
  }
  const postToken = post('/oidc/token')
  const managementToken: Walk['managementToken'] = async (lane, index) => {
    const kept = tokens.get(`${index} ${lane.name}`)
    if (kept && kept.until > now()) return kept.value
    const response = await postToken(index, lane.backend, {
      grant_type: 'client_credentials',
      resource: `${issuer(index).deployment.baseUrl}/api`,
      scope: lane.backend.scope,
    })
    expect(response.status, response.text).to.equal(200)
    const value: string = response.body.access_token
    world.secrets.keep(value)
    tokens.set(`${index} ${lane.name}`, { value, until: now() + response.body.expires_in })
    return value
  }

  return {
    world,
    lanes,
    key: await key,
    proofs: new Map(),
    issuer,
    postToken,
    managementToken,
    postIntrospection: post('/oidc/token/introspection'),
    postRevocation: post('/oidc/token/revocation'),
    async manage(lane, index, { method, path = '', body }) {
      const authorization = `Bearer ${await managementToken(lane, index)}`
      return world.send(issuer(index), {
        method,
        path: `/api/subject-tokens${path}`,
        headers: { authorization, ...(body !== undefined && { 'content-type': 'application/json' }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
    },
    ...expectations(world),
  }
}

const laneOf = (name: string): Lane => ({
  name,
  people: ['a', 'b', 'c', 'd'].map((person) => `${person}-${name}`),
  backend: backend(name),
  tokens: [],
  held: [],
})

export const other = (issuer: 0 | 1): 0 | 1 => (issuer === 0 ? 1 : 0)

export const tokenOf = (lane: Lane, pick: number): Token | undefined => lane.tokens[pick % lane.tokens.length]
export const heldOf = (lane: Lane, pick: number): AccessToken | undefined =>
  lane.held[pick % lane.held.length]
export const personOf = (lane: Lane, pick: number): string => lane.people[pick % lane.people.length] ?? ''

/** The public client and the web application more often than the others. */
const CHOICE = [0, 0, 0, 1, 1, 1, 1, 2, 3, 4]
export function applicationOf(pick: number): ClientMetadata {
  const [first] = APPLICATIONS
  const client = APPLICATIONS[CHOICE[pick % CHOICE.length] ?? 0] ?? first
  if (!client) throw new Error('no application')
  return client
}

/** A refusal with exactly this status, error and, where it is fixed, text. */
export function expectRefused(
  { world }: Walk,
  response: HttpResponse,
  expected: { readonly status: number; readonly error: string; readonly text?: string },
): void {
  expect([response.status, response.body?.error], response.text).to.deep.equal([
    expected.status,
    expected.error,
  ])
  const { error_description } = expectError(response)
  if (expected.text !== undefined) expect(error_description).to.equal(expected.text)
  expect(response.headers.get('cache-control')).to.equal('no-store')
  expect(world.secrets.foundIn(response.text), 'a token in a refusal').to.equal(undefined)
}
