/** What the naive server keeps: its keys, its clients, and the tokens it has issued, all in memory. */
import {
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import type { Mode } from './faults.ts'

/** A permission to become a user, as a management API would issue it. */
export interface Permission {
  readonly sub: string
  readonly issuer: string
  readonly expiresAt: number
  readonly clientId?: string
  readonly resource?: string
  readonly scope?: string
  readonly actor?: string
  spent?: boolean
  revoked?: boolean
  /** The opaque token of the exchange, for the case of a replay. */
  issued?: string
}

export interface RegisteredClient {
  readonly id: string
  readonly secret: string
  readonly mayExchange: boolean
  readonly binding?: 'dpop' | 'mtls'
}

export type Payload = Readonly<Record<string, unknown>>

export interface State {
  issuer: string
  readonly mode: Mode
  readonly faults: ReadonlySet<string>
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  readonly publicJwk: JsonWebKey & { readonly kid: string }
  readonly permissions: Map<string, Permission>
  /** Opaque access tokens. */
  readonly opaque: Map<string, Payload>
  readonly refreshTokens: Map<string, Payload>
  readonly revokedIds: Set<unknown>
  readonly proofs: Set<unknown>
  /** Tokens by what they say, for the fault `token-cached`. */
  readonly cache: Map<string, string>
  readonly users: ReadonlySet<unknown>
}

export const CLIENTS: readonly RegisteredClient[] = [
  { id: 'application', secret: 'application-secret', mayExchange: true },
  { id: 'stranger', secret: 'stranger-secret', mayExchange: false },
  { id: 'dpop-application', secret: 'dpop-secret', mayExchange: true, binding: 'dpop' },
  { id: 'mtls-application', secret: 'mtls-secret', mayExchange: true, binding: 'mtls' },
  { id: 'api', secret: 'api-secret', mayExchange: false },
]

export interface Resource {
  readonly uri: string
  readonly scopes: readonly string[]
  readonly format: 'jwt' | 'opaque'
}

export const JWT_RESOURCE = 'https://orders.example.com'
export const OPAQUE_RESOURCE = 'https://billing.example.com'
export const RESOURCES: readonly Resource[] = [
  { uri: JWT_RESOURCE, scopes: ['orders:read', 'orders:write'], format: 'jwt' },
  { uri: OPAQUE_RESOURCE, scopes: ['invoices:read', 'invoices:write'], format: 'opaque' },
]

/** One pair of keys for all servers: making keys is slow. */
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

export function newState(mode: Mode, faults: ReadonlySet<string>): State {
  const publicKey = createPublicKey(privateKey)
  return {
    issuer: 'http://naive.example.com',
    mode,
    faults,
    privateKey,
    publicKey,
    publicJwk: { ...publicKey.export({ format: 'jwk' }), kid: 'naive', alg: 'ES256', use: 'sig' },
    permissions: new Map(),
    opaque: new Map(),
    refreshTokens: new Map(),
    revokedIds: new Set(),
    proofs: new Set(),
    cache: new Map(),
    users: new Set(['alice', 'bob', 'carol']),
  }
}

export const now = (): number => Math.floor(Date.now() / 1000)
export const secret = (): string => randomBytes(32).toString('base64url')
