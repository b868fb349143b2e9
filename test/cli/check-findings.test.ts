/** `oidc-impersonation check`: what it says of the clients, the options, the routes and the status lists, word for word. */
import { expect } from 'chai'
import type { ClientMetadata, Configuration } from 'oidc-provider'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import { type DeploymentOverrides, withDeployment } from '../../fixtures/deployment.ts'
import { issue } from '../../fixtures/requests.ts'
import { checkClients } from '../../src/cli/check/clients.ts'
import { checkDoors, checkMounting } from '../../src/cli/check/doors.ts'
import { type Finding, withoutCredentials } from '../../src/cli/check/finding.ts'
import type { Deployment } from '../../src/cli/check/module.ts'
import { checkStatusLists } from '../../src/cli/check/status-lists.ts'
import { insideOf } from '../../src/impersonation.ts'
import { type ImpersonationOptions, TOKEN_EXCHANGE } from '../../src/index.ts'

/** What a check says of a deployment, which `change` may change before. */
async function found(
  check: (deployment: Deployment) => Finding | Finding[] | Promise<Finding[]>,
  overrides: DeploymentOverrides,
  change: (deployment: Deployment) => void = () => {},
): Promise<Finding[]> {
  const findings: Finding[] = []
  await withDeployment(overrides, async ({ impersonation }) => {
    const deployment = { impersonation, inside: insideOf(impersonation) }
    change(deployment)
    findings.push(...[await check(deployment)].flat())
  })
  return findings
}

const ok = (about: string, text: string) => ({ level: 'ok', about, text })
const note = (about: string, text: string) => ({ level: 'note', about, text })
const warning = (about: string, text: string, advice: string) => ({ level: 'warning', about, text, advice })
const fault = (about: string, text: string, advice: string) => ({ level: 'fault', about, text, advice })

const NO_ONE = 'no static client, and none that an example names: only a stored client could'
const noIssuer = warning(
  'who may issue',
  NO_ONE,
  'add subject-tokens:create to the scope of your backend, or name a stored client in an example',
)
const noExchanger = warning(
  'who may exchange',
  NO_ONE,
  `add ${TOKEN_EXCHANGE} to the grant_types of your application, or name a stored client in an example`,
)
describe('oidc-impersonation check: the clients', () => {
  const clientsOf = (configuration: Configuration): Promise<Finding[]> =>
    found(checkClients, { configuration })
  const withClients = async (...clients: ClientMetadata[]): Promise<Finding[]> => {
    const findings = await clientsOf({ clients })
    return findings.filter(({ about }) => about !== 'strangers')
  }
  const spa: ClientMetadata = {
    client_id: 'spa',
    redirect_uris: ['https://app.example.com/callback'],
    grant_types: ['authorization_code', TOKEN_EXCHANGE],
    token_endpoint_auth_method: 'none',
    token_exchange_resources: ['https://api.example.com'],
  }
  const backend: ClientMetadata = {
    client_id: 'backend',
    client_secret: 'backend-secret',
    redirect_uris: [],
    response_types: [],
    grant_types: ['client_credentials'],
    scope: 'subject-tokens:create',
  }

  it('are counted, and named by what they may do', async () => {
    expect(await withClients(spa, { ...spa, client_id: 'desk' }, backend)).to.deep.equal([
      ok('clients', 'the metadata of 3 static clients is valid'),
      ok('secrets', 'Authorization: Basic can carry those of backend'),
      ok('who may issue', 'backend'),
      ok('who may exchange', 'spa, desk'),
      ok('resources', 'https://api.example.com: known, and the format of the access tokens is set'),
      ok('actor tokens', 'those of spa, desk can act'),
    ])
  })

  it('are named where they may exchange for every resource', async () => {
    expect(await withClients({ ...spa, token_exchange_resources: undefined }, backend)).to.deep.include(
      warning('resources', 'may exchange for every resource: spa', 'give them token_exchange_resources'),
    )
  })

  for (const [what, configuration] of [
    ['an empty list', { clients: [] }],
    ['no list', { clients: undefined }],
  ] as const) {
    it(`that are not there are not looked at: ${what}`, async () => {
      expect(await clientsOf(configuration as Configuration)).to.deep.equal([
        noIssuer,
        noExchanger,
        ok('strangers', 'no one registers without an initial access token'),
      ])
    })
  }

  it('with wrong metadata are faults, which the valid ones do not hide', async () => {
    expect(
      await withClients({ ...spa, id_token_signed_response_alg: 'RS256' }, backend, {
        ...spa,
        client_id: 'desk',
        redirect_uris: ['nowhere'],
      }),
    ).to.deep.equal([
      fault(
        'clients',
        '"spa" fails at its first request: id_token_signed_response_alg must be \'ES256\'',
        'add clientDefaults: { id_token_signed_response_alg: … } with the algorithm of your signing key',
      ),
      fault(
        'clients',
        '"desk" fails at its first request: redirect_uris must only contain valid uris',
        'correct its metadata',
      ),
      ok('secrets', 'Authorization: Basic can carry those of backend'),
      ok('who may issue', 'backend'),
      noExchanger,
    ])
  })

  it('that the validator of the deployment fails for are faults, with its reason', async () => {
    const findings = await clientsOf({
      clients: [backend],
      extraClientMetadata: {
        properties: ['team'],
        validator() {
          throw new Error('no such team')
        },
      },
    })
    expect(findings[0]).to.deep.equal(
      fault('clients', '"backend" fails at its first request: no such team', 'correct its metadata'),
    )
  })

  const registration = { enabled: true }
  const clientIdMetadataDocument = { enabled: true, ack: 'draft-02' }
  const strangers: [what: string, configuration: object, finding: object][] = [
    [
      'who need an initial access token',
      { features: { registration: { enabled: true, initialAccessToken: true } } },
      ok('strangers', 'no one registers without an initial access token'),
    ],
    [
      'who register',
      { features: { registration } },
      ok('strangers', 'dynamic registration give neither the exchange nor the management API'),
    ],
    [
      'who describe themselves',
      { features: { clientIdMetadataDocument } },
      ok('strangers', 'client-ID metadata documents give neither the exchange nor the management API'),
    ],
    [
      'who do both, and get client credentials',
      { features: { registration, clientIdMetadataDocument, clientCredentials: { enabled: true } } },
      warning(
        'strangers',
        'dynamic registration and client-ID metadata documents give anyone client_credentials, because you enabled that grant yourself',
        'require an initial access token, or leave features.clientCredentials to configure()',
      ),
    ],
    [
      'who register, and get client credentials by default',
      {
        features: { registration },
        clientDefaults: { id_token_signed_response_alg: 'ES256', grant_types: ['client_credentials'] },
      },
      warning(
        'strangers',
        'dynamic registration give anyone client_credentials, because you enabled that grant yourself',
        'require an initial access token, or leave features.clientCredentials to configure()',
      ),
    ],
  ]
  for (const [what, configuration, finding] of strangers) {
    it(`are told from strangers ${what}`, async () => {
      const findings = await clientsOf(configuration as Configuration)
      expect(findings.filter(({ about }) => about === 'strangers')).to.deep.equal([finding])
    })
  }
})

