/** `oidc-impersonation check`: other shapes of the mistakes that it finds, and what is none. */
import { expect } from 'chai'
import { type ClientMetadata, type Configuration, errors, type ResourceServer } from 'oidc-provider'
import { machineClient, publicClient, webClient } from '../../fixtures/clients.ts'
import { tooLate } from '../../fixtures/clock.ts'
import { API, type DeploymentOverrides, withDeployment } from '../../fixtures/deployment.ts'
import { checkClients } from '../../src/cli/check/clients.ts'
import { dryRun } from '../../src/cli/check/dry-run.ts'
import type { Finding } from '../../src/cli/check/finding.ts'
import type { Example } from '../../src/cli/check/module.ts'
import { checkStatusLists } from '../../src/cli/check/status-lists.ts'
import { insideOf } from '../../src/impersonation.ts'
import { AccessDenied, type ImpersonationOptions, TOKEN_EXCHANGE } from '../../src/index.ts'

type Indicators = NonNullable<NonNullable<Configuration['features']>['resourceIndicators']>

const JWT: ResourceServer = {
  scope: 'orders:read',
  accessTokenFormat: 'jwt',
  jwt: { sign: { alg: 'ES256' } },
}
const OPAQUE: ResourceServer = { scope: 'orders:read' }
const confined = (resources: readonly string[], metadata: Partial<ClientMetadata> = {}) =>
  publicClient({ token_exchange_resources: resources, ...metadata })

/** What is said of these clients about one thing. */
async function found(
  about: string,
  clients: readonly ClientMetadata[],
  indicators: Partial<Indicators> = {},
  {
    options,
    features,
    ...named
  }: { options?: object; features?: object; resources?: string[]; actsAt?: string } = {},
): Promise<Finding[]> {
  const resourceIndicators = { enabled: true, ...indicators } as Indicators
  const configuration = { clients: [...clients], features: { ...features, resourceIndicators } }
  let findings: Finding[] = []
  const overrides: DeploymentOverrides = { configuration, options: { requireActor: true, ...options } }
  await withDeployment(overrides, async ({ impersonation }) => {
    findings = await checkClients({ impersonation, inside: insideOf(impersonation) }, named)
  })
  return findings.filter((finding) => finding.about === about)
}

/** Where a function has thrown depends on this file. */
const textOf = ({ level, text, advice }: Finding) => [
  `${level}: ${text.replace(/ \(at .+:\d+:\d+\)+$/, '')}`,
  ...(advice ? [advice] : []),
]
const textsOf = (findings: readonly Finding[]) => findings.flatMap(textOf)

describe('oidc-impersonation check: secrets', () => {
  const BOTH = 'use A–Z a–z 0–9 - . _ ~ alone, or form-encode id and secret before Base64'
  const wrong = (client: string, what: string) => [
    `fault: "${client}": Authorization: Basic cannot carry its ${what} unencoded`,
    BOTH,
  ]
  const shapes: [what: string, metadata: Partial<ClientMetadata>, texts: string[]][] = [
    ['a plus sign', { client_secret: 'a+b' }, wrong('backend', 'secret')],
    ['a percent sign that no two digits follow', { client_secret: '100%' }, wrong('backend', 'secret')],
    ['a percent sign that two digits follow', { client_secret: '%41' }, wrong('backend', 'secret')],
    ['a percent sign in the id', { client_id: 'a%20b' }, wrong('a%20b', 'id')],
    ['a colon in the id', { client_id: 'urn:backend' }, wrong('urn:backend', 'id')],
    ['both', { client_id: 'a+b', client_secret: 'c+d' }, wrong('a+b', 'id and secret')],
    [
      'characters that stay what they are',
      { client_secret: "a/b=:!*'()~ c" },
      ['ok: Authorization: Basic can carry those of backend'],
    ],
    [
      'a secret that is sent in the body',
      { client_secret: 'a+b', token_endpoint_auth_method: 'client_secret_post' },
      [],
    ],
  ]
  for (const [what, metadata, texts] of shapes) {
    it(`that have ${what}`, async () => {
      const findings = await found('secrets', [machineClient(metadata)])
      expect(textsOf(findings)).to.deep.equal(texts)
    })
  }
})

