/** What the operator reads about each refusal (protocol.md §6): `check` and `reason` of the event, word for word. */
import { expect } from 'chai'
import { type ClientMetadata, type Configuration, errors } from 'oidc-provider'
import { actorJwt, withActor } from '../../fixtures/actor-tokens.ts'
import { publicClient } from '../../fixtures/clients.ts'
import { stopClock, tooLate } from '../../fixtures/clock.ts'
import {
  API,
  type Deployment,
  type DeploymentOverrides,
  OPAQUE_API,
  RESOURCES,
  startDeployment,
  withDeployment,
} from '../../fixtures/deployment.ts'
import type { Parameters } from '../../fixtures/http.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import { UNKNOWN_TOKEN } from '../../fixtures/subject-tokens.ts'
import { AccessDenied, type PolicyRequest } from '../../src/index.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { onlyEvent } from './refusals.ts'

/** What the deployment's functions do in one case. */
interface Behaviour {
  isAllowed?: () => boolean | Promise<boolean>
  getCustomJwtClaims?: () => object | Promise<object>
  /** Of every resource. */
  audience?: string
}

interface Case {
  readonly check: string
  readonly reason: string
  readonly client?: ClientMetadata
  /** Members of the issuance. */
  readonly issued?: Readonly<Record<string, unknown>>
  readonly parameters?: (deployment: Deployment) => Parameters | Promise<Parameters>
  readonly behaviour?: (deployment: Deployment) => Behaviour
}

const narrow = publicClient({ client_id: 'narrow', token_exchange_resources: [OPAQUE_API] })
const pairwise = publicClient({ client_id: 'pairwise', subject_type: 'pairwise' })
const named = publicClient({ client_id: 'alice' })
const tooLong = publicClient({ client_id: 'c'.repeat(256) })

const DOCUMENT = {
  ...publicClient(),
  client_id: 'https://client.example.com/metadata.json',
  redirect_uris: ['https://client.example.com/callback'],
}

interface Setup extends Pick<Case, 'check' | 'reason' | 'client'> {
  readonly overrides: DeploymentOverrides
  readonly parameters?: Parameters
}

function throwing(error: Error): never {
  throw error
}

/** An actor token of bob, with changes to its claims. */
const byActor =
  (changes: Readonly<Record<string, unknown>> = {}) =>
  async (deployment: Deployment): Promise<Parameters> =>
    withActor(await actorJwt(deployment, changes))
/** A stored actor token of bob, with members of its own. */
const byStoredActor = (members: Readonly<Record<string, unknown>>) => async (deployment: Deployment) => {
  const client = await deployment.provider.Client.find('spa')
  const token = { accountId: 'bob', client, gty: 'authorization_code', scope: 'openid', ...members }
  return withActor(await new deployment.provider.AccessToken(token as never).save())
}
const chain = (...subs: string[]): object | undefined =>
  subs.reduceRight<object | undefined>((act, sub) => ({ sub, ...(act && { act }) }), undefined)

const actor = { check: 'actor_token' }
const subject = { check: 'subject_token' }
const target = { check: 'target' }
const request = { check: 'request' }