describe('oidc-impersonation check: the options', () => {
  const closed = { requireActor: true, isAllowed: () => true }
  const doors: [what: string, options: Partial<ImpersonationOptions>, findings: object[]][] = [
    ['nothing where none leaves a door open', closed, [ok('options', 'none leaves a door open')]],
    [
      'that no one need act, and that there is no policy',
      {},
      [
        warning(
          'actor',
          'an exchange without an actor token is accepted: the access token then says nothing of who acts',
          'set requireActor: true if every engineer signs in',
        ),
        warning('policy', 'there is no isAllowed: every user may be impersonated', 'set isAllowed'),
      ],
    ],
    [
      'JWTs that no one can stop for more than 15 minutes',
      { ...closed, statusList: false, maxAccessTokenTTL: 901 },
      [
        warning(
          'stop',
          'a JWT lives for up to 901 s, and statusList is false: nothing can stop it',
          'switch status lists on, or set maxAccessTokenTTL to 900 or less',
        ),
      ],
    ],
    [
      'nothing about JWTs of 15 minutes',
      { ...closed, statusList: false, maxAccessTokenTTL: 900 },
      [ok('options', 'none leaves a door open')],
    ],
  ]
  for (const [what, options, findings] of doors) {
    it(`say ${what}`, async () => {
      expect(await found(checkDoors, { options })).to.deep.equal(findings)
    })
  }
})

describe('oidc-impersonation check: where the management API is mounted', () => {
  const ABOUT = 'management API'
  const ADVICE = 'set managementResource to the address under which clients reach it, or mount it there'
  /** The deployment mounts it at `/api`, and at these prefixes. */
  const mounting = (managementResource: string, ...prefixes: string[]): Promise<Finding[]> =>
    found(checkMounting, { options: { managementResource } }, ({ impersonation }) => {
      for (const prefix of prefixes) impersonation.router({ prefix })
    })

  it('is right at the path of its resource, with or without a slash at the end', async () => {
    for (const resource of ['https://id.example.com/api', 'https://id.example.com/api/']) {
      expect(await mounting(resource)).to.deep.equal([ok(ABOUT, `${resource} is where it is mounted`)])
    }
  })

  it('may be below the path at which the application itself is mounted', async () => {
    expect(await mounting('https://id.example.com/auth/api', '/internal')).to.deep.equal([
      warning(
        ABOUT,
        'Location names https://id.example.com/auth/api, but it is mounted at /api, /internal',
        `${ADVICE}; ignore this if your application is itself mounted below /auth/api`,
      ),
    ])
  })

  it('is a fault elsewhere', async () => {
    expect(await mounting('https://id.example.com/internal')).to.deep.equal([
      fault(ABOUT, 'Location names https://id.example.com/internal, but it is mounted at /api', ADVICE),
    ])
  })

  it('says / for the root', async () => {
    const [finding] = await mounting('https://id.example.com/internal', '')
    expect(finding?.text).to.equal(
      'Location names https://id.example.com/internal, but it is mounted at /api, /',
    )
  })
})