describe('oidc-impersonation check: resources', () => {
  const known = (names: Readonly<Record<string, ResourceServer>>): Partial<Indicators> => ({
    getResourceServerInfo(_ctx, name) {
      const info = names[name]
      if (!info) throw new errors.InvalidTarget()
      return info
    },
  })
  const unknown = (name: string) =>
    `fault: "spa" may exchange for ${name}, which getResourceServerInfo does not know`
  const opaque = (name: string) => [
    `fault: access tokens for ${name} are opaque, because getResourceServerInfo returns no accessTokenFormat: an API that expects a JWT refuses them`,
    "return accessTokenFormat: 'jwt' for it, or 'opaque' if its API introspects",
  ]
  const COMPARE =
    'write it, character by character, as getResourceServerInfo knows it, or correct that function'
  const write = (name: string) => `write ${name} in its token_exchange_resources`
  const fine = (names: string) => [`ok: ${names}: known, and the format of the access tokens is set`]

  const shapes: [
    what: string,
    list: string[] | undefined,
    indicators: Partial<Indicators>,
    texts: string[],
  ][] = [
    ['are known', [API], known({ [API]: JWT }), fine(API)],
    ['are opaque on purpose', [API], known({ [API]: { ...OPAQUE, accessTokenFormat: 'opaque' } }), fine(API)],
    ['lack a slash', [API], known({ [`${API}/`]: JWT }), [unknown(API), write(`${API}/`)]],
    [
      'lack a slash, and are opaque with it',
      [API],
      known({ [`${API}/`]: OPAQUE }),
      [unknown(API), write(`${API}/`), ...opaque(`${API}/`)],
    ],
    ['have another name', ['urn:a'], known({ [API]: JWT }), [unknown('urn:a'), COMPARE]],
    ['are opaque, one of two', [API, 'urn:b'], known({ [API]: JWT, 'urn:b': OPAQUE }), opaque('urn:b')],
    [
      'are anything',
      undefined,
      { getResourceServerInfo: () => OPAQUE },
      [
        'warning: may exchange for every resource: spa',
        'give them token_exchange_resources',
        ...opaque('any resource'),
      ],
    ],
    [
      'cannot be told',
      [API],
      { getResourceServerInfo: (_ctx, name) => ({ [`${API}/`]: JWT })[name] as never },
      [
        `fault: "spa" may exchange for ${API}, which fails: features.resourceIndicators.getResourceServerInfo must return an object`,
        write(`${API}/`),
      ],
    ],
    [
      'have a default that is no text',
      [API],
      { getResourceServerInfo: () => JWT, defaultResource: () => new URL(API) as never },
      [
        'fault: "spa" may exchange for what defaultResource returns, which fails: defaultResource returns no string',
        COMPARE,
      ],
    ],
    [
      'have a default of another format',
      [API],
      {
        ...known({ [API]: JWT, 'urn:b': OPAQUE }),
        defaultResource: () => 'urn:b',
      },
      opaque('urn:b'),
    ],
    [
      'depend on the client',
      [API],
      {
        getResourceServerInfo(_ctx, _name, { clientId }) {
          if (clientId === 'spa') throw new errors.InvalidTarget()
          return JWT
        },
      },
      [unknown(API), COMPARE],
    ],
  ]
  for (const [what, list, indicators, texts] of shapes) {
    it(`that ${what}`, async () => {
      const client = list ? confined(list) : publicClient()
      expect(textsOf(await found('resources', [client], indicators))).to.deep.equal(texts)
    })
  }

  it('that a client without a list exchanges for: those of the others, and of the example', async () => {
    const indicators = known({ [API]: OPAQUE, 'urn:b': OPAQUE })
    const clients = [publicClient(), confined([API], { client_id: 'desk' })]
    const texts = textsOf(await found('resources', clients, indicators, { resources: ['urn:b', 'urn:c'] }))
    expect(texts.slice(2)).to.deep.equal([...opaque(API), ...opaque('urn:b')])
  })
})