const CASES: Case[] = [
  {
    ...request,
    reason: 'authorization_details is not supported',
    parameters: () => ({ authorization_details: '[{"type":"x"}]' }),
  },
  { ...request, reason: 'subject_token is required', parameters: () => ({ subject_token: null }) },
  { ...request, reason: 'subject_token_type is required', parameters: () => ({ subject_token_type: null }) },
  {
    ...request,
    reason: 'subject_token_type is not supported',
    parameters: () => ({ subject_token_type: 'urn:x' }),
  },
  {
    ...request,
    reason: 'requested_token_type is not supported',
    parameters: () => ({ requested_token_type: 'urn:x' }),
  },
  {
    ...request,
    reason: 'actor_token_type is required with actor_token',
    parameters: () => ({ actor_token: 'x' }),
  },
  {
    ...request,
    reason: 'actor_token is required with actor_token_type',
    parameters: () => ({ ...withActor('x'), actor_token: null }),
  },
  {
    ...request,
    reason: 'actor_token_type is not supported',
    parameters: () => ({ actor_token: 'x', actor_token_type: 'urn:x' }),
  },
  { ...request, reason: 'the id of the client is too long', client: tooLong },

  { ...subject, reason: 'malformed', parameters: () => ({ subject_token: 'x' }) },
  { ...subject, reason: 'unknown', parameters: () => ({ subject_token: UNKNOWN_TOKEN }) },
  { ...subject, reason: 'bound to another client', issued: { clientId: 'web' } },
  { ...subject, reason: 'bound to another resource', issued: { resource: OPAQUE_API } },
  { ...subject, reason: 'bound to an actor, and none was sent', issued: { actorId: 'bob' } },
  { ...subject, reason: 'bound to another actor', issued: { actorId: 'carol' }, parameters: byActor() },
  { ...subject, reason: 'the sub to be issued is the id of the client', client: named },

  {
    ...target,
    reason: 'audience is not supported: send resource instead',
    parameters: () => ({ audience: 'x' }),
  },
  { ...target, reason: 'more than one resource', parameters: () => ({ resource: [API, OPAQUE_API] }) },
  {
    ...target,
    reason: 'not an absolute URI without fragment',
    parameters: () => ({ resource: `${API}#x` }),
  },
  { ...target, reason: 'no resource', parameters: () => ({ resource: null }) },
  {
    ...target,
    reason: 'the management resource is for client_credentials only',
    parameters: ({ baseUrl }) => ({ resource: `${baseUrl}/api` }),
  },
  { ...target, reason: 'not among the resources of the client', client: narrow },

  {
    check: 'scope',
    reason: 'more than 256 scopes were requested',
    parameters: () => ({ scope: Array.from({ length: 257 }, () => 'x').join(' ') }),
  },
  {
    check: 'scope',
    reason: 'none of the requested scopes can be granted',
    parameters: () => ({ scope: 'orders:delete' }),
  },

  { ...actor, reason: 'unknown or expired', parameters: () => withActor('x') },
  { ...actor, reason: 'ERR_JWT_EXPIRED', parameters: byActor({ exp: 1 }) },
  { ...actor, reason: 'claims of a wrong type', parameters: byActor({ client_id: ['spa'] }) },
  { ...actor, reason: 'claims of a wrong type', parameters: byActor({ sub: 7 }) },
  { ...actor, reason: 'without scope openid', parameters: byActor({ scope: 'profile' }) },
  { ...actor, reason: 'its account is gone or disabled', parameters: byActor({ sub: 'nobody' }) },
  { ...actor, reason: 'its client is gone', parameters: byActor({ client_id: 'gone' }) },
  {
    ...actor,
    reason: 'of a client with pairwise subjects, which cannot be mapped to accounts',
    parameters: byActor({ client_id: 'pairwise' }),
  },
  { ...actor, reason: 'a name that cannot be stored', parameters: byActor({ sub: 'bob\0' }) },
  { ...actor, reason: 'a token of the client itself', parameters: byActor({ sub: 'spa' }) },
  { ...actor, reason: 'its grant has ended', parameters: byStoredActor({ grantId: 'gone' }) },
  {
    ...actor,
    reason: 'its grant belongs to another client or account',
    async parameters(deployment) {
      const grant = new deployment.provider.Grant({ clientId: 'web', accountId: 'bob' })
      return byStoredActor({ grantId: await grant.save() })(deployment)
    },
  },
  { ...actor, reason: 'a malformed act claim', parameters: byActor({ act: { sub: 'carol', iss: 'x' } }) },
  { ...actor, reason: 'a malformed act claim', parameters: byActor({ act: { sub: '' } }) },
  { ...actor, reason: 'a malformed act claim', parameters: byActor({ act: { sub: 7 } }) },
  { ...actor, reason: 'a malformed aud claim', parameters: byActor({ aud: [API, 7] }) },
  ...[{ kid: 'x' }, { jkt: 'x', kid: 'x' }, { jkt: 7, 'x5t#S256': 'x' }, { jkt: 'x', 'x5t#S256': 7 }].map(
    (cnf): Case => ({
      ...actor,
      reason: 'bound to an unknown kind of key',
      parameters: byActor({ cnf }),
    }),
  ),
  {
    ...actor,
    reason: 'bound to a DPoP key that was not proven',
    parameters: byActor({ cnf: { jkt: 'x' } }),
  },
  {
    ...actor,
    reason: 'bound to a client certificate that was not presented',
    parameters: byActor({ cnf: { 'x5t#S256': 'x' } }),
  },
  {
    ...actor,
    reason: 'an actor twice in the chain',
    parameters: byActor({ act: chain('carol', 'bob') }),
  },
  { check: 'actorIsNotSubject', reason: 'the actor is the subject', parameters: byActor({ sub: 'alice' }) },
  {
    check: 'actorIsNotSubject',
    reason: 'the actor is the subject',
    parameters: byActor({ act: chain('alice') }),
  },
  {
    check: 'maxDelegationDepth',
    reason: 'more than 3 in the chain',
    parameters: byActor({ act: chain('carol', 'dave', 'erin') }),
  },

  {
    check: 'isAllowed',
    reason: 'denied by the deployment',
    behaviour: () => ({ isAllowed: () => throwing(new AccessDenied()) }),
  },
  {
    check: 'isAllowed',
    reason: 'isAllowed failed',
    behaviour: () => ({ isAllowed: () => throwing(new Error('private')) }),
  },
  {
    check: 'isAllowed',
    reason: 'isAllowed took more than 1 s',
    behaviour: () => ({ isAllowed: () => tooLate(1) }),
  },
  {
    check: 'getCustomJwtClaims',
    reason: 'denied by the deployment',
    behaviour: () => ({ getCustomJwtClaims: () => throwing(new AccessDenied()) }),
  },
  {
    check: 'getCustomJwtClaims',
    reason: 'getCustomJwtClaims failed',
    behaviour: () => ({ getCustomJwtClaims: () => Promise.reject(new Error('private')) }),
  },
  {
    check: 'getCustomJwtClaims',
    reason: 'getCustomJwtClaims took more than 1 s',
    behaviour: () => ({ getCustomJwtClaims: () => tooLate(1) }),
  },

  {
    check: 'issue',
    reason: 'getResourceServerInfo gave the audience of the management API to another resource',
    behaviour: ({ baseUrl }) => ({ audience: `${baseUrl}/api` }),
  },
]

