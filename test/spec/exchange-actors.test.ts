/** Who acts: values at the boundaries of docs/protocol.md §3.3. */
import { expect } from 'chai'
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose'
import type { ClientMetadata } from 'oidc-provider'
import { actorJwt, withActor } from '../../fixtures/actor-tokens.ts'
import { CERTIFICATE, machineClient, OTHER_CERTIFICATE, publicClient } from '../../fixtures/clients.ts'
import { now } from '../../fixtures/clock.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import type { Signing } from '../../fixtures/jwts.ts'
import { SIGNING_KEY, signingKey } from '../../fixtures/keys.ts'
import { postToken } from '../../fixtures/requests.ts'
import type { ActClaim } from '../../src/index.ts'
import { certificateThumbprint } from '../../src/provider/actor-token.ts'
import { afresh, borneAs, inSession, rewriteGrant, sends, token, tokenRefused } from './bearing.ts'
import { actedBy, actedByTwo, exchanged, made, type Of, type Sender, send } from './exchanging.ts'
import {
  invalidRequest,
  nothingToGrant,
  recordSays,
  refusedToken,
  spent,
  succeeds,
  tokenSays,
} from './expectations.ts'
import { issuedWith, on, passes, rewrite, stored } from './given.ts'
import { declareCells } from './matrix.ts'
import { PRESENTED, proven, theKey } from './proofs.ts'
import { type Named, type Rule, rowsOf, type Step, type Steps, texts, values } from './rule.ts'
import type { Scene } from './scene.ts'
import { pairwise, type SettingName } from './settings.ts'

type Claims = Readonly<Record<string, unknown>>

/** A row for each format of actor tokens. */
const inBothFormats = <Value>(
  title: string,
  named: Named<Value>,
  stepsFor: (value: Value, name: string) => Steps,
): Rule[] =>
  (['JWT', 'opaque'] as const).map((format) =>
    values(`${title}, ${format}`, named, (value, name) => [
      borneAs(`an actor token, ${format}`),
      stepsFor(value, name),
    ]),
  )

/** Bob's token as a JWT that says something else, or is signed by someone else. */
const forged =
  (claims: Of<Claims>, signing?: Signing): Step =>
  async (scene) =>
    void Object.assign(scene.kept, {
      token: await actorJwt(scene.setting, await made(claims, scene), signing),
    })
/** JWTs that are refused for one reason. */
const refusedJwts = (title: string, reason: string, all: Named<readonly [Of<Claims>, Signing?]>): Rule =>
  values(title, all, (given) => [forged(...given), sends(), tokenRefused(reason)])
const saying = (claims: Claims): readonly [Claims] => [claims]
const headed = (header: Claims): readonly [Claims, Signing] => [{}, { header }]

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const { d: _, ...publicPart } = SIGNING_KEY as typeof SIGNING_KEY & { d?: string }

/** A JWT of bob's whose text is changed. */
const respelled = (
  title: string,
  reason: string,
  all: Named<(jwt: string) => string | Promise<string>>,
): Rule =>
  values(title, all, (change) => [
    forged({}),
    async ({ kept }) => void Object.assign(kept, { token: await change(kept.token ?? '') }),
    sends(),
    tokenRefused(reason),
  ])

const WRONG_CLAIM = 'ERR_JWT_CLAIM_VALIDATION_FAILED'
const WRONG_SIGNATURE = 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED'
const NO_JWT = 'ERR_JWS_INVALID'