describe('oidc-impersonation check: actor tokens', () => {
  const info = { getResourceServerInfo: () => JWT } satisfies Partial<Indicators>
  const toApi = { ...info, defaultResource: () => API } satisfies Partial<Indicators>
  const portal = webClient({ client_id: 'portal', grant_types: ['authorization_code'] })
  const exchanging = (metadata: Partial<ClientMetadata> = {}) => confined([API], metadata)
  const onlyExchanging = exchanging({ grant_types: [TOKEN_EXCHANGE], response_types: [], redirect_uris: [] })
  const mute = (client: string, level = 'fault') => [
    `${level}: who signs in at "${client}" gets a token for ${API}, because of defaultResource and useGrantedResource: it lacks openid, and cannot act`,
    `let useGrantedResource return false for "${client}"`,
  ]
  const shapes: [
    what: string,
    clients: ClientMetadata[],
    indicators: Partial<Indicators>,
    texts: string[],
    more?: object,
  ][] = [
    ['act without a default resource', [exchanging()], info, ['ok: those of spa can act']],
    ['act with a default that is not used', [exchanging()], toApi, ['ok: those of spa can act']],
    ['are for an API', [exchanging()], { ...toApi, useGrantedResource: async () => true }, mute('spa')],
    [
      'are for an API, where no one need act',
      [exchanging()],
      { ...toApi, useGrantedResource: () => true },
      mute('spa', 'warning'),
      { options: { requireActor: false } },
    ],
    [
      'are for an API, because there is no userinfo',
      [exchanging()],
      toApi,
      mute('spa'),
      { features: { userinfo: { enabled: false } } },
    ],
    [
      'cannot be told, because a function does not settle',
      [exchanging()],
      { ...toApi, useGrantedResource: () => tooLate<boolean>(2) },
      ['note: not checked: useGrantedResource took more than 2 s'],
      { options: { customClaimsTimeout: 2 } },
    ],
    [
      'act, because the API has the scope',
      [exchanging()],
      {
        getResourceServerInfo: () => ({ ...JWT, scope: 'openid' }),
        defaultResource: () => API,
        useGrantedResource: () => true,
      },
      ['ok: those of spa can act'],
    ],
    [
      'act at one client of two, and not where the engineer of the example signs in',
      [exchanging(), portal],
      { ...toApi, useGrantedResource: (_ctx, { clientId }) => clientId === 'spa' },
      mute('spa'),
      { actsAt: 'spa' },
    ],
    [
      'need not act, but for the engineer of the example',
      [exchanging()],
      { ...toApi, useGrantedResource: () => true },
      mute('spa'),
      { options: { requireActor: false }, actsAt: 'spa' },
    ],
    [
      'act at one client of two',
      [exchanging(), portal],
      {
        ...toApi,
        useGrantedResource: (_ctx, { clientId }) => clientId === 'spa',
      },
      mute('spa', 'warning'),
    ],
    [
      'are those of a client that does not exchange',
      [onlyExchanging, portal],
      { ...toApi, useGrantedResource: () => true },
      mute('portal'),
    ],
    [
      'act at one client that does not exchange',
      [onlyExchanging, portal, { ...portal, client_id: 'shop' }],
      {
        ...toApi,
        useGrantedResource: (_ctx, { clientId }) => clientId === 'shop',
      },
      ['ok: those of portal can act'],
    ],
    ['come from elsewhere', [onlyExchanging], toApi, []],
    [
      'cannot be told',
      [exchanging()],
      {
        ...toApi,
        useGrantedResource() {
          throw new Error('no such table')
        },
      },
      ['note: not checked: no such table'],
    ],
  ]
  for (const [what, clients, indicators, texts, more] of shapes) {
    it(`that ${what}`, async () => {
      expect(textsOf(await found('actor tokens', clients, indicators, more))).to.deep.equal(texts)
    })
  }
})

