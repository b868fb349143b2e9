/** The rules for client metadata (protocol.md §2.3), without a server: what is refused, and with which sentence. */
import { expect } from 'chai'
import { errors, type KoaContextWithOIDC } from 'oidc-provider'
import { CLIENT_CREDENTIALS, TOKEN_EXCHANGE } from '../../src/constants.ts'
import {
  registeredAudiences,
  registeredManagementScopes,
  registeredResources,
} from '../../src/provider/clients.ts'
import { validateClientMetadata } from '../../src/provider/registration.ts'

type RawMetadata = Readonly<Record<string, unknown>>

const CREATE = 'subject-tokens:create'
const READ = 'subject-tokens:read'
const API = 'https://api.example.com'

/** A machine with a scope, with the defaults that the provider fills in before it validates. */
const MACHINE: RawMetadata = {
  client_id: 'machine',
  token_endpoint_auth_method: 'client_secret_basic',
  grant_types: ['client_credentials'],
  scope: CREATE,
  subject_type: 'public',
  dpop_bound_access_tokens: false,
  tls_client_certificate_bound_access_tokens: false,
}

const contextOf = (oidc: object) => ({ oidc }) as unknown as KoaContextWithOIDC
const registration = (policies?: readonly string[]) =>
  contextOf({ route: 'registration', entities: { InitialAccessToken: { policies } } })
const updateOf = (held: RawMetadata) =>
  contextOf({ route: 'client_update', client: { metadata: () => held } })
const INVITED = registration(['impersonation'])

/** The sentence that refuses. `undefined` for accepted metadata. */
function refusal(
  ctx: KoaContextWithOIDC | undefined,
  metadata: RawMetadata,
  reservedGrants: readonly string[] = [TOKEN_EXCHANGE],
): string | undefined {
  try {
    validateClientMetadata(ctx, metadata, reservedGrants)
    return undefined
  } catch (error) {
    expect(error).to.be.instanceOf(errors.InvalidClientMetadata)
    return (error as errors.InvalidClientMetadata).error_description
  }
}