const forgeries = [
  refusedJwts('E60, no claim of ours', WRONG_CLAIM, {
    'without issuer': saying({ iss: undefined }),
    'without subject': saying({ sub: undefined }),
    'without client_id': saying({ client_id: undefined }),
    'whose expiry is a text': [() => ({ exp: `${now() + 600}` })],
    'without typ': headed({ typ: undefined }),
    'of typ logout+jwt': headed({ typ: 'logout+jwt' }),
    'of typ dpop+jwt': headed({ typ: 'dpop+jwt' }),
    'of typ token-introspection+jwt': headed({ typ: 'token-introspection+jwt' }),
  }),
  values('E58, of this second', { nbf: 'nbf' }, (claim) => [
    passes(0),
    forged(() => ({ [claim]: now() })),
    sends(),
    succeeds(),
    spent,
  ]),
  refusedJwts('E60, by another key', WRONG_SIGNATURE, {
    'without kid': [{}, { key: signingKey(), header: { kid: undefined } }],
  }),
  refusedJwts('E60, no text', 'claims of a wrong type', {
    'the subject': saying({ sub: ['bob'] }),
    'the client': saying({ client_id: ['spa'] }),
  }),
  values('E60, of a client that is called like an account', { bob: 'bob' }, (client_id) => {
    const client = machineClient({ client_id, scope: 'openid' })
    return [
      stored(client),
      async ({ setting, kept }) => {
        const request = { grant_type: 'client_credentials', resource: API, scope: 'openid' }
        const { body } = await postToken(setting, request, { client })
        expect(body.scope).to.equal('openid')
        Object.assign(kept, { token: body.access_token })
      },
      sends(),
      tokenRefused('a token of the client itself'),
    ]
  }),
  refusedJwts('E66, gone', 'its client is gone', { 'never registered': saying({ client_id: 'gone' }) }),
  refusedJwts('E65, none', 'without scope openid', {
    'without scope': saying({ scope: undefined }),
    'a list': saying({ scope: ['openid'] }),
  }),
  refusedJwts('E70, no audience', 'a malformed aud claim', {
    'a number': saying({ aud: 7 }),
    'one is no text': saying({ aud: ['https://a.example', {}] }),
  }),
  respelled('E60, the signature', WRONG_SIGNATURE, {
    'of other claims': (jwt) => {
      const [header, , signature] = jwt.split('.')
      return `${header}.${encode({ ...decodeJwt(jwt), sub: 'carol' })}.${signature}`
    },
  }),
  respelled('E60, the algorithm', 'ERR_JOSE_ALG_NOT_ALLOWED', {
    'our public key as JWK for HS256': (jwt) => signedByPublicKey(jwt, JSON.stringify(publicPart)),
    none: (jwt) => unsigned(jwt, 'none'),
    None: (jwt) => unsigned(jwt, 'None'),
  }),
  respelled('E60, a critical header', 'ERR_JOSE_NOT_SUPPORTED', {
    'that no one knows': (jwt) => {
      const header = encode({ ...decodeProtectedHeader(jwt), crit: ['x'], x: 1 })
      return jwt.replace(/^[^.]+/, header)
    },
  }),
  respelled('E60, another text', NO_JWT, {
    'without its signature': (jwt) => jwt.replace(/[^.]+$/, ''),
    'a line break behind it': (jwt) => `${jwt}\n`,
    'a space in its signature': (jwt) => jwt.replace(/.{3}$/, ' $&'),
  }),
  texts('E60, garbage with dots', ['..', 'a.b.c', 'a.b.c.d.e', '🎭.🎭.🎭', '.'.repeat(50_000)], (value) => [
    send(withActor(value)),
    invalidRequest('actor_token is invalid', NO_JWT),
  ]),
  texts('E59, garbage', ['x', ' ', '\0', 'a'.repeat(50_000)], (value) => [
    send(withActor(value)),
    invalidRequest('actor_token is invalid', 'unknown or expired'),
  ]),
]

function signedByPublicKey(jwt: string, secret: string): Promise<string> {
  const header = { alg: 'HS256', typ: 'at+jwt', kid: SIGNING_KEY.kid ?? '' }
  return new SignJWT(decodeJwt(jwt)).setProtectedHeader(header).sign(Buffer.from(secret))
}
const unsigned = (jwt: string, alg: string) =>
  `${encode({ alg, typ: 'at+jwt', kid: SIGNING_KEY.kid })}.${jwt.split('.')[1]}.AA`

const byKey = async () => ({ jkt: (await theKey()).thumbprint })
const byCertificate = () => ({ 'x5t#S256': certificateThumbprint(CERTIFICATE) ?? '' })
const byBoth = async () => ({ ...(await byKey()), ...byCertificate() })
const presents: Sender = { headers: PRESENTED }
const presentsAnother: Sender = {
  headers: { 'x-client-certificate': encodeURIComponent(OTHER_CERTIFICATE) },
}
const provesBoth = async (scene: Scene): Promise<Sender> => ({
  headers: { ...PRESENTED, ...(await proven(scene)).headers },
})
const NO_KEY = 'bound to a DPoP key that was not proven'
const NO_CERTIFICATE = 'bound to a client certificate that was not presented'
type Confirmation = Readonly<Record<string, string>>
type Binding = () => Confirmation | undefined | Promise<Confirmation>
type Proof = readonly [binding: Binding, proof: Of<Sender>]

