/** `oidc-impersonation check --example`: what the deployment's functions are asked about the step to another API. */
import { expect } from 'chai'
import type { ClientMetadata, Configuration, ResourceServer } from 'oidc-provider'
import { tooLate } from '../../fixtures/clock.ts'
import { API, OPAQUE_API, RESOURCES, withDeployment } from '../../fixtures/deployment.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import { dryRun } from '../../src/cli/check/dry-run.ts'
import type { Finding } from '../../src/cli/check/finding.ts'
import { insideOf } from '../../src/impersonation.ts'
import {
  ACCESS_TOKEN_TYPE,
  AccessDenied,
  type CustomClaimsRequest,
  type ImpersonationOptions,
  type PolicyRequest,
  TOKEN_EXCHANGE,
} from '../../src/index.ts'

const NAMED = 'https://named.example.com'
const BILLING = 'https://billing.example.com'

const jwts = (audience: string): ResourceServer => ({
  ...{ audience, scope: 'orders:read invoices:read', accessTokenFormat: 'jwt', accessTokenTTL: 600 },
  jwt: { sign: { alg: 'ES256' } },
})

const desk: ClientMetadata = {
  client_id: 'desk',
  client_secret: 'desk-secret-of-the-tests',
  grant_types: [TOKEN_EXCHANGE],
  redirect_uris: [],
  response_types: [],
}

const ordersApi: ClientMetadata = {
  ...desk,
  client_id: 'orders-api',
  token_exchange_audiences: ['orders', API],
  token_exchange_resources: [BILLING],
}

const STEP = { clientId: 'orders-api', resource: BILLING, scope: 'invoices:read' }
const EXAMPLE = {
  userId: 'alice',
  createdBy: 'backend',
  clientId: 'desk',
  actorId: 'bob',
  resource: NAMED,
  scope: 'orders:read invoices:read',
  context: { ticketId: 'T-1' },
  onBehalfOf: STEP,
}

async function run(
  options: Partial<ImpersonationOptions>,
  example: Parameters<typeof dryRun>[1] = EXAMPLE,
  configuration: Configuration = {},
  client = desk,
): Promise<Finding[]> {
  const found: Finding[] = []
  const overrides = {
    options: { onBehalfOf: true, ...options },
    configuration,
    clients: [client, ordersApi],
    resources: { ...RESOURCES, [NAMED]: jwts('orders'), [BILLING]: jwts('billing') },
  }
  await withDeployment(overrides, async ({ impersonation }) => {
    found.push(...(await dryRun({ impersonation, inside: insideOf(impersonation) }, example)))
  })
  return found
}

const { onBehalfOf: _, ...WITHOUT_STEP } = EXAMPLE