describe('client metadata', () => {
  describe('of a client that registers itself with the policy', () => {
    const cases: [title: string, changes: RawMetadata, sentence: string | undefined][] = [
      ['is accepted unchanged', {}, undefined],
      [
        'without authentication names no management scope',
        { token_endpoint_auth_method: 'none' },
        `scope ${CREATE} is only for clients that authenticate`,
      ],
      [
        'without authentication names no management scope among others',
        { token_endpoint_auth_method: 'none', scope: `openid ${READ}` },
        `scope ${READ} is only for clients that authenticate`,
      ],
      [
        'without authentication may name other scopes',
        { token_endpoint_auth_method: 'none', scope: 'openid' },
        undefined,
      ],
      [
        'that may not have to authenticate names none either',
        {
          token_endpoint_auth_method: undefined,
          token_endpoint_auth_methods_supported: ['private_key_jwt', 'none'],
        },
        `scope ${CREATE} is only for clients that authenticate`,
      ],
      [
        'that will authenticate in some way may',
        { token_endpoint_auth_method: undefined, token_endpoint_auth_methods_supported: ['private_key_jwt'] },
        undefined,
      ],
    ]
    for (const [title, changes, sentence] of cases) {
      it(title, () => expect(refusal(INVITED, { ...MACHINE, ...changes })).to.equal(sentence))
    }
  })

  it('of a stranger is refused for the scope, whether it authenticates or not', () => {
    for (const [method, sentence] of [
      ['client_secret_basic', `scope ${CREATE} is not for self-registered clients`],
      ['none', `scope ${CREATE} is only for clients that authenticate`],
    ]) {
      const metadata = { ...MACHINE, token_endpoint_auth_method: method }
      for (const ctx of [
        registration(),
        registration(['other']),
        contextOf({ route: 'registration', entities: {} }),
      ]) {
        expect(refusal(ctx, metadata)).to.equal(sentence)
      }
    }
  })

  it('of a client that did not authenticate gains no scope by an update after which it does', () => {
    const held = { ...MACHINE, token_endpoint_auth_method: 'none' }
    expect(refusal(updateOf(held), MACHINE)).to.equal(`scope ${CREATE} is not for self-registered clients`)
    expect(refusal(updateOf(held), { ...MACHINE, scope: 'openid' })).to.equal(undefined)
  })

  describe('of an update', () => {
    const cases: [title: string, held: RawMetadata, wanted: RawMetadata, sentence: string | undefined][] = [
      ['may stay as it is', {}, {}, undefined],
      [
        'may become stronger',
        {},
        { token_endpoint_auth_method: 'private_key_jwt', dpop_bound_access_tokens: true },
        undefined,
      ],
      ['may give up the scopes', {}, { scope: undefined }, undefined],
      [
        'may change what protects nothing',
        { scope: 'openid', dpop_bound_access_tokens: true },
        { scope: 'openid', token_endpoint_auth_method: 'none', subject_type: 'pairwise' },
        undefined,
      ],
      [
        'cannot stop authenticating',
        {},
        { token_endpoint_auth_method: 'none' },
        'token_endpoint_auth_method may not become none',
      ],
      [
        'cannot stop authenticating, even if it gives up the scopes',
        {},
        { token_endpoint_auth_method: 'none', scope: undefined },
        'token_endpoint_auth_method may not become none',
      ],
      [
        'cannot drop DPoP',
        { dpop_bound_access_tokens: true },
        {},
        'dpop_bound_access_tokens may not be dropped',
      ],
      [
        'cannot drop DPoP by another type',
        { dpop_bound_access_tokens: true },
        { dpop_bound_access_tokens: 'true' },
        'dpop_bound_access_tokens may not be dropped',
      ],
      [
        'cannot drop its certificate',
        { tls_client_certificate_bound_access_tokens: true },
        { tls_client_certificate_bound_access_tokens: undefined },
        'tls_client_certificate_bound_access_tokens may not be dropped',
      ],
      ['cannot change its subjects', {}, { subject_type: 'pairwise' }, 'subject_type may not change'],
      [
        'cannot leave its subject type to the provider',
        {},
        { subject_type: undefined },
        'subject_type may not change',
      ],
      [
        'cannot change its subjects by another type',
        {},
        { subject_type: ['public'] },
        'subject_type may not change',
      ],
      [
        'cannot request every scope by emptying its own, however it was written',
        { grant_types: [TOKEN_EXCHANGE], scope: 'openid  profile' },
        { grant_types: [TOKEN_EXCHANGE], scope: '' },
        'scope may only be narrowed',
      ],
      [
        'learns first what it cannot add',
        { dpop_bound_access_tokens: true },
        { scope: `${CREATE} ${READ}` },
        `scope ${READ} is not for self-registered clients`,
      ],
    ]
    for (const [title, held, wanted, sentence] of cases) {
      it(title, () =>
        expect(refusal(updateOf({ ...MACHINE, ...held }), { ...MACHINE, ...wanted })).to.equal(sentence),
      )
    }
  })

  describe('with a reserved grant', () => {
    const reserved = [TOKEN_EXCHANGE, CLIENT_CREDENTIALS]
    const plain = { ...MACHINE, scope: undefined }
    const person = { ...plain, grant_types: ['authorization_code'] }
    const sentence = 'grant type client_credentials is not for self-registered clients'
    const cases: [
      title: string,
      ctx: KoaContextWithOIDC,
      wanted: RawMetadata,
      sentence: string | undefined,
    ][] = [
      ['is refused for a stranger', registration(), plain, sentence],
      [
        'is refused for a stranger among other grants',
        registration(),
        { ...plain, grant_types: ['authorization_code', CLIENT_CREDENTIALS] },
        sentence,
      ],
      ['is granted with the policy', INVITED, plain, undefined],
      ['is not added by an update', updateOf(person), plain, sentence],
      ['is kept by an update', updateOf(plain), { ...plain, client_name: 'renamed' }, undefined],
      ['is given up by an update', updateOf(plain), person, undefined],
      [
        'is not found in anything but a list',
        registration(),
        { ...plain, grant_types: CLIENT_CREDENTIALS },
        undefined,
      ],
      [
        'is not found in a list within a list',
        registration(),
        { ...plain, grant_types: [[CLIENT_CREDENTIALS]] },
        undefined,
      ],
    ]
    for (const [title, ctx, wanted, expected] of cases) {
      it(title, () => expect(refusal(ctx, wanted, reserved)).to.equal(expected))
    }

    it('does not protect client_credentials alone more than other clients', () =>
      expect(refusal(updateOf(plain), { ...plain, token_endpoint_auth_method: 'none' }, reserved)).to.equal(
        undefined,
      ))

    it('is open to a stranger if it is not reserved', () => {
      expect(refusal(registration(), plain)).to.equal(undefined)
      expect(refusal(updateOf(person), plain)).to.equal(undefined)
    })
  })

  it('that the administrator wrote is checked when it is used', () =>
    expect(refusal(undefined, { ...MACHINE, token_endpoint_auth_method: 'none' })).to.equal(undefined))
})