describe('oidc-impersonation check: an example that the policy must deny', () => {
  const EXAMPLE: Example = {
    ...{ userId: 'alice', actorId: 'carol', createdBy: 'backend', clientId: 'spa', resource: API },
    ...{ context: {}, expect: 'denied' },
  }
  const ALLOWED = 'isAllowed allows it, and the example expects "denied"'
  const DECIDE = 'let isAllowed decide on actor.sub, at every stage'
  const CORRECT = 'correct the example, or the function'

  const policies: [
    what: string,
    isAllowed: ImpersonationOptions['isAllowed'],
    texts: string[],
    changes?: Partial<Example>,
  ][] = [
    [
      'is denied',
      ({ actor }) => actor?.sub === 'bob',
      ['ok: denied, as the example expects: isAllowed at the issuance: isAllowed returned false'],
    ],
    [
      'is denied with a reason',
      () => {
        throw new AccessDenied('no engineer')
      },
      ['ok: denied, as the example expects: isAllowed at the issuance: no engineer'],
    ],
    ['is allowed', () => true, [`fault: ${ALLOWED}`, DECIDE]],
    ['is allowed where there is no policy', undefined, [`fault: ${ALLOWED}`, DECIDE]],
    [
      'is denied where the backend names the engineer, only',
      ({ stage, actor }) => stage === 'exchange' || actor?.sub !== 'carol',
      [
        'fault: isAllowed allows it where the backend does not name the actor, and the example expects "denied"',
        DECIDE,
      ],
    ],
    [
      'is denied at the exchange',
      ({ stage, actor }) => stage === 'issuance' || actor?.sub === 'bob',
      ['ok: denied, as the example expects: isAllowed at the exchange: isAllowed returned false'],
    ],
    [
      'is neither denied nor allowed',
      () => undefined as never,
      ['fault: isAllowed at the issuance: isAllowed must return true or false', CORRECT],
    ],
    [
      'fails',
      ({ actor }) => JSON.parse(actor?.sub ?? '').isEngineer,
      [
        `fault: isAllowed at the issuance: isAllowed failed: Unexpected token 'c', "carol" is not valid JSON`,
        CORRECT,
      ],
    ],
    [
      'is refused for another reason',
      () => true,
      ['fault: actor_token at the exchange: its account is gone or disabled', CORRECT],
      { actorId: 'zoe' },
    ],
    [
      'has no engineer, and is denied',
      ({ userId }) => userId !== 'alice',
      ['ok: denied, as the example expects: isAllowed at the issuance: isAllowed returned false'],
      { actorId: undefined },
    ],
  ]
  for (const [what, isAllowed, texts, changes] of policies) {
    it(what, async () => {
      await withDeployment({ options: { isAllowed } }, async ({ impersonation }) => {
        const deployment = { impersonation, inside: insideOf(impersonation) }
        expect(textsOf(await dryRun(deployment, { ...EXAMPLE, ...changes }))).to.deep.equal(texts)
      })
    })
  }

  it('is not what the policy looks at who acts for, where it may be allowed', async () => {
    const EVERYONE = [
      'warning: isAllowed does not look at actor: everyone who can sign in may act',
      'let isAllowed decide on actor.sub',
    ]
    const looks: [isAllowed: ImpersonationOptions['isAllowed'], texts: string[]][] = [
      [() => true, EVERYONE],
      [(request) => request.stage !== 'issuance' || request.actor?.sub === 'carol', EVERYONE],
      [(request) => JSON.stringify(request) !== '', []],
      [undefined, []],
    ]
    for (const [isAllowed, texts] of looks) {
      await withDeployment({ options: { isAllowed } }, async ({ impersonation }) => {
        const deployment = { impersonation, inside: insideOf(impersonation) }
        const [allowed, ...others] = await dryRun(deployment, { ...EXAMPLE, expect: 'allowed' })
        expect(allowed?.level).to.equal('ok')
        expect(textsOf(others)).to.deep.equal(texts)
      })
    }
  })

  it('has no one to look at without an actor', async () => {
    await withDeployment({ options: { isAllowed: () => true } }, async ({ impersonation }) => {
      const deployment = { impersonation, inside: insideOf(impersonation) }
      const example = { ...EXAMPLE, actorId: undefined, expect: 'allowed' } as const
      expect((await dryRun(deployment, example)).map(({ level }) => level)).to.deep.equal(['ok'])
    })
  })

  it('may need the request to know how long a token lives', async () => {
    const AccessToken = (ctx: { oidc: { client?: { clientId: string } } }) =>
      ctx.oidc.client?.clientId === 'spa' ? 60 : 0
    const configuration = { ttl: { AccessToken } } as unknown as Configuration
    await withDeployment({ configuration }, async ({ impersonation }) => {
      const deployment = { impersonation, inside: insideOf(impersonation) }
      const findings = await dryRun(deployment, { ...EXAMPLE, expect: 'allowed' })
      expect(findings.map(({ level }) => level)).to.deep.equal(['ok'])
    })
  })
})