describe('token exchange: what the operator reads about a refusal', () => {
  let deployment: Deployment
  let behaviour: Behaviour = {}
  before(async () => {
    deployment = await startDeployment({
      clients: [narrow, pairwise, named, tooLong],
      options: {
        maxDelegationDepth: 3,
        customClaimsTimeout: 1,
        isAllowed: ({ stage }: PolicyRequest) => stage === 'issuance' || (behaviour.isAllowed?.() ?? true),
        getCustomJwtClaims: () => behaviour.getCustomJwtClaims?.() ?? {},
      },
      configuration: {
        subjectTypes: ['public', 'pairwise'],
        pairwiseIdentifier: (_ctx, accountId, client) => `${accountId}@${client.clientId}`,
        features: {
          resourceIndicators: {
            enabled: true,
            getResourceServerInfo(_ctx, resource) {
              const info = RESOURCES[resource]
              if (!info) throw new errors.InvalidTarget()
              return { ...info, audience: behaviour.audience ?? resource }
            },
          },
        },
      },
    })
  })
  after(() => deployment.close())
  afterEach(() => {
    behaviour = {}
  })

  for (const { check, reason, client, issued, parameters, behaviour: behave } of CASES) {
    it(`${check}: ${reason}`, async () => {
      const { subjectToken } = await issue(deployment, issued)
      const changes = (await parameters?.(deployment)) ?? {}
      behaviour = behave?.(deployment) ?? {}
      await expectReason(deployment, { subject_token: subjectToken, ...changes }, { check, reason, client })
    })
  }
})