describe('oidc-impersonation check: where the status lists are', () => {
  const ABOUT = 'status lists'
  const BASE = 'https://id.example.com'
  const ADVICE =
    'set managementResource or statusList.uri for one of them; ignore this if the other issuer has set it'
  let database: Database
  beforeEach(async () => {
    database = await openDatabase('sqlite')
  })
  afterEach(() => database.close())

  /** A deployment of this issuer on the database issues a subject token. */
  const issueAs = (issuer: string): Promise<void> =>
    withDeployment({ database, issuer }, async (deployment) => {
      await issue({ ...deployment, baseUrl: BASE })
    })
  const lists = (issuer: string, options: Partial<ImpersonationOptions> = {}): Promise<Finding[]> =>
    found(checkStatusLists, { database, issuer, options })
  const alone = (base = `${BASE}/api`) => [
    ok(ABOUT, `${base}/status-lists is the default address of no other issuer in this database`),
  ]
  const shared = (others: string) => [
    warning(
      ABOUT,
      `${BASE}/api/status-lists is also the default address of ${others}: only one issuer can have its lists there, and APIs refuse the JWTs of the others`,
      ADVICE,
    ),
  ]

  it('is an address of their own while the database knows no other issuer that has it', async () => {
    await issueAs(`${BASE}/oidc`)
    expect(await lists(`${BASE}/oidc`)).to.deep.equal(alone())
    expect(await lists(`${BASE}/auth`)).to.deep.equal(alone(`${BASE}/auth/api`))
    expect(await lists(`${BASE}/oidc/oidc`)).to.deep.equal(alone(`${BASE}/oidc/api`))
  })

  it('is named where two deployments have it, whichever is looked at', async () => {
    await issueAs(`${BASE}/oidc`)
    expect(await lists(BASE)).to.deep.equal(shared(`${BASE}/oidc`))
    await issueAs(BASE)
    expect(await lists(BASE)).to.deep.equal(shared(`${BASE}/oidc`))
    expect(await lists(`${BASE}/oidc`)).to.deep.equal(shared(BASE))
  })

  it('is named with every issuer that has it', async () => {
    for (const issuer of [`${BASE}/oidc/`, BASE, `${BASE}/`]) await issueAs(issuer)
    expect(await lists(`${BASE}/oidc`)).to.deep.equal(shared(`${BASE} and ${BASE}/ and ${BASE}/oidc/`))
  })

  it('is another one once an option says so, unless it says the same', async () => {
    await issueAs(`${BASE}/oidc`)
    const elsewhere = `${BASE}/root/status-lists`
    const byOption = [
      note(ABOUT, `${elsewhere} is set by an option: no other issuer may have the same address`),
    ]
    expect(await lists(BASE, { managementResource: `${BASE}/root` })).to.deep.equal(byOption)
    expect(await lists(BASE, { statusList: { uri: elsewhere } })).to.deep.equal(byOption)
    const uri = `${BASE}/api/status-lists`
    expect(await lists('https://other.example.com', { statusList: { uri } })).to.deep.equal(
      shared(`${BASE}/oidc`),
    )
  })

  it('is that of no issuer which the module attaches with another address', async () => {
    await issueAs(`${BASE}/oidc`)
    const findings = await found(checkStatusLists, { database, issuer: BASE }, (deployment) => {
      Object.assign(deployment, { issuers: [{ issuer: `${BASE}/oidc`, statusLists: `${BASE}/lists` }] })
    })
    expect(findings).to.deep.equal(alone())
  })

  it('is not looked for where there are none', async () => {
    await issueAs(`${BASE}/oidc`)
    expect(await lists(BASE, { statusList: false })).to.deep.equal([])
  })

  it('is not known where the storage fails', async () => {
    await database.sequelize.query('DROP TABLE subject_tokens')
    const [finding, ...others] = await lists(BASE)
    expect(others).to.deep.equal([])
    expect(finding).to.include({ level: 'note', about: ABOUT })
    expect(finding?.text).to.match(/^not checked: storage failed: the tables are missing/)
  })
})

describe('oidc-impersonation check: an address that an error quotes', () => {
  it('is shown without its user and password, whatever the password holds', () => {
    for (const credentials of ['u:p', 'u:hun/t@er2', 'u:p@//x@y', 'u'])
      expect(withoutCredentials(`no route to postgres://${credentials}@db/x`)).to.equal(
        'no route to postgres://***@db/x',
      )
    expect(withoutCredentials('no route to postgres://db/x')).to.equal('no route to postgres://db/x')
  })
})
