/** An insurer: the policy asks whether the ticket is the customer's and open, and does not ask who looks. */
import { generateKeyPairSync } from 'node:crypto'
import Koa from 'koa'
import mount from 'koa-mount'
import * as oidc from 'oidc-provider'
import { Sequelize } from 'sequelize'
import {
  AccessDenied,
  createImpersonation,
  type PolicyRequest,
  TOKEN_EXCHANGE,
} from '../../../../src/index.ts'
import {
  createAdapter,
  createSubjectTokenStore,
  migrate,
  nodeSqlite,
} from '../../../../src/sequelize/index.ts'

interface Ticket {
  readonly number: string
  readonly holder: string
  readonly assignee: string
  readonly state: 'open' | 'closed'
}

const HOLDERS = ['holder:830011', 'holder:830029']
const EMPLOYEES = { 'employee:wanda': 'claims', 'employee:olga': 'sales' } as Record<string, string>

class Tickets {
  readonly #all: readonly Ticket[] = [
    { number: 'CL-17', holder: 'holder:830011', assignee: 'employee:wanda', state: 'open' },
    { number: 'CL-12', holder: 'holder:830029', assignee: 'employee:wanda', state: 'closed' },
  ]

  async byNumber(number: unknown): Promise<Ticket> {
    const ticket = this.#all.find((one) => one.number === number)
    if (!ticket) throw new AccessDenied('no such ticket')
    return ticket
  }
}

class Policy {
  readonly tickets: Tickets

  constructor(tickets: Tickets) {
    this.tickets = tickets
  }

  isAllowed = async (request: PolicyRequest): Promise<boolean> => {
    const ticket = await this.tickets.byNumber(request.context?.number)
    if (ticket.state !== 'open') throw new AccessDenied('the ticket is closed')
    if (process.env.REMEDIED && request.actor?.sub !== ticket.assignee) return false
    return ticket.holder === request.userId
  }
}

const CLAIMS_API = 'urn:insurer:api:claims'

export async function insurer({ issuer = 'https://sso.insurer.example/oidc' } = {}) {
  const sequelize = new Sequelize({
    dialect: 'sqlite',
    dialectModule: nodeSqlite,
    storage: ':memory:',
    logging: false,
  })
  await migrate(sequelize)
  const policy = new Policy(new Tickets())
  const impersonation = createImpersonation({
    store: createSubjectTokenStore(sequelize),
    managementResource: 'https://sso.insurer.example/internal',
    requireActor: true,
    requiredContext: ['number'],
    isAllowed: policy.isAllowed,
    getCustomJwtClaims: ({ context: { grant } }) => ({ ticket: grant.subjectTokenContext.number ?? null }),
  })
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const provider = new oidc.Provider(
    issuer,
    impersonation.configure({
      adapter: createAdapter(sequelize, { namespace: 'insurer' }),
      jwks: { keys: [{ ...(privateKey.export({ format: 'jwk' }) as oidc.JWK), use: 'sig' }] },
      cookies: { keys: ['umbrella'] },
      findAccount: (_ctx, id) =>
        HOLDERS.includes(id) || id in EMPLOYEES ? { accountId: id, claims: () => ({ sub: id }) } : undefined,
      clients: [
        {
          client_id: 'claims-workplace',
          client_secret: '1d9f7d2e60e84b7a9f0b6a6a1c2a5b33',
          grant_types: ['authorization_code', TOKEN_EXCHANGE],
          redirect_uris: ['https://workplace.insurer.example/callback'],
          token_exchange_resources: [CLAIMS_API],
        },
        {
          client_id: 'claims-backend',
          client_secret: '6f0ad4b7f75c4b4c8dd2f6d5b3e2a911',
          grant_types: ['client_credentials'],
          redirect_uris: [],
          response_types: [],
          scope: 'subject-tokens:create',
        },
      ],
      features: {
        devInteractions: { enabled: false },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo(_ctx, resource) {
            if (resource !== CLAIMS_API) throw new oidc.errors.InvalidTarget()
            return { scope: 'claims:read', accessTokenFormat: 'jwt' }
          },
        },
      },
    }),
  )
  impersonation.attach(provider)
  const app = new Koa({ proxy: true })
  app.keys = provider.keys
  app.use(mount('/oidc', provider))
  app.use(impersonation.router({ prefix: '/internal' }).routes())
  return { app, provider, impersonation, sequelize }
}

export default () => insurer()
