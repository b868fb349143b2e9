/** `oidc-impersonation check`: what it says of the option `sessions`, word for word. */
import { expect } from 'chai'
import type { Account, ClientMetadata, Configuration } from 'oidc-provider'
import { type DeploymentOverrides, withDeployment } from '../../fixtures/deployment.ts'
import { reachesLoopback, shopClient } from '../../fixtures/sessions.ts'
import { dryRun } from '../../src/cli/check/dry-run.ts'
import type { Finding } from '../../src/cli/check/finding.ts'
import type { Example } from '../../src/cli/check/module.ts'
import { checkSessions } from '../../src/cli/check/sessions.ts'
import { insideOf } from '../../src/impersonation.ts'
import type { ImpersonationOptions } from '../../src/index.ts'
import { createMemoryStore } from '../../src/testing/index.ts'

const ok = (about: string, text: string) => ({ level: 'ok', about, text })
const warning = (about: string, text: string, advice: string) => ({ level: 'warning', about, text, advice })
const fault = (about: string, text: string, advice: string) => ({ level: 'fault', about, text, advice })

const shop = (metadata: Partial<ClientMetadata> = {}) =>
  shopClient('https://shop.example.com/logout', {
    impersonation_sessions: 'https://shop.example.com/sign-in',
    ...metadata,
  })

interface Given {
  readonly clients?: readonly ClientMetadata[]
  readonly configuration?: Configuration
  readonly options?: Partial<ImpersonationOptions>
  readonly issuer?: string
}

const overridesOf = ({ clients = [shop()], configuration, options, issuer }: Given): DeploymentOverrides => ({
  clients,
  ...(issuer !== undefined && { issuer }),
  options: (baseUrl) => ({
    store: createMemoryStore(),
    sessions: { door: `${new URL(issuer ?? baseUrl).origin}/impersonate` },
    ...options,
  }),
  configuration: { ...reachesLoopback(), cookies: { keys: ['k'.repeat(32)] }, ...configuration },
})

async function found(given: Given = {}): Promise<Finding[]> {
  const findings: Finding[] = []
  await withDeployment(overridesOf(given), async ({ impersonation }) => {
    const inside = insideOf(impersonation)
    inside.door?.stopWatching()
    findings.push(...(await checkSessions({ impersonation, inside })))
  })
  return findings
}

const about = async (name: string, given?: Given) =>
  (await found(given)).filter((finding) => finding.about === name)

describe('oidc-impersonation check: sessions', () => {
  it('are not looked at while they are off', async () => {
    expect(await found({ options: { sessions: undefined } as never })).to.deep.equal([])
  })

  it('have a door, keys, and clients that can be told', async () => {
    const issuer = 'https://id.example.com/oidc'
    expect(await found({ issuer })).to.deep.equal([
      ok('door', 'https://id.example.com/impersonate is served, on the origin of the issuer'),
      ok('door keys', 'the first of 1 cookies.keys seals, and all of them open'),
      ok('who can be opened', 'shop'),
      ok('logout', 'can be told when a session ends: shop'),
    ])
  })

  it('have a door that anyone could listen at, which is a fault', async () => {
    expect(await about('door', { issuer: 'http://id.example.com/oidc' })).to.deep.equal([
      fault(
        'door',
        'http://id.example.com/impersonate is not https: what a browser carries to the application can be read and copied',
        'serve the provider and the door by https',
      ),
    ])
  })

  it('have keys that can be guessed', async () => {
    expect(
      await about('door keys', { configuration: { cookies: { keys: ['short', 'k'.repeat(32)] } } }),
    ).to.deep.equal([
      warning(
        'door keys',
        '1 of 2 cookies.keys have fewer than 32 bytes: who guesses one can forge what the door seals',
        'use 32 random bytes for each',
      ),
    ])
  })

  it('name clients that cannot be told', async () => {
    const unended = shop({
      client_id: 'unended',
      backchannel_logout_uri: undefined,
      backchannel_logout_session_required: undefined,
      impersonation_sessions_unended: true,
    })
    expect(await about('logout', { clients: [shop(), unended] })).to.deep.equal([
      ok('logout', 'can be told when a session ends: shop'),
      warning(
        'logout',
        'cannot be told when a session ends, so that their own may last: unended',
        'give them backchannel_logout_uri and backchannel_logout_session_required',
      ),
    ])
  })

  it('name a client that cannot ask for openid', async () => {
    const clients = [shop({ scope: 'openid orders:read' }), shop({ client_id: 'mute', scope: 'orders:read' })]
    expect(
      await about('who can be opened', { clients, configuration: { scopes: ['openid', 'orders:read'] } }),
    ).to.deep.equal([
      ok('who can be opened', 'shop, mute'),
      fault(
        'who can be opened',
        'cannot ask for the scope openid, without which no session begins: mute',
        'add openid to the scope of their metadata, or leave it out',
      ),
    ])
  })

  for (const [host, address] of [
    ['127.0.0.1:8080', '127.0.0.1'],
    ['[::1]', '::1'],
    ['10.1.2.3', '10.1.2.3'],
    ['192.168.0.7', '192.168.0.7'],
  ]) {
    it(`name a client that the provider's own fetch does not reach: at ${host}`, async () => {
      const clients = [shop({ backchannel_logout_uri: `http://${host}/logout` })]
      const { fetch: _, ...own } = reachesLoopback()
      const internal = {
        clients,
        configuration: { ...own, fetch: undefined } as unknown as Configuration,
      }
      expect(await about('logout', internal)).to.deep.equal([
        fault(
          'logout',
          `"shop" is at ${address}: oidc-provider's own fetch connects to no internal address, so it is never told`,
          'set fetch in the configuration of the provider',
        ),
      ])
      expect(await about('logout', { clients })).to.deep.equal([
        ok('logout', 'can be told when a session ends: shop'),
      ])
    })
  }

  it('are not known to reach a host that is not found here', async () => {
    const clients = [shop({ backchannel_logout_uri: 'https://shop.invalid/logout' })]
    const configuration = { fetch: undefined } as unknown as Configuration
    const [finding] = await about('logout', { clients, configuration })
    expect(finding).to.deep.equal({
      level: 'note',
      about: 'logout',
      text: '"shop" was not looked at: there is no address of shop.invalid here',
    })
  })
})

