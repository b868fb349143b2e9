/** The deployments that are fuzzed: two issuers with different options over one database, and who exists there. */
import type { Adapter, AdapterFactory, ClientMetadata, Configuration, ResourceServer } from 'oidc-provider'
import { machineClient, publicClient, webClient } from '../../fixtures/clients.ts'
import { API, OPAQUE_API, RESOURCES } from '../../fixtures/deployment.ts'
import { apiClient, BILLING, billingApi, jwtResource, LEDGER } from '../../fixtures/on-behalf-of.ts'
import { AccessDenied, type ImpersonationOptions } from '../../src/index.ts'

/** What the model must know of an issuer. */
export interface Rules {
  readonly maxDelegationDepth: number
  readonly maxAccessTokenTTL: number
  readonly replayLeeway: number
  readonly requiredContext: readonly string[]
  readonly statusList: boolean
  /** How many APIs may pass a user on; absent where none may. */
  readonly hops?: number
}

export const RULES: readonly [Rules, Rules] = [
  {
    maxDelegationDepth: 3,
    maxAccessTokenTTL: 3600,
    replayLeeway: 0,
    requiredContext: [],
    statusList: true,
    hops: 2,
  },
  {
    maxDelegationDepth: 1,
    maxAccessTokenTTL: 120,
    replayLeeway: 10,
    requiredContext: ['reason'],
    statusList: false,
  },
]

/** Applications. All but the last may exchange. */
export const APPLICATIONS: readonly ClientMetadata[] = [
  publicClient(),
  webClient(),
  webClient({
    client_id: 'narrow',
    client_secret: 'narrow-secret',
    scope: 'openid',
    token_exchange_resources: [API],
  }),
  webClient({ client_id: 'pairwise', client_secret: 'pairwise-secret', subject_type: 'pairwise' }),
  webClient({ client_id: 'barred', client_secret: 'barred-secret', grant_types: ['authorization_code'] }),
]

/** APIs, which exchange what they receive (docs/protocol.md §8). The last does not authenticate. */
export const APIS: readonly ClientMetadata[] = [
  apiClient({ token_exchange_resources: [BILLING, API, OPAQUE_API] }),
  billingApi({ token_exchange_resources: [LEDGER, API, BILLING] }),
  webClient({
    client_id: 'ledger-api',
    client_secret: 'ledger-secret',
    scope: 'openid',
    subject_type: 'pairwise',
    token_exchange_audiences: [LEDGER, API],
    token_exchange_resources: [API, BILLING],
  }),
  apiClient({
    client_id: 'search-api',
    client_secret: 'search-secret',
    token_exchange_audiences: [API],
    token_exchange_resources: undefined,
  }),
  publicClient({
    client_id: 'loose-api',
    token_exchange_audiences: [API],
    token_exchange_resources: [BILLING],
  }),
]

/** Those that `fixtures/deployment.ts` does not add by itself. */
export const MORE_CLIENTS = [...APPLICATIONS.slice(2), ...APIS]

export const ALL_RESOURCES: Readonly<Record<string, ResourceServer>> = {
  ...RESOURCES,
  [BILLING]: jwtResource(BILLING),
  [LEDGER]: jwtResource(LEDGER, { scope: 'orders:read profile', accessTokenTTL: 60 }),
}

export const backend = (name: string): ClientMetadata => machineClient({ client_id: `backend-${name}` })

/** Every backend is registered as soon as someone asks for it, so that each walk has its own. */
export function withBackends(adapter: AdapterFactory): AdapterFactory {
  return (model): Adapter => {
    const stored = adapter(model)
    if (model !== 'Client') return stored
    return new Proxy(stored, {
      get: (target, member) =>
        member === 'find'
          ? async (id: string) => (/^backend-[\w.]{1,40}$/.test(id) ? backend(id.slice(8)) : target.find(id))
          : Reflect.get(target, member),
    })
  }
}

/** Accounts of walks; `disabled` ones are gone. An alias finds an account, too. */
export interface People {
  readonly disabled: Set<string>
  readonly accountOf: (name: string) => string | undefined
}

export function people(): People {
  const disabled = new Set<string>()
  return {
    disabled,
    accountOf(name) {
      const id = name.replace(/^alias:/, '')
      return /^[a-d]-[\w.]{1,40}$/.test(id) && !disabled.has(id) ? id : undefined
    },
  }
}

export const pairwise = (clientId: string, accountId: string): string => `${clientId}:${accountId}`

export const configurationFor = ({ accountOf }: People): Configuration => ({
  async findAccount(_ctx, name) {
    const accountId = accountOf(name)
    return accountId === undefined ? undefined : { accountId, claims: () => ({ sub: accountId }) }
  },
  subjectTypes: ['public', 'pairwise'],
  pairwiseIdentifier: (_ctx, accountId, client) => pairwise(client.clientId, accountId),
  features: {
    dPoP: { enabled: true },
    devInteractions: { enabled: false },
    revocation: {
      enabled: true,
      allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId,
    },
  },
})

/** What the policy and the claims function do is written in the context, by stage. */
function decide(what: unknown): void {
  if (what === 'deny') throw new AccessDenied('denied by the context')
  if (what === 'throw') throw new Error('failed by the context')
}

export const optionsFor = ({ statusList, hops, ...rules }: Rules): Partial<ImpersonationOptions> => ({
  ...rules,
  ...(!statusList && { statusList }),
  ...(hops !== undefined && { onBehalfOf: { hops } }),
  isAllowed({ stage, context }) {
    decide(context?.[stage])
    return true
  },
  getCustomJwtClaims({ context: { grant } }) {
    const { kind, subjectTokenContext: told } = grant
    const what = kind === 'onBehalfOf' ? told.onward : told.claims
    decide(what)
    if (what === 'reserved') return { sub: 'mallory' }
    const { through = [], subjectTokenClaims: parent = {} } = grant
    return kind === 'onBehalfOf' ? { told, through, parent } : { told }
  },
})