const bound = [
  ...inBothFormats<readonly [...Proof, reason: string]>(
    'E68, not enough',
    {
      'of a key, by a certificate': [byKey, presents, NO_KEY],
      'of a certificate, by nothing': [byCertificate, {}, NO_CERTIFICATE],
      'of a certificate, by another': [byCertificate, presentsAnother, NO_CERTIFICATE],
      'of a certificate, by a key': [byCertificate, proven, NO_CERTIFICATE],
      'of both, by the key': [byBoth, proven, NO_CERTIFICATE],
      'of both, by the certificate': [byBoth, presents, NO_KEY],
    },
    ([binding, proof, reason]) => [
      token(async () => ({ cnf: await binding() })),
      sends({}, proof),
      tokenRefused(reason),
    ],
  ),
  // The client need not be bound to the certificate: what it gets is not.
  ...inBothFormats<readonly [...Proof, issued: () => unknown]>(
    'E68, enough',
    {
      'of a certificate, by it': [byCertificate, presents, () => undefined],
      'of both, by both': [byBoth, provesBoth, byKey],
      'of nothing, by both': [() => undefined, provesBoth, byKey],
    },
    ([binding, proof, issued]) => [
      token(async () => ({ cnf: await binding() })),
      sends({}, proof),
      tokenSays(async () => ({ act: { sub: 'bob' }, cnf: await issued() })),
      spent,
    ],
  ),
  values<Of<Claims>>(
    'E68, that cannot be read',
    {
      'another kind beside a key': async () => ({ ...(await byKey()), kid: 'x' }),
      'a key that is a number': () => ({ ...byCertificate(), jkt: 7 }),
      'a key that is null': () => ({ ...byCertificate(), jkt: null }),
      'a list of certificates': async () => ({
        ...(await byKey()),
        'x5t#S256': [byCertificate()['x5t#S256']],
      }),
      nothing: {},
      null: () => null as never,
      'a text': () => 'jkt' as never,
    },
    (cnf) => [
      forged(async (scene) => ({ cnf: await made(cnf, scene) })),
      sends({}, provesBoth),
      tokenRefused('bound to an unknown kind of key'),
    ],
  ),
  values<SettingName>(
    'E68, where no certificate can be presented',
    { 'mutual TLS is off': 'with mutual TLS that is switched off', 'no mutual TLS': 'without mutual TLS' },
    (setting) => [
      on(setting),
      forged({ cnf: byCertificate() }),
      sends({}, presents),
      tokenRefused(NO_CERTIFICATE),
    ],
  ),
]

/** `bob carol`: bob acts, for whom carol acted before. */
const chained = (chain: string): ActClaim => chainOf(chain.split(' '))
const chainOf = ([sub = '', ...earlier]: readonly string[]): ActClaim =>
  earlier.length === 0 ? { sub } : { sub, act: chainOf(earlier) }
/** The one event names this check, which the client does not learn. */
const checked =
  (check: string): Step =>
  ({ events }) =>
    expect(events[0]?.payload).to.include({ check })
const SUBJECT = ['actorIsNotSubject', 'the actor is the subject'] as const
const TWICE = ['actor_token', 'an actor twice in the chain'] as const
const TOO_MANY = 'maxDelegationDepth'

/** The token that the exchange returned is what someone acts with as `userId`. */
const actsAs = (userId: string): Steps => [
  (scene) => {
    const accessToken: string = scene.response.body.access_token
    Object.assign(scene, { subjectToken: '', id: '', issuing: { userId } })
    Object.assign(scene.kept, { accessToken })
  },
  send(({ kept }) => withActor(kept.accessToken ?? '')),
]
/** Bob acts as alice, by a token that may act. */
const delegated = (resource: string, client: ClientMetadata): Step =>
  exchanged(async (scene) => ({ resource, scope: 'openid', ...(await actedBy()(scene)) }), { client })
const ALICE_BY_BOB = { act: chained('alice bob') }
const UNMAPPED = 'of a client with pairwise subjects, which cannot be mapped to accounts'
const fickle = publicClient({ client_id: 'fickle', subject_type: 'pairwise' })

