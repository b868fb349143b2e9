/** The rules for the parameters themselves (protocol.md §3, §3.2; RFC 8693 §2.1), without a server. */
import { expect } from 'chai'
import { errors } from 'oidc-provider'
import * as impersonation from '../../src/exchange/impersonation.ts'
import { type ExchangeContext, type ExchangeRequest, parseRequest } from '../../src/exchange/request.ts'
import { ACCESS_TOKEN_TYPE } from '../../src/index.ts'
import { checkOf } from '../../src/refusals.ts'

type Parameters = Readonly<Record<string, string | readonly string[] | undefined>>

const VALID: Parameters = {
  subject_token: 'token',
  subject_token_type: ACCESS_TOKEN_TYPE,
  resource: 'https://api.example.com',
}
const ACTOR: Parameters = { actor_token: 'actor', actor_token_type: ACCESS_TOKEN_TYPE }
const JWT_TYPE = 'urn:ietf:params:oauth:token-type:jwt'

/** A valid request with changes, as the provider passes it on. */
function parse(
  changes: Parameters = {},
  { requireActor = false, client = { clientId: 'spa' } as object } = {},
): ExchangeRequest {
  const params = { ...VALID, ...changes }
  const ctx = { oidc: { client, params, body: params } } as unknown as ExchangeContext
  const request = parseRequest(ctx)
  impersonation.assertAdmitted(ctx, { requireActor } as never, request)
  return request
}

function refused(work: () => unknown): [error: string, description: string | undefined, check: unknown] {
  try {
    work()
  } catch (error) {
    if (!(error instanceof errors.OIDCProviderError)) throw error
    return [error.error, error.error_description, checkOf(error)]
  }
  throw new Error('not refused')
}

describe('the parameters of a token exchange', () => {
  it('become a request', () => {
    expect(parse()).to.deep.equal({ subjectToken: 'token', actorToken: undefined, scopes: [] })
    expect(parse({ ...ACTOR, scope: 'b a b', requested_token_type: ACCESS_TOKEN_TYPE })).to.deep.equal({
      subjectToken: 'token',
      actorToken: 'actor',
      scopes: ['b', 'a'],
    })
  })

  const UNKNOWN_TARGET = 'resource indicator is missing, or unknown'
  const refusals: [title: string, changes: Parameters, error: string, description: string, check?: string][] =
    [
      ['no subject_token', { subject_token: undefined }, 'invalid_request', 'subject_token is required'],
      [
        'no subject_token_type',
        { subject_token_type: undefined },
        'invalid_request',
        'subject_token_type is required',
      ],
      [
        'another subject_token_type',
        { subject_token_type: JWT_TYPE },
        'invalid_request',
        'subject_token_type is not supported',
      ],
      [
        'another requested_token_type',
        { requested_token_type: JWT_TYPE },
        'invalid_request',
        'requested_token_type is not supported',
      ],
      [
        'another actor_token_type',
        { ...ACTOR, actor_token_type: JWT_TYPE },
        'invalid_request',
        'actor_token_type is not supported',
      ],
      [
        'an actor_token without its type',
        { actor_token: 'actor' },
        'invalid_request',
        'actor_token_type is required with actor_token',
      ],
      [
        'an actor_token_type without its token',
        { actor_token_type: ACCESS_TOKEN_TYPE },
        'invalid_request',
        'actor_token is required with actor_token_type',
      ],
      [
        'authorization_details',
        { authorization_details: '[]' },
        'invalid_request',
        'authorization_details is not supported',
      ],
      [
        'an audience',
        { audience: 'orders' },
        'invalid_target',
        'audience is not supported: send resource instead',
        'target',
      ],
      [
        'the same resource twice',
        { resource: ['https://api.example.com', 'https://api.example.com'] },
        'invalid_target',
        UNKNOWN_TARGET,
        'target',
      ],
      ['a relative resource', { resource: '/orders' }, 'invalid_target', UNKNOWN_TARGET, 'target'],
      [
        'a resource with a fragment',
        { resource: 'https://api.example.com#orders' },
        'invalid_target',
        UNKNOWN_TARGET,
        'target',
      ],
      [
        '257 scopes',
        { scope: 'a '.repeat(257).trim() },
        'invalid_scope',
        'more than 256 scopes were requested',
        'scope',
      ],
    ]
  for (const [title, changes, error, description, check = 'request'] of refusals) {
    it(`are refused with ${title}`, () =>
      expect(refused(() => parse(changes))).to.deep.equal([error, description, check]))
  }

  it('may hold 256 scopes', () =>
    expect(parse({ scope: 'a '.repeat(256).trim() }).scopes).to.deep.equal(['a']))

  it('need an actor token where the deployment wants one', () => {
    expect(refused(() => parse({}, { requireActor: true }))).to.deep.equal([
      'invalid_request',
      'actor_token is required',
      'requireActor',
    ])
    expect(parse(ACTOR, { requireActor: true }).actorToken).to.equal('actor')
  })

  for (const [title, client] of [
    ['describes itself in a metadata document', { clientId: 'spa', clientIdMetadataDocument: true }],
    ['has an id that no record can hold', { clientId: 'x'.repeat(256) }],
  ] as const) {
    it(`are refused to a client that ${title}`, () =>
      expect(refused(() => parse({}, { client }))).to.deep.equal([
        'invalid_request',
        'requested grant type is not allowed for this client',
        'request',
      ]))
  }
})
