/** The deployments that are fuzzed: two issuers with different options over one database, and who exists there. */
import type { Adapter, AdapterFactory, ClientMetadata, Configuration } from 'oidc-provider'
import { machineClient, publicClient, webClient } from '../fixtures/clients.ts'
import { API, RESOURCES } from '../fixtures/deployment.ts'
import { AccessDenied, type ImpersonationOptions } from '../src/index.ts'

/** What the model must know of an issuer. */
export interface Rules {
  readonly maxDelegationDepth: number
  readonly maxAccessTokenTTL: number
  readonly replayLeeway: number
  readonly requiredContext: readonly string[]
  readonly statusList: boolean
}

export const RULES: readonly [Rules, Rules] = [
  {
    maxDelegationDepth: 3,
    maxAccessTokenTTL: 3600,
    replayLeeway: 0,
    requiredContext: [],
    statusList: true,
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

/** The API that is called with an access token of the exchange calls this one (docs/protocol.md §8). */
export const BILLING = 'https://billing.example.com'

/** The orders API, which may exchange what it receives. */
export const ORDERS_API = webClient({
  client_id: 'orders-api',
  client_secret: 'orders-secret',
  token_endpoint_auth_method: 'client_secret_post',
  token_exchange_audiences: [API],
  token_exchange_resources: [BILLING],
})

/** Those that `fixtures/deployment.ts` does not add by itself. */
export const MORE_CLIENTS = [...APPLICATIONS.slice(2), ORDERS_API]

export const ALL_RESOURCES = {
  ...RESOURCES,
  [BILLING]: {
    scope: 'orders:read',
    audience: BILLING,
    accessTokenFormat: 'jwt',
    accessTokenTTL: 600,
    jwt: { sign: { alg: 'ES256' } },
  },
} as const

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
  features: { dPoP: { enabled: true }, devInteractions: { enabled: false } },
})

/** What the policy and the claims function do is written in the context, by stage. */
function decide(what: unknown): void {
  if (what === 'deny') throw new AccessDenied('denied by the context')
  if (what === 'throw') throw new Error('failed by the context')
}

export const optionsFor = (rules: Rules): Partial<ImpersonationOptions> => ({
  maxDelegationDepth: rules.maxDelegationDepth,
  maxAccessTokenTTL: rules.maxAccessTokenTTL,
  replayLeeway: rules.replayLeeway,
  requiredContext: rules.requiredContext,
  ...(rules.statusList ? { onBehalfOf: true } : { statusList: false }),
  isAllowed({ stage, context }) {
    decide(context?.[stage])
    return true
  },
  getCustomJwtClaims({ context }) {
    const { subjectTokenContext } = context.grant
    decide(subjectTokenContext.claims)
    return subjectTokenContext.claims === 'reserved' ? { sub: 'mallory' } : { told: subjectTokenContext }
  },
})