const chains = [
  ...inBothFormats<readonly [check: string, reason: string, setting?: SettingName]>(
    'E69, may not act',
    {
      alice: SUBJECT,
      'bob alice': SUBJECT,
      'bob carol alice': SUBJECT,
      'bob bob': TWICE,
      'bob carol bob': TWICE,
      'bob carol carol': TWICE,
      'bob carol dave erin': [TOO_MANY, 'more than 3 in the chain'],
      'bob carol': [TOO_MANY, 'more than 1 in the chain', 'one person deep'],
    },
    ([check, reason, setting = 'usual'], chain) => [
      on(setting),
      token(chained(chain)),
      sends(),
      checked(check),
      tokenRefused(reason),
    ],
  ),
  ...inBothFormats<SettingName>(
    'E69, may act',
    { bob: 'one person deep', 'bob carol dave': 'usual', Alice: 'usual', 'bob Bob': 'usual' },
    (setting, chain) => [
      on(setting),
      token(chained(chain)),
      sends(),
      tokenSays({ act: chained(chain) }),
      spent,
    ],
  ),
  ...inBothFormats<unknown>(
    'E60, a malformed act',
    {
      'a text': 'carol',
      null: null,
      'a list': [{ sub: 'carol' }],
      empty: {},
      'without sub': { client_id: 'spa' },
      'a sub that is no text': { sub: 7 },
      'more than identity': { sub: 'carol', exp: 1 },
      'malformed further in': { sub: 'carol', act: { sub: 7 } },
      'null further in': { sub: 'carol', act: null },
    },
    (act) => [token({ act }), sends(), tokenRefused('a malformed act claim')],
  ),
  ...inBothFormats('E70, once more', { 'for another user': 'dave' }, (userId) => [
    token(),
    sends(),
    afresh,
    issuedWith({ userId }),
    sends(),
    tokenSays({ sub: userId, act: { sub: 'bob' } }),
    spent,
  ]),
  values<Step>(
    'E59, its Grant',
    {
      'which it does not have': ({ setting, kept }) =>
        rewrite(setting, kept.token ?? '', { grantId: undefined }),
      'a second before it expires': rewriteGrant(() => ({ exp: now() + 1 })),
    },
    (step) => [passes(0), borneAs('an actor token, opaque'), token(), step, sends(), succeeds(), spent],
  ),
  values('E59, someone else has signed in to its session', { dave: 'dave' }, (accountId) => [
    borneAs('an actor token, opaque'),
    token(),
    inSession,
    async ({ setting, kept }) => {
      const session = await setting.provider.Session.findByUid(kept.session ?? '')
      await Object.assign(session ?? expect.fail(), { accountId }).save(600)
    },
    sends(),
    tokenRefused('unknown or expired'),
  ]),
  rowsOf(['a JWT', 'an opaque token', 'an opaque token, which has become public'])(
    'E66, of an exchange by a pairwise client',
    {
      'a JWT': [
        delegated(API, pairwise),
        actsAs('carol'),
        invalidRequest('actor_token is invalid', UNMAPPED),
      ],
      'an opaque token': [delegated(OPAQUE_API, pairwise), actsAs('carol'), tokenSays(ALICE_BY_BOB), spent],
      'an opaque token, which has become public': [
        stored(fickle),
        delegated(OPAQUE_API, fickle),
        stored({ ...fickle, subject_type: 'public' }),
        actsAs('carol'),
        tokenSays(ALICE_BY_BOB),
        recordSays({ actor: { ...ALICE_BY_BOB.act, clientId: 'fickle' } }),
      ],
    },
  ),
  values('T10, pairwise, several', { 'a JWT': API, 'an opaque token': OPAQUE_API }, (resource) => [
    send(async (scene) => ({ resource, ...(await actedByTwo(scene)) }), { client: pairwise }),
    tokenSays({ sub: 'alice@pairwise', act: chained('bob@pairwise carol@pairwise') }),
    recordSays({ userId: 'alice', actor: { ...chained('bob carol'), clientId: 'spa' } }),
  ]),
  values('E21, the newest is whom it is for', { bob: true, carol: false }, (isNewest, actorId) => [
    issuedWith({ actorId }),
    send(actedByTwo),
    isNewest ? [tokenSays({ act: chained('bob carol') }), spent] : refusedToken('bound to another actor'),
  ]),
  ...[API, OPAQUE_API].map((resource) =>
    values<readonly [ceiling: string | undefined, asked: string | null, granted?: string | null]>(
      `E76, no one acts by a token for ${resource}`,
      {
        'openid alone': [undefined, 'openid', null],
        'and more': [undefined, 'openid orders:read', 'orders:read'],
        'under a ceiling that names it': ['openid', 'openid', null],
        'and more, under a ceiling': ['openid orders:read', 'orders:read openid openid', 'orders:read'],
        'and offline_access': [undefined, 'openid offline_access orders:read', 'orders:read'],
        nothing: [undefined, null],
      },
      ([scope, asked, granted]) => [
        issuedWith({ scope }),
        send({ resource, scope: asked, actor_token: '', actor_token_type: '' }),
        granted === null
          ? nothingToGrant
          : [
              succeeds({ scope: granted }),
              actsAs('dave'),
              invalidRequest('actor_token is invalid', 'without scope openid'),
            ],
      ],
    ),
  ),
]

declareCells('E, who acts', [...chains, ...bound, ...forgeries])
