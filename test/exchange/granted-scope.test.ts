/** Granted = requested ∩ the resource's ∩ the constraint, without what the client may not have (protocol.md §3.4). */
import { expect } from 'chai'
import { Provider } from 'oidc-provider'
import { storedModels } from '../../fixtures/clients.ts'
import { SIGNING_KEY } from '../../fixtures/keys.ts'
import * as impersonation from '../../src/exchange/impersonation.ts'
import { grantScope } from '../../src/exchange/target.ts'
import type { GrantContext } from '../../src/provider/grants.ts'

const provider = new Provider('https://id.example.com', {
  adapter: storedModels().adapter,
  cookies: { keys: ['a key of the tests'] },
  features: { devInteractions: { enabled: false } },
  jwks: { keys: [SIGNING_KEY] },
  scopes: ['openid', 'offline_access', 'profile'],
})

interface Case {
  readonly requested: string
  /** What the subject token is limited to. */
  readonly ceiling?: string
  /** The client's `scope` metadata. */
  readonly client?: string
  /** Whether an actor token came. */
  readonly actor?: true
  /** `maxDelegationDepth`. */
  readonly depth?: number
  readonly granted: string | undefined
}

const RESOURCE = {
  scopes: new Set(['orders:read', 'orders:write', 'openid', 'offline_access', 'profile']),
}

function grant(
  { requested, ceiling, client, actor, depth = 1 }: Omit<Case, 'granted'>,
  resource: object = RESOURCE,
): string | undefined {
  const ctx = { oidc: { provider, client: { scope: client } } } as unknown as GrantContext
  const limits = impersonation.limitsOf(ctx, { maxDelegationDepth: depth } as never, {
    subject: { record: { scope: ceiling } } as never,
    ...(actor && { actor: { sub: 'bob' } }),
  })
  const scopes = requested === '' ? [] : requested.split(' ')
  return grantScope(ctx, { scopes, ...limits }, resource as never)
}

describe('the granted scope', () => {
  const cases: Case[] = [
    { requested: '', granted: undefined },
    { requested: 'orders:read', granted: 'orders:read' },
    { requested: 'orders:write orders:read', granted: 'orders:write orders:read' },
    { requested: 'orders:read orders:delete', granted: 'orders:read' },
    { requested: 'orders:read orders:write', ceiling: 'orders:write', granted: 'orders:write' },
    { requested: 'offline_access orders:read', granted: 'orders:read' },
    { requested: 'openid orders:read', granted: 'orders:read' },
    { requested: 'openid orders:read', depth: 2, granted: 'orders:read' },
    { requested: 'openid orders:read', actor: true, granted: 'orders:read' },
    { requested: 'openid orders:read', actor: true, depth: 2, granted: 'openid orders:read' },
    { requested: 'profile orders:read', granted: 'profile orders:read' },
    { requested: 'profile orders:read', client: 'openid', granted: 'orders:read' },
    { requested: 'profile orders:read', client: 'profile', granted: 'profile orders:read' },
  ]
  for (const { granted, ...given } of cases) {
    const names = Object.entries(given).map(([name, value]) => `${name} ${JSON.stringify(value)}`)
    it(`is ${granted ?? 'none'} for ${names.join(', ')}`, () => expect(grant(given)).to.equal(granted))
  }

  const refused: Omit<Case, 'granted'>[] = [
    { requested: 'orders:delete' },
    { requested: 'orders:read', ceiling: 'orders:write' },
    { requested: 'offline_access' },
    { requested: 'openid' },
    { requested: 'openid', actor: true },
    { requested: 'openid', depth: 2 },
    { requested: 'profile', client: 'openid' },
    { requested: 'ORDERS:READ' },
  ]
  for (const given of refused) {
    it(`is refused where nothing is left: ${JSON.stringify(given)}`, () =>
      expect(() => grant(given)).to.throw('invalid_scope'))
  }

  it('costs one look at the scopes of the resource, whatever their number: the provider splits them at each', () => {
    let looks = 0
    const resource = {
      get scopes() {
        looks += 1
        return RESOURCE.scopes
      },
    }
    const requested = ['orders:read', ...Array.from({ length: 255 }, (_, index) => `n${index}`)].join(' ')
    expect(grant({ requested }, resource)).to.equal('orders:read')
    expect(looks).to.equal(1)
  })
})