describe('token exchange: what the operator reads where the deployment is set up otherwise', () => {
  const tampered = (change: (configuration: Configuration) => object): DeploymentOverrides => ({
    tamper: (configuration) => ({ ...configuration, ...change(configuration) }),
  })
  /** Resources that bypass `configure`, except the management resource. */
  const bypassed = ({ features }: Configuration) => ({
    features: {
      ...features,
      resourceIndicators: {
        ...features?.resourceIndicators,
        getResourceServerInfo: (ctx: never, resource: string, client: never) =>
          RESOURCES[resource] ?? features?.resourceIndicators?.getResourceServerInfo?.(ctx, resource, client),
      },
    },
  })
  const setups: Setup[] = [
    {
      check: 'request',
      reason: 'the client describes itself in a metadata document',
      overrides: {
        configuration: {
          features: { clientIdMetadataDocument: { enabled: true, ack: 'draft-02' } },
          fetch: async () => Response.json(DOCUMENT),
        } as never,
      },
      client: { client_id: DOCUMENT.client_id },
    },
    {
      check: 'target',
      reason: 'more than one resource',
      overrides: {
        configuration: {
          features: {
            resourceIndicators: {
              enabled: true,
              defaultResource: async () => [API, OPAQUE_API] as unknown as string,
            },
          },
        },
      },
      parameters: { resource: null },
    },
    {
      check: 'issue',
      reason: 'the provider was not built from impersonation.configure()',
      overrides: tampered(bypassed),
    },
    {
      check: 'issue',
      reason: 'pairwiseIdentifier is not configured',
      overrides: { clients: [pairwise], configuration: { subjectTypes: ['public', 'pairwise'] } },
      client: pairwise,
    },
    ...['', 7, undefined].map((identifier) => ({
      check: 'issue',
      reason: 'pairwiseIdentifier must return a non-empty string',
      overrides: {
        clients: [pairwise],
        configuration: {
          subjectTypes: ['public', 'pairwise'] as const,
          pairwiseIdentifier: async () => identifier as string,
        },
      },
      client: pairwise,
    })),
    {
      check: 'issue',
      reason: 'extraTokenClaims was replaced after impersonation.configure()',
      overrides: tampered(() => ({ extraTokenClaims: () => ({}) })),
    },
    {
      check: 'issue',
      reason: 'formats was replaced after impersonation.configure()',
      overrides: tampered(() => ({ formats: {} })),
    },
  ]
  for (const { check, reason, overrides, client, parameters } of setups) {
    it(`${check}: ${reason}`, () =>
      withDeployment(overrides, async (deployment) => {
        const { subjectToken } = await issue(deployment)
        const request = { subject_token: subjectToken, ...parameters }
        await expectReason(deployment, request, { check, reason, client })
      }))
  }

  it('issue: the access token ended before it was issued', async () => {
    const clock = stopClock()
    const getCustomJwtClaims = () => {
      clock.tick(1)
      return {}
    }
    try {
      await withDeployment({ options: { maxAccessTokenTTL: 1, getCustomJwtClaims } }, async (deployment) => {
        const { subjectToken } = await issue(deployment)
        const reason = 'the access token ended before it was issued'
        await expectReason(deployment, { subject_token: subjectToken }, { check: 'issue', reason })
      })
    } finally {
      clock.restore()
    }
  })

  const changed: [check: string, reason: string, options: DeploymentOverrides['options']][] = [
    ['requireActor', 'actor_token is required', { requireActor: true }],
    ['requiredContext', 'context.ticketId is missing or blank', { requiredContext: ['ticketId'] }],
  ]
  for (const [check, reason, options] of changed) {
    it(`${check}: ${reason}, when the options have changed since the issuance`, () =>
      withDeployment({}, (one) =>
        withDeployment({ database: one.database, issuer: one.issuer, options }, async (other) => {
          const { subjectToken } = await issue(one)
          await expectReason(other, { subject_token: subjectToken }, { check, reason })
        }),
      ))
  }

  it('subject_token: could not be spent, when the store does not and sees no reason', () =>
    withDeployment({}, (one) => {
      const store = { ...createSubjectTokenStore(one.database.sequelize), consume: async () => false }
      const overrides = { database: one.database, issuer: one.issuer, options: { store } }
      return withDeployment(overrides, async (other) => {
        const { subjectToken } = await issue(one)
        const reason = 'could not be spent'
        await expectReason(other, { subject_token: subjectToken }, { check: 'subject_token', reason })
      })
    }))
})

async function expectReason(
  deployment: Deployment,
  parameters: Parameters,
  { check, reason, client }: { check: string; reason: string; client?: ClientMetadata },
): Promise<void> {
  const before = deployment.events.length
  const response = await exchange(deployment, parameters, client && { client })
  expect(response.status, response.text).to.be.within(400, 500)
  const event = onlyEvent(deployment, 'subject_token.refused', before)
  expect([event.check, event.reason]).to.deep.equal([check, reason])
}