const EXAMPLE: Example = {
  userId: 'alice',
  createdBy: 'backend',
  clientId: 'spa',
  actorId: 'bob',
  resource: 'https://api.example.com',
  scope: 'orders:read',
  context: { ticketId: 'T-1' },
  session: { clientId: 'shop', scope: 'openid profile' },
}

/** What the dry run says of the session, and what has changed for the deployment. */
async function tried(given: Given = {}, changes: Partial<Example> = {}) {
  const texts: { level: string; text: string }[] = []
  await withDeployment(overridesOf(given), async ({ impersonation, events }) => {
    const inside = insideOf(impersonation)
    inside.door?.stopWatching()
    const findings = await dryRun({ impersonation, inside }, { ...EXAMPLE, ...changes })
    texts.push(...findings.filter(({ text }) => /session|opened/.test(text)))
    expect((await impersonation.records.list()).items).to.deep.equal([])
    expect(events).to.deep.equal([])
  })
  return texts.map(({ level, text }) => [level, text])
}

describe('oidc-impersonation check: an application that an example opens', () => {
  it('opens, by the door and the arrival, and nothing is stored or told', async () => {
    const asked: string[] = []
    const isAllowed: ImpersonationOptions['isAllowed'] = ({ stage, actor }) => {
      asked.push(`${stage} by ${actor?.sub}`)
      return true
    }
    expect(await tried({ options: { isAllowed } })).to.deep.equal([
      ['ok', 'session: "shop" opens as alice; its ID token has act {"sub":"bob"}'],
    ])
    expect(asked.slice(-4)).to.deep.equal([
      'issuance by bob',
      'session by bob',
      'session by bob',
      'session by bob',
    ])
  })

  it('opens behind a proxy that speaks https, with cookies for https only', async () => {
    const cookies = { keys: ['k'.repeat(32)], long: { secure: true, sameSite: 'none' as const } }
    const given = { issuer: 'https://id.example.com/oidc', configuration: { cookies } }
    expect(await tried(given)).to.deep.equal([
      ['ok', 'session: "shop" opens as alice; its ID token has act {"sub":"bob"}'],
    ])
  })

  const refusals: readonly (readonly [
    what: string,
    given: Given,
    changes: Partial<Example>,
    text: RegExp,
  ])[] = [
    ['a client that is not open', { clients: [shop({ impersonation_sessions: undefined })] }, {}, /clientId/],
    ['a client that there is not', {}, { session: { clientId: 'nowhere' } }, /there is no client nowhere/],
    [
      'a policy that denies at the door',
      { options: { isAllowed: ({ stage }) => stage !== 'session' } },
      {},
      /^session: the door: isAllowed/,
    ],
    [
      'a claims function that fails at the arrival',
      {
        options: {
          getCustomJwtClaims({ context }) {
            if (context.grant.kind === 'session') throw new Error('no')
            return {}
          },
        },
      },
      {},
      /^session: the arrival: getCustomJwtClaims/,
    ],
    [
      'a user that the code does not find',
      {
        configuration: {
          findAccount: async (_ctx, accountId, source): Promise<Account | undefined> =>
            source ? undefined : { accountId, claims: () => ({ sub: accountId }) },
        },
      },
      {},
      /^session: the code: /,
    ],
  ]
  for (const [what, given, changes, text] of refusals) {
    it(`is a fault: ${what}`, async () => {
      const [[level, told = ''] = []] = await tried(given, changes)
      expect(level, told).to.equal('fault')
      expect(told).to.match(text)
    })
  }

  it('is not tried where the example names none, and cannot be while sessions are off', async () => {
    expect(await tried({}, { session: undefined } as never)).to.deep.equal([
      ['note', 'no application was opened: the example has no member session'],
    ])
    expect(await tried({ options: { sessions: undefined } as never })).to.deep.equal([
      ['fault', 'sessions are off: nothing can be opened'],
    ])
  })
})