describe('oidc-impersonation check: the step of an example to another API', () => {
  it('asks the policy and the claims function as the exchange would', async () => {
    const asked: PolicyRequest[] = []
    const claims: CustomClaimsRequest[] = []
    const findings = await run({
      isAllowed: (request) => request.actor?.sub === 'bob' && asked.push(request) > 0,
      getCustomJwtClaims(request) {
        claims.push(request)
        return { ticket: request.context.grant.subjectTokenContext.ticketId }
      },
    })
    expect(findings).to.deep.equal([
      {
        level: 'ok',
        about: 'dry run',
        text: 'isAllowed allows it, and your functions return the claims {"ticket":"T-1"}',
      },
      {
        level: 'ok',
        about: 'dry run',
        text: 'onBehalfOf: isAllowed allows it, and your functions return the claims {"ticket":"T-1"}',
      },
    ])
    expect(asked.map(({ stage }) => stage)).to.deep.equal(['issuance', 'exchange', 'onBehalfOf'])
    expect(asked.map(({ actor }) => actor)).to.deep.equal([
      { sub: 'bob', verified: false },
      { sub: 'bob', act: undefined, clientId: 'desk', audiences: [], verified: true },
      { sub: 'bob', clientId: 'desk', verified: true },
    ])
    const began = {
      userId: 'alice',
      client: { id: 'desk' },
      createdBy: { id: 'backend' },
      context: { ticketId: 'T-1' },
      scope: 'orders:read invoices:read',
    }
    // The backend names all that the example reaches.
    for (const [index, [stage, resource]] of [
      ['issuance', [NAMED, BILLING]] as const,
      ['exchange', NAMED] as const,
    ].entries()) {
      const { account, actor: _, ...request } = asked[index] ?? expect.fail('not asked')
      expect(account.accountId).to.equal('alice')
      expect(request).to.deep.equal({ stage, use: 'exchange', resource, ...began })
    }
    const { account, subjectTokenId, ...request } = asked[2] as PolicyRequest & { stage: 'onBehalfOf' }
    expect(account.accountId).to.equal('alice')
    expect(request).to.deep.equal({
      stage: 'onBehalfOf',
      userId: 'alice',
      actor: { sub: 'bob', clientId: 'desk', verified: true },
      client: { id: 'orders-api' },
      through: [],
      subjectToken: {
        clientId: 'desk',
        audience: 'orders',
        scope: 'orders:read invoices:read',
        bound: false,
      },
      resource: BILLING,
      scope: 'invoices:read',
      createdBy: { id: 'backend' },
      context: { ticketId: 'T-1' },
      use: 'exchange',
    })
    const { iat, exp, jti, ...token } = claims[1]?.token ?? expect.fail('not asked')
    expect(token).to.deep.equal({
      sub: 'alice',
      aud: 'billing',
      scope: 'invoices:read',
      clientId: 'orders-api',
    })
    expect(exp).to.be.above(iat)
    expect(jti).to.match(new RegExp(`^${subjectTokenId}\\.`))
    expect(subjectTokenId).to.be.a('string').and.equal(claims[0]?.context.grant.subjectTokenId)
    expect(claims[1]?.context).to.deep.equal({
      grant: {
        type: TOKEN_EXCHANGE,
        kind: 'onBehalfOf',
        subjectTokenId,
        subjectTokenContext: { ticketId: 'T-1' },
        through: [],
        subjectTokenClaims: { ticket: 'T-1' },
      },
      user: { id: 'alice' },
      client: { id: 'orders-api' },
      actor: { sub: 'bob', clientId: 'desk' },
    })
  })

  it('finds a client that there is not, wherever clients are stored', async () => {
    expect(await run({}, { ...EXAMPLE, clientId: 'nobody' })).to.deep.equal([
      failedFor('the request at the issuance: clientId must be a client that may exchange subject tokens'),
    ])
    const [, ...step] = await run({}, { ...EXAMPLE, onBehalfOf: { ...STEP, clientId: 'nobody' } })
    expect(step).to.deep.equal([failedFor('the request at the stage onBehalfOf: there is no client nobody')])
  })

  const refusals: [what: string, changes: Partial<typeof EXAMPLE>, text: string][] = [
    [
      'an engineer without an account',
      { actorId: 'zoe' },
      'actor_token at the exchange: its account is gone or disabled',
    ],
    [
      'an engineer who is the user',
      { actorId: 'alice' },
      'actorIsNotSubject at the issuance: an account cannot act for itself',
    ],
    [
      'an API as application',
      { clientId: 'orders-api' },
      'the request at the issuance: clientId must be a client that may exchange subject tokens',
    ],
    [
      'an unknown resource',
      { resource: 'https://nowhere.example.com' },
      'the request at the exchange: resource indicator is missing, or unknown',
    ],
    [
      'a scope that the resource lacks',
      { scope: 'root' },
      'scope at the exchange: none of the requested scopes can be granted',
    ],
    [
      'a resource that is none',
      { resource: 'orders' },
      'the request at the issuance: resource must be an absolute URI without fragment, or a list of 1 to 8 different ones',
    ],
  ]
  for (const [what, changes, text] of refusals) {
    it(`finds ${what}, as the request would be refused`, async () => {
      expect(await run({}, { ...EXAMPLE, ...changes })).to.deep.equal([failedFor(text)])
    })
  }

  it('takes a client whose subjects are pairwise, one whose tokens are bound, and tokens that are opaque', async () => {
    const changes = {
      subject_type: 'pairwise',
      dpop_bound_access_tokens: true,
    } as const
    const configuration: Configuration = {
      subjectTypes: ['public', 'pairwise'],
      pairwiseIdentifier: (_ctx, accountId) => `pairwise ${accountId}`,
      features: { dPoP: { enabled: true, nonceSecret: Buffer.alloc(32), requireNonce: () => false } },
    }
    for (const example of [EXAMPLE, { ...WITHOUT_STEP, resource: OPAQUE_API }]) {
      const findings = await run({}, { ...example }, configuration, { ...desk, ...changes })
      expect(findings.filter(({ level }) => level === 'fault')).to.deep.equal([])
    }
  })

  it('tells no listener of what it tries, and writes nothing', async () => {
    const told: string[] = []
    await withDeployment({ clients: [desk], options: { isAllowed: () => false } }, async (deployment) => {
      const { impersonation, provider, events, database } = deployment
      provider.on('access_token.issued', () => void told.push('issued'))
      provider.on('access_token.saved', () => void told.push('saved'))
      const written = database.statements.length
      for (const isAllowed of [() => false, () => true]) {
        const inside = insideOf(impersonation)
        const options = { ...inside.options, isAllowed }
        await dryRun({ impersonation, inside: { ...inside, options } }, { ...WITHOUT_STEP, resource: API })
      }
      const statements = database.statements.slice(written)
      expect(statements.filter((sql) => !/^select/i.test(sql.trim()))).to.deep.equal([])
      expect([events, told]).to.deep.equal([[], []])
      await issue(deployment).catch(() => {})
      expect(events.map(({ name }) => name)).to.deep.equal(['subject_token.refused'])
    })
  })

  it('changes nothing for the requests of a deployment that serves meanwhile', async () => {
    const seen: unknown[] = []
    let meanwhile = async () => {}
    const isAllowed = async ({ stage }: PolicyRequest) => {
      if (stage === 'exchange' && seen.length === 0) await meanwhile()
      return true
    }
    const limited = { ...desk, token_exchange_resources: [API] }
    await withDeployment({ clients: [limited], options: { isAllowed } }, async (deployment) => {
      const { impersonation, provider } = deployment
      const { subjectToken } = await issue(deployment)
      meanwhile = async () => {
        const actor = { actor_token: 'opaque', actor_token_type: ACCESS_TOKEN_TYPE }
        const { body } = await exchange(deployment, { subject_token: subjectToken, ...actor })
        const client = await provider.Client.find('desk')
        seen.push(body.error_description, client?.metadata().token_exchange_resources)
      }
      const known: Finding[] = [{ level: 'fault', about: 'resources', text: '' }]
      const example = { ...WITHOUT_STEP, resource: OPAQUE_API }
      const findings = await dryRun({ impersonation, inside: insideOf(impersonation) }, example, known)
      expect(findings.filter(({ level }) => level === 'fault')).to.deep.equal([])
    })
    expect(seen).to.deep.equal(['actor_token is invalid', [API]])
  })

  const at = (stage: string, decide: () => boolean) => (request: PolicyRequest) =>
    request.stage !== stage || decide()
  const refuse = () => {
    throw new AccessDenied('not the payments')
  }
  const crash = () => {
    throw new Error('no such table')
  }
  const failedFor = (text: string): Finding => ({
    ...{ level: 'fault', about: 'dry run', text },
    advice: 'correct the example, or the function',
  })
  for (const [mistake, options, text] of [
    [
      'a policy that denies it',
      { isAllowed: at('onBehalfOf', () => false) },
      /^isAllowed at the stage onBehalfOf: isAllowed returned false$/,
    ],
    [
      'a policy that denies it with a reason',
      { isAllowed: at('onBehalfOf', refuse) },
      /^isAllowed at the stage onBehalfOf: .*not the payments/,
    ],
    [
      'a policy that does not know the stage',
      { isAllowed: at('onBehalfOf', crash) },
      /^isAllowed at the stage onBehalfOf: isAllowed failed/,
    ],
    [
      'a claims function that does not know the kind',
      {
        getCustomJwtClaims: ({ context }: CustomClaimsRequest) =>
          context.grant.kind === 'impersonation' ? {} : crash(),
      },
      /^getCustomJwtClaims at the stage onBehalfOf: getCustomJwtClaims failed/,
    ],
  ] as const) {
    it(`finds ${mistake}, and nothing else`, async () => {
      const [first, second, ...others] = await run(options)
      expect(others).to.deep.equal([])
      expect(first).to.include({ level: 'ok', about: 'dry run' })
      expect(second).to.include({
        level: 'fault',
        about: 'dry run',
        advice: 'correct the example, or the function',
      })
      expect(second?.text).to.match(text)
    })
  }

  for (const [mistake, findAccount, text] of [
    ['an account that there is not', () => undefined, /^findAccount: there is no account alice$/],
    [
      'accounts that cannot be looked up',
      crash,
      /^findAccount: no such table \(at .*check-dry-run\.test\.ts:/,
    ],
    ['accounts that are never found', () => tooLate(5), /^findAccount: it took more than 5 s$/],
  ] as const) {
    it(`finds ${mistake}, and asks nothing about it`, async () => {
      const isAllowed = () => expect.fail('asked')
      const [finding, ...others] = await run({ isAllowed }, EXAMPLE, { findAccount })
      expect(others).to.deep.equal([])
      expect(finding?.level).to.equal('fault')
      expect(finding?.text).to.match(text)
    })
  }

  it('does not wait without end for a function in a stage', async function () {
    this.timeout(60_000)
    const findAccount: Configuration['findAccount'] = (_ctx, accountId) =>
      accountId === 'bob' ? new Promise(() => {}) : { accountId, claims: () => ({ sub: accountId }) }
    await withDeployment({ clients: [desk], configuration: { findAccount } }, async ({ impersonation }) => {
      const inside = insideOf(impersonation)
      const options = { ...inside.options, customClaimsTimeout: 1 }
      const example = { ...WITHOUT_STEP, resource: API }
      expect(await dryRun({ impersonation, inside: { ...inside, options } }, example)).to.deep.equal([
        failedFor('the request at the exchange: functions of the deployment took more than 8 s'),
      ])
    })
  })

  it('finds claims that cannot be told, and does not go on to the step', async () => {
    const [finding, ...others] = await run({ getCustomJwtClaims: crash })
    expect(others).to.deep.equal([])
    expect(finding?.text).to.match(
      /^getCustomJwtClaims at the exchange: getCustomJwtClaims failed: no such table \(at .+:\d+:\d+\)+$/,
    )
  })

  it('says that it did not look at the step of an example without one', async () => {
    const [, second, ...others] = await run({}, WITHOUT_STEP)
    expect(others).to.deep.equal([])
    expect(second).to.deep.equal({
      level: 'note',
      about: 'dry run',
      text: 'the stage onBehalfOf was not tried: the example has no member onBehalfOf',
    })
  })

  it('finds a step while the option is off, and asks nothing about it', async () => {
    const stages: string[] = []
    const isAllowed = ({ stage, actor }: PolicyRequest) => actor !== undefined && stages.push(stage) > 0
    const [, second, ...others] = await run({ onBehalfOf: false, isAllowed })
    expect(others).to.deep.equal([])
    expect(second).to.deep.equal({
      level: 'fault',
      about: 'dry run',
      text: 'onBehalfOf is off: an API can exchange nothing',
      advice: 'set onBehalfOf, or remove it from the example',
    })
    expect(stages).to.deep.equal(['issuance', 'exchange'])
    expect(await run({ onBehalfOf: false }, WITHOUT_STEP)).to.have.lengthOf(1)
  })

  it('without actor and scopes asks without them', async () => {
    const asked: PolicyRequest[] = []
    const { actorId: _actor, scope: _scope, ...example } = EXAMPLE
    const onBehalfOf = { clientId: 'orders-api', resource: BILLING }
    const claims: CustomClaimsRequest[] = []
    const getCustomJwtClaims = (request: CustomClaimsRequest) => {
      claims.push(request)
      return {}
    }
    const isAllowed = (request: PolicyRequest) => asked.push(request) > 0
    await run({ isAllowed, getCustomJwtClaims }, { ...example, onBehalfOf })
    expect(asked).to.have.lengthOf(3)
    for (const { actor, scope } of asked) expect([actor, scope]).to.deep.equal([undefined, undefined])
    expect(claims).to.have.lengthOf(2)
    for (const { token, context } of claims) {
      expect(token).to.have.all.keys('jti', 'sub', 'aud', 'clientId', 'iat', 'exp')
      expect(context).to.have.all.keys('grant', 'user', 'client')
    }
    expect(asked[2]).to.have.deep.property('subjectToken', {
      clientId: 'desk',
      audience: 'orders',
      bound: false,
    })
  })
})