describe('token_exchange_resources', () => {
  it('that cannot be read allow nothing', () => {
    expect(registeredResources({})).to.equal(undefined)
    expect(registeredResources({ token_exchange_resources: [API] })).to.deep.equal([API])
    for (const unreadable of [API, null, [1], ['/relative'], {}]) {
      expect(registeredResources({ token_exchange_resources: unreadable })).to.deep.equal([])
    }
  })
})

describe('token_exchange_audiences', () => {
  const WIDER = 'token_exchange_audiences may only be narrowed'
  const EMPTIED = 'token_exchange_audiences may not become empty'
  const STRANGER = 'token_exchange_audiences is not for self-registered clients'
  const RESOURCES = 'token_exchange_resources may only be narrowed'
  const MALFORMED = 'token_exchange_audiences must be an array of strings'
  const plain: RawMetadata = { ...MACHINE, scope: undefined, grant_types: [TOKEN_EXCHANGE] }
  const audiences = (...names: unknown[]): RawMetadata => ({ ...plain, token_exchange_audiences: names })
  const limited = (...names: string[]): RawMetadata => ({
    ...audiences('a'),
    token_exchange_resources: names,
  })

  const cases: [
    title: string,
    ctx: KoaContextWithOIDC | undefined,
    wanted: RawMetadata,
    sentence: string | undefined,
  ][] = [
    ['are for clients with the policy', INVITED, audiences('a'), undefined],
    ['are not for strangers', registration(), { ...audiences('a'), grant_types: [] }, STRANGER],
    ['are not for strangers, even empty', registration(), { ...audiences(), grant_types: [] }, STRANGER],
    ['may be what the administrator wrote', undefined, audiences('a'), undefined],
    ['are kept by an update', updateOf(audiences('a', 'b')), audiences('b', 'a'), undefined],
    ['shrink by an update', updateOf(audiences('a', 'b')), audiences('b'), undefined],
    ['are not widened by an update', updateOf(audiences('a')), audiences('a', 'b'), WIDER],
    ['are not exchanged for others by an update', updateOf(audiences('a')), audiences('b'), WIDER],
    ['are not emptied by an update', updateOf(audiences('a')), audiences(), EMPTIED],
    ['are not removed by an update', updateOf(audiences('a')), plain, WIDER],
    ['are not added by an update', updateOf(plain), audiences('a'), STRANGER],
    ['are not added by an update, even empty', updateOf(plain), audiences(), STRANGER],
    ['that are empty stay so', updateOf(audiences()), audiences(), undefined],
    ['that are empty are not removed', updateOf(audiences()), plain, WIDER],
    ['that are empty are not filled', updateOf(audiences()), audiences('a'), WIDER],
    ['let no update add resources, absent meaning none', updateOf(audiences('a')), limited(API), RESOURCES],
    ['let an update confine to no resource', updateOf(audiences('a')), limited(), undefined],
    ['let an update narrow the resources', updateOf(limited(API, `${API}/b`)), limited(API), undefined],
    ['let no update remove the resources', updateOf(limited(API)), audiences('a'), RESOURCES],
    ['are strings', undefined, audiences(7), MALFORMED],
    ['are not blank', undefined, audiences(''), MALFORMED],
    ['are a list', undefined, { ...plain, token_exchange_audiences: 'a' }, MALFORMED],
    ['are not null', undefined, { ...plain, token_exchange_audiences: null }, MALFORMED],
  ]
  for (const [title, ctx, wanted, sentence] of cases) {
    it(title, () => expect(refusal(ctx, wanted)).to.equal(sentence))
  }

  it('that cannot be read are none, and make an API all the same', () => {
    expect(registeredAudiences({})).to.equal(undefined)
    expect(registeredAudiences({ token_exchange_audiences: ['a'] })).to.deep.equal(['a'])
    for (const unreadable of ['a', null, [1], [''], {}, [['a']]]) {
      expect(registeredAudiences({ token_exchange_audiences: unreadable })).to.deep.equal([])
    }
  })
})

describe('the management scopes of a client', () => {
  const client = { scope: `openid ${CREATE} ${READ}`, tokenEndpointAuthMethod: 'private_key_jwt' }
  const cases: [title: string, client: Parameters<typeof registeredManagementScopes>[0], scopes: string[]][] =
    [
      ['are those its metadata names', client, [CREATE, READ]],
      ['are none without metadata', { ...client, scope: undefined }, []],
      ['are none if the metadata is not a string', { ...client, scope: [CREATE] }, []],
      ['are none if the client does not authenticate', { ...client, tokenEndpointAuthMethod: 'none' }, []],
      ['are none if the client describes itself', { ...client, clientIdMetadataDocument: true }, []],
    ]
  for (const [title, given, scopes] of cases) {
    it(title, () => expect([...registeredManagementScopes(given)]).to.deep.equal(scopes))
  }
})