describe('oidc-impersonation check: what has been said of metadata', () => {
  const EXAMPLE: Example = {
    userId: 'alice',
    createdBy: 'backend',
    clientId: 'spa',
    resource: API,
    context: {},
  }
  const said = (about: string): Finding => ({ level: 'fault', about, text: 'wrong', advice: 'correct it' })
  const run = async (client: ClientMetadata, known: Finding[], options = {}): Promise<Finding[]> => {
    let findings: Finding[] = []
    await withDeployment({ configuration: { clients: [client] }, options }, async ({ impersonation }) => {
      findings = await dryRun({ impersonation, inside: insideOf(impersonation) }, EXAMPLE, known)
    })
    return findings
  }

  it('is not said again by the example', async () => {
    const gone = publicClient({ client_id: 'other' })
    expect(textsOf(await run(gone, [said('clients')]))).to.deep.equal([
      'note: stopped by a fault above: the request at the issuance: clientId must be a client that may exchange subject tokens',
    ])
    const denied = await run(publicClient(), [said('clients')], { isAllowed: () => false })
    expect(denied.map(({ level }) => level)).to.deep.equal(['fault'])
    expect((await run(gone, [said('secrets')])).map(({ level }) => level)).to.deep.equal(['fault'])
    const barred = confined([`${API}/`])
    expect((await run(barred, [said('resources')])).map(({ level }) => level)).to.deep.equal(['ok'])
    expect((await run(barred, [])).map(({ level }) => level)).to.deep.equal(['fault'])
  })
})

describe('oidc-impersonation check: the status lists of issuers that a module attaches', () => {
  const ISSUER = 'https://id.example.com/oidc'
  const BASE = 'https://id.example.com/api/status-lists'
  const listsBeside = async (issuers: readonly { issuer: string; statusLists: string | undefined }[]) => {
    let findings: Finding[] = []
    await withDeployment({ issuer: ISSUER }, async ({ impersonation }) => {
      findings = await checkStatusLists({ impersonation, inside: insideOf(impersonation), issuers })
    })
    return textsOf(findings)
  }
  const own = { issuer: ISSUER, statusLists: BASE }

  it('are those of one only', async () => {
    const fine = [`ok: ${BASE} is the default address of no other issuer in this database`]
    expect(await listsBeside([own, own])).to.deep.equal(fine)
    expect(
      await listsBeside([own, { issuer: 'https://a.example.com', statusLists: undefined }]),
    ).to.deep.equal(fine)
    const two = ['https://a.example.com', 'https://b.example.com'].map((issuer) => ({ ...own, issuer }))
    expect(await listsBeside([own, ...two])).to.deep.equal([
      `fault: ${BASE} is also the address of https://a.example.com and https://b.example.com: only one issuer can have its lists there, and APIs refuse the JWTs of the others`,
      'set managementResource or statusList.uri for all but one of them',
    ])
  })
})
