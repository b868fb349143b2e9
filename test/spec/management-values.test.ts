/** The values that the management API takes and refuses, just within and just beyond each boundary (docs/protocol.md §2). */
import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { decodeJwt, SignJWT } from 'jose'
import type { JWK } from 'oidc-provider'
import { actorToken } from '../../fixtures/actor-tokens.ts'
import { machineClient } from '../../fixtures/clients.ts'
import { now } from '../../fixtures/clock.ts'
import { API, OPAQUE_API, withDeployment } from '../../fixtures/deployment.ts'
import { dpopKey } from '../../fixtures/dpop.ts'
import { send as sendHttp } from '../../fixtures/http.ts'
import { SIGNING_KEY, signingKey } from '../../fixtures/keys.ts'
import { rawRequest } from '../../fixtures/raw-request.ts'
import {
  exchange,
  idFrom,
  issue,
  keptToken,
  managementToken,
  postToken,
  requestManagementToken,
} from '../../fixtures/requests.ts'
import { hashToken, type SubjectTokenText } from '../../src/tokens/secret.ts'
import { exchanged } from './exchanging.ts'
import {
  answers,
  because,
  changesNothing,
  recordSays,
  refused,
  succeeds,
  wrongInput,
} from './expectations.ts'
import { on, passes, stored } from './given.ts'
import { active } from './management-issue.ts'
import { forged } from './management-routes.ts'
import { asks, isIssued, issues, manages, requests as requestOf } from './managing.ts'
import { declareCells } from './matrix.ts'
import {
  answer,
  type Named,
  type Rule,
  record,
  rowsOf,
  type Step,
  type Steps,
  texts,
  values,
} from './rule.ts'
import type { Scene } from './scene.ts'
import { type ParserName, SCOPES_ALIKE, settingOf } from './settings.ts'

const takes = (title: string, field: string, taken: Named<unknown>): Rule =>
  values(title, taken, (value) => [issues({ [field]: value }), active({ [field]: value })])
const refuses = (title: string, field: string, text: string, not: Named<unknown>): Rule =>
  values(title, not, (value) => [issues({ [field]: value }), wrongInput(`${field} ${text}`)])

const NAME = 'must be a string of 1 to 255 characters'
const CONTEXT = 'must be a JSON object of at most 8192 bytes and 16 levels'
const URI = 'must be an absolute URI without fragment, or a list of 1 to 8 different ones'
const LIFE = 'must be whole seconds from 1 to 3600'
const url = (length: number) => 'https://api.example.com/'.padEnd(length, 'a')
const nested = (levels: number): object => (levels === 1 ? {} : { a: nested(levels - 1) })
/** A list in lists, so many levels below the context. */
const lists = (levels: number): unknown => (levels === 0 ? 1 : [lists(levels - 1)])

const fields = [
  ...['userId', 'clientId', 'actorId', 'scope'].map((field) =>
    refuses(`M22, ${field}`, field, NAME, {
      'with half a character first': '\udc00a',
      'a boolean': true,
      'a list': ['alice'],
      'an object': { id: 'alice' },
    }),
  ),
  takes('M22, of any characters', 'actorId', { 'one character': 'b', 'spaces and quotes': ` '";-- ` }),
  takes('M23, taken', 'context', {
    empty: {},
    '8 KiB of two-byte characters': { a: 'é'.repeat((8192 - 8) / 2) },
    '16 levels, lists among them': { a: lists(15) },
    'names of this API': { userId: 'x', scope: 1 },
  }),
  refuses('M23, refused', 'context', CONTEXT, {
    'a number': 1,
    'more than 8 KiB of two-byte characters': { a: 'é'.repeat((8192 - 8) / 2 + 1) },
    '17 levels, lists among them': { a: lists(16) },
    '2,000 levels': nested(2000),
    'NUL in a key': { 'x\0': 1 },
    'NUL further in': { a: [{ b: ['\0'] }] },
    'NUL in a key further in': { a: [{ 'b\0': 1 }] },
    'half a character in a value': { a: '\ud800' },
  }),
  takes('M19, taken', 'resource', {
    'of 255 characters': url(255),
    'a URN': 'urn:example:orders',
    'an address': 'https://[::1]/',
    'with a query': `${API}/?tenant=1`,
    'a list of one': [API],
    'a list of the longest': [url(255), url(254)],
  }),
  refuses('M19, refused', 'resource', URI, {
    'without scheme': 'api.example.com',
    'with an empty fragment': `${API}#`,
    'with a space': `${API}/a b`,
    'with a space before it': ` ${API}`,
    'with a line feed': `${API}\n`,
    'beyond ASCII': 'https://bücher.example.com',
    'two URIs': `${API} https://other.example.com`,
    'a list with a fragment': [`${API}#orders`],
    'a list in a list': [[API]],
    'a list with null': [API, null],
    'a boolean': true,
    'an object': { uri: API },
  }),
  takes('M20, taken', 'scope', { 'one name': 'a', 'in their order': 'orders:write orders:read' }),
  texts('M20, once each', ['orders:read orders:read', 'orders:read orders:read orders:read'], (scope) => [
    issues({ scope }),
    active({ scope: 'orders:read' }),
  ]),
  refuses('M20, refused', 'scope', 'must hold scope names', {
    'one space': ' ',
    'a space before it': ' a',
    'a space after it': 'a ',
    'a tab': 'a\tb',
    'a backslash': 'a\\b',
    'beyond ASCII': 'ä',
  }),
  refuses('M21, refused', 'expiresIn', LIFE, {
    negative: -1,
    true: true,
    'a list': [600],
    'beyond every number': 1e308,
  }),
  values('M21 M31, taken', { one: 1, most: 3600 }, (expiresIn) => [
    passes(0),
    issues({ expiresIn }),
    succeeds({ expiresIn }, 201),
    active(),
  ]),
  values(
    'M21, infinite',
    {
      expiresIn: ['"expiresIn":1e999', `expiresIn ${LIFE}`],
      context: ['"context":{"a":1e999}', `context ${CONTEXT}`],
    } as const,
    ([member, text]) => [posts(`{"userId":"alice",${member}}`), wrongInput(text)],
  ),
  texts('M26, a name', ['userid', 'expires_in', 'constructor', 'toString', 'subject'], (name) => [
    posts(`{"userId":"alice","${name}":null}`),
    wrongInput(`unknown member: ${name}`),
  ]),
  texts('M26, from a prototype', ['{"__proto__":{"userId":"alice"}}'], (body) => [
    posts(body),
    wrongInput('unknown member: __proto__'),
  ]),
  texts(
    'M146, not repeated',
    ['<script>alert(1)</script>', 'x'.repeat(10_000), `sub_${'a'.repeat(43)}`],
    (name) => [issues({ [name]: 1 }), wrongInput('unknown member')],
  ),
]

/** A body as it is written. */
function posts(body: string | Blob, headers: Named<string> = {}): Step {
  return asks('POST /subject-tokens', { body, headers })
}
const VALID = '{"userId":"alice"}'
const padded = (bytes: number) => VALID.padEnd(bytes, ' ')
const LIMIT = 64 * 1024
const tooLarge = refused(413, 'invalid_request', 'the body must not exceed 65536 bytes', null)
const NO_JSON = 'the body must be JSON'
const NO_OBJECT = 'the body must be a JSON object'
const bytes = (text: string, encoding: BufferEncoding) => new Blob([Buffer.from(text, encoding)])
/** Without a length. */
const chunked =
  (text: string): Step =>
  async (scene) => {
    const token = await keptToken(scene.setting)
    const response = await scene.request(() =>
      sendHttp(scene.setting.subjectTokens, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: new Blob([text]).stream(),
        duplex: 'half',
      } as RequestInit),
    )
    if (response.status === 201) scene.id = idFrom(response)
  }
const isTaken: Steps = [succeeds({}, 201), active()]
const parsedBy = (parser: ParserName, body: string): Step => posts(body, { 'x-host-parses': parser })

const body = [
  texts(
    'M138, taken',
    [
      'application/json',
      'Application/JSON',
      'application/json ;charset=utf-8',
      'application/json; charset="UTF-8"',
    ],
    (type) => [posts(VALID, { 'content-type': type }), isTaken],
  ),
  texts(
    'M138, a media type',
    [
      ...[
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        'application/jsonp',
        'text/json',
      ],
      ...['application/vnd.api+json', 'application/json-patch+json', 'application/json, text/plain', '*/*'],
    ],
    (type) => [
      posts(VALID, { 'content-type': type }),
      refused(415, 'invalid_request', 'the body must be application/json', null),
    ],
  ),
  texts('M138, a charset', ['utf-16', 'iso-8859-1', 'utf-7'], (charset) => [
    posts(VALID, { 'content-type': `application/json; charset=${charset}` }),
    refused(415, 'invalid_request', 'the body must be UTF-8', null),
  ]),
  texts('M138, an encoding', ['gzip', 'deflate', 'br', 'x-unknown'], (encoding) => [
    posts(VALID, { 'content-encoding': encoding }),
    refused(415, 'invalid_request', 'the body must not be encoded', null),
  ]),
  values('M137, the size', { 'with a length': posts, chunked }, (sent) => [sent(padded(LIMIT)), isTaken]),
  values('M137, one byte more', { 'with a length': posts, chunked }, (sent) => [
    sent(padded(LIMIT + 1)),
    tooLarge,
  ]),
  values(
    'M134, not JSON',
    {
      nothing: '',
      spaces: '   ',
      'cut short': '{"userId":"alice"',
      'an extra comma': '{"userId":"alice",}',
      'single quotes': "{'userId':'alice'}",
      'something after it': `${VALID} x`,
      'two objects': VALID + VALID,
      'a comment': `${VALID}//`,
      NaN: '{"userId":"alice","expiresIn":NaN}',
      'invalid UTF-8': bytes('{"userId":"al\xffice"}', 'latin1'),
      'overlong UTF-8': bytes('{"userId":"\xc0\xaf"}', 'latin1'),
      'a surrogate in UTF-8': bytes('{"userId":"\xed\xa0\x80"}', 'latin1'),
      'UTF-16': bytes(VALID, 'utf16le'),
      'a form': 'userId=alice',
      '50,000 brackets': '['.repeat(50_000),
    },
    (sent) => [posts(sent), wrongInput(NO_JSON)],
  ),
  texts('M134, no object', [`[${VALID}]`, 'null', '"alice"', '7', 'true'], (sent) => [
    posts(sent),
    wrongInput(NO_OBJECT),
  ]),
  values('M134, 20,000 levels', { deep: `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}` }, (sent) => [
    posts(sent),
    wrongInput('unknown member: a'),
  ]),
  values('M134, a member twice', { last: '{"userId":"no-one","userId":"bob"}' }, (sent) => [
    posts(sent),
    active({ userId: 'bob' }),
  ]),
  values(
    'M27, taken',
    { 'as text': 'alice', 'as bytes': 'alice', 'from elsewhere': 'carol' } as const,
    (userId, by) => [parsedBy(by as ParserName, VALID), active({ userId })],
  ),
  values(
    'M27, left by the host',
    {
      nothing: 'the body could not be read',
      null: 'the body could not be read',
      'an empty text': NO_JSON,
      'a broken text': NO_JSON,
      'a list': NO_OBJECT,
      'a number': NO_OBJECT,
      'a function': NO_OBJECT,
    },
    (text, by) => [parsedBy(by as ParserName, VALID), wrongInput(text)],
  ),
  ...(['as text', 'as bytes'] as const).map((by) =>
    values(
      `M27, the size ${by}`,
      {
        most: padded(LIMIT),
        'one byte more': padded(LIMIT + 1),
        'of two-byte characters': VALID.replace('alice', 'é'.repeat(LIMIT / 2)),
      },
      (sent, name) => [parsedBy(by, sent), name === 'most' ? isTaken : tooLarge],
    ),
  ),
  ...(['koa', 'express', 'as text', 'as bytes'] as const).map((by) =>
    values(`M27, deeper than JSON.stringify goes, ${by}`, { context: '[' }, () => [
      parsedBy(by, `{"userId":"alice","context":{"a":${'['.repeat(15_000)}${']'.repeat(15_000)}}}`),
      wrongInput(by.startsWith('as') ? `context ${CONTEXT}` : NO_JSON),
    ]),
  ),
]

const invalidToken: Steps = [
  answers(401, 'invalid_token', 'the access token is invalid'),
  because(null),
  changesNothing,
]
const bearing = (authorization: (scene: Scene) => string | Promise<string>): Step =>
  asks('POST /subject-tokens', async (scene) => ({
    token: null,
    headers: { authorization: await authorization(scene) },
  }))
const aToken = async (scene: Scene) => (await forged(() => ({}))(scene)).token
const publicPart = ({ d: _, ...jwk }: JWK & { d?: string }) => jwk
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

const callers = [
  texts('M132, the scheme', ['bearer', 'BEARER', 'Bearer '], (scheme) => [
    bearing(async (scene) => `${scheme} ${await aToken(scene)}`),
    isTaken,
  ]),
  values<(token: string) => string>(
    'M132, the header',
    {
      'the scheme alone': () => 'Bearer',
      'the token alone': (token) => token,
      'two tokens': (token) => `Bearer ${token} ${token}`,
      'two tokens and a comma': (token) => `Bearer ${token}, Bearer ${token}`,
      'in quotes': (token) => `Bearer "${token}"`,
      'another scheme': (token) => `DPoP ${token}`,
      Basic: () => `Basic ${Buffer.from('backend:backend-secret').toString('base64')}`,
      'a longer scheme': (token) => `BearerX ${token}`,
      'no space': (token) => `Bearer${token}`,
      'beyond token68': () => 'Bearer %%%',
      dots: () => 'Bearer ..',
      'of 8,000 characters': () => `Bearer ${'a'.repeat(8000)}`,
    },
    (header) => [bearing(async (scene) => header(await aToken(scene))), invalidToken],
  ),
  values('M131, elsewhere', { 'in the body': 'body' }, () => [
    asks('POST /subject-tokens', async (scene) => ({
      token: null,
      body: { userId: 'alice', access_token: await aToken(scene) },
    })),
    answers(401, 'invalid_token', 'an access token is required'),
    changesNothing,
  ]),
  values<(token: string) => string | Promise<string>>(
    'M111, the signature',
    {
      changed: (token) => token.replace(/.{8}$/, 'AAAAAAAA'),
      none: (token) => token.replace(/[^.]+$/, ''),
      'alg none': (token) => `${encode({ alg: 'none', typ: 'at+jwt' })}.${encode(decodeJwt(token))}.`,
      'HS256 by our public key': (token) => {
        const jwk = publicPart(SIGNING_KEY)
        const header = { alg: 'HS256', kid: jwk.kid ?? '', typ: 'at+jwt' }
        return new SignJWT(decodeJwt(token)).setProtectedHeader(header).sign(Buffer.from(JSON.stringify(jwk)))
      },
    },
    (change) => [bearing(async (scene) => `Bearer ${await change(await aToken(scene))}`), invalidToken],
  ),
  values<Step>(
    'M111, forged',
    Object.fromEntries(
      Object.entries<Parameters<typeof forged>>({
        'a key in its header': [() => ({}), { key: signingKey(), header: { jwk: publicPart(signingKey()) } }],
        'without typ': [() => ({}), { header: { typ: undefined } }],
        'of typ dpop+jwt': [() => ({}), { header: { typ: 'dpop+jwt' } }],
        'without issuer': [() => ({ iss: undefined })],
        'the issuer and a slash': [({ setting }) => ({ iss: `${setting.issuer}/` })],
        'without audience': [() => ({ aud: undefined })],
        'an audience below ours': [({ setting }) => ({ aud: setting.subjectTokens })],
        'without expiry': [() => ({ exp: undefined })],
        'from the future': [() => ({ nbf: Math.floor(Date.now() / 1000) + 60 })],
        'without subject': [() => ({ sub: undefined })],
        'without client_id': [() => ({ client_id: undefined })],
        'of __proto__': [() => ({ sub: '__proto__', client_id: '__proto__' })],
        'by a certificate': [() => ({ cnf: { 'x5t#S256': 'x' } })],
        'an empty confirmation': [() => ({ cnf: {} })],
        'a null confirmation': [() => ({ cnf: null })],
      }).map(([name, given]) => [name, asks('POST /subject-tokens', forged(...given))]),
    ),
    (step) => [step, invalidToken],
  ),
  values<(scene: Scene) => Promise<string>>(
    'M111, another token',
    {
      'of a user for another resource': ({ setting }) =>
        actorToken(setting, { format: 'jwt', scope: 'openid' }),
      'of a user, opaque': ({ setting }) => actorToken(setting),
      'an impersonation token': async ({ setting }) => {
        const { subjectToken } = await issue(setting)
        return (await exchange(setting, { subject_token: subjectToken })).body.access_token
      },
      'a subject token': async ({ setting }) => (await issue(setting)).subjectToken,
      'of another deployment, with the same key': async () =>
        managementToken(await settingOf('of another issuer')),
    },
    (tokenOf) => [
      async (scene) => void Object.assign(scene.kept, { other: await tokenOf(scene) }),
      // The second time, it is known.
      [1, 2].map(() => [bearing(({ kept }) => `Bearer ${kept.other}`), invalidToken]),
    ],
  ),
  values(
    'M114, a token for DPoP',
    { bound: machineClient({ client_id: 'dpop', dpop_bound_access_tokens: true }) },
    (client) => [
      stored(client),
      async ({ setting, kept }) => {
        const parameters = {
          grant_type: 'client_credentials',
          resource: `${setting.baseUrl}/api`,
          scope: 'subject-tokens:create',
        }
        const proof = await (await dpopKey()).proof(setting)
        kept.other = (
          await postToken(setting, parameters, { client, headers: { dpop: proof } })
        ).body.access_token
      },
      bearing(({ kept }) => `Bearer ${kept.other}`),
      invalidToken,
    ],
  ),
  values<unknown>(
    'M133, a scope alike',
    {
      longer: 'subject-tokens:create2',
      shorter: 'subject-tokens',
      'in capitals': 'SUBJECT-TOKENS:CREATE',
      'a list': ['subject-tokens:create'],
    },
    (scope) => [
      asks(
        'POST /subject-tokens',
        forged(() => ({ scope })),
      ),
      answers(403, 'insufficient_scope'),
      because(null),
      changesNothing,
    ],
  ),
  values(
    'M118, a scope alike',
    { named: machineClient({ client_id: 'alike', scope: SCOPES_ALIKE.join(' ') }) },
    (client) => [
      on('with scopes alike'),
      stored(client),
      (scene) =>
        scene.request(() =>
          requestManagementToken(scene.setting, { client, scope: 'subject-tokens:create' }),
        ),
      answer(({ response }) => expect(response.body.error).to.equal('invalid_scope')),
      asks(
        'POST /subject-tokens',
        forged(() => ({ sub: 'alike', client_id: 'alike' })),
      ),
      answers(403, 'insufficient_scope'),
      because(null),
      changesNothing,
    ],
  ),
]

const asksFor = (resourceOf: (setting: Scene['setting']) => string): Steps => [
  requestOf(({ setting }) => {
    const parameters = { grant_type: 'client_credentials', resource: resourceOf(setting) }
    return postToken(setting, parameters, { client: machineClient() })
  }),
  answers(400, 'invalid_target'),
  changesNothing,
]
const resources = [
  values<(setting: Scene['setting']) => string>(
    'M116, another name',
    {
      'below the issuer': ({ issuer }) => `${issuer}/api`,
      'with a slash': ({ baseUrl }) => `${baseUrl}/api/`,
      'without the path': ({ baseUrl }) => baseUrl,
    },
    asksFor,
  ),
  values('M116, the option managementResource', { 'not the one by default': '/api' }, (path) => [
    on('with a resource of its own'),
    asksFor(({ baseUrl }) => baseUrl + path),
  ]),
  values(
    'M112, the resource by default',
    {
      'https://id.example.com': 'https://id.example.com/api',
      'https://id.example.com/': 'https://id.example.com/api',
      'https://id.example.com/oidc/': 'https://id.example.com/api',
      'https://example.com/auth': 'https://example.com/auth/api',
      'https://oidc.example.com/oidc': 'https://oidc.example.com/api',
      'https://example.com/oidc/tenant': 'https://example.com/oidc/tenant/api',
    },
    (resource, issuer) => [
      answer(
        record(() =>
          withDeployment({ issuer }, async (other) => {
            await issue(other, {}, await managementToken(other, { resource }))
          }),
        ),
      ),
    ],
  ),
]

const ID = '0'.repeat(32)
const queries = (title: string, text: string, all: readonly string[], method = 'GET'): Rule =>
  texts(title, all, (query) => [
    isIssued,
    (scene) => manages(scene, { method, path: `?${query}` }),
    wrongInput(text),
  ])
const malformed = (name: string, text: string, all: readonly string[]): Rule =>
  queries(
    `M47, ${name}`,
    `${name} ${text}`,
    all.map((value) => `${name}=${value}`),
  )
const TIMES = ['-1', '1.5', '01', '1e9', '+1', '1000000000000', '2026-11-21']
const LIMITS = ['0', '101', '01', '-1', '1.0', '1e1', '0x10', 'x10', '1000', '010', '+1', '%D9%A1', '1;DROP']

const requests = [
  ...['userId', 'actorId', 'clientId', 'createdBy', 'jti', 'ticketId'].map((name) =>
    malformed(name, NAME, ['%00', 'a'.repeat(256), '%F0%9F%8E%AB'.repeat(256)]),
  ),
  malformed('state', 'must be one of active, expired, consumed, revoked', [
    'Active',
    'used',
    'active%20',
    'toString',
  ]),
  malformed('limit', 'must be a whole number from 1 to 100', LIMITS),
  malformed('cursor', 'must be the id of a subject token', [
    'x',
    ID.slice(1),
    `${ID}0`,
    'F'.repeat(32),
    `${ID}%0A`,
  ]),
  malformed('unacknowledged', 'must be true', ['1', 'false']),
  ...['live', 'replayed', 'withoutActor', 'readOnly'].map((name) =>
    malformed(name, 'must be true or false', ['TRUE', '1', 'yes', 'true%20']),
  ),
  ...['createdAfter', 'createdBefore'].map((name) =>
    malformed(name, 'must be whole seconds since the epoch', TIMES),
  ),
  queries('M47, without its name', 'unknown parameter', ['userId[]=alice', '=alice', '%3Cscript%3E=1']),
  texts('M47, another', ['userid', 'user_id', '__proto__', 'constructor', 'access_token'], (name) => [
    (scene) => manages(scene, { method: 'GET', path: `?${name}=1` }),
    wrongInput(`unknown parameter: ${name}`),
  ]),
  queries('M47, repeated after a blank one', 'userId must not be repeated', ['userId=&userId=alice']),
  queries('M47, the encoding', 'the query is malformed', [
    ...['userId=%', 'userId=%ZZ', 'userId=%E0%A4%A', 'userId=%C3%28', 'userId=%ED%A0%80', '%FF=1'],
  ]),
  texts(
    'M47, taken',
    ['', '&', '&&', 'createdAfter=0', 'createdBefore=999999999999', 'limit=100'],
    (query) => [
      isIssued,
      (scene) => manages(scene, { method: 'GET', path: `?${query}` }),
      succeeds(),
      changesNothing,
    ],
  ),
  values('M34, any character', { 'every one that a URL encodes': 'a b+c&d=e%/?#[]ü🎫"\\' }, (actorId) => [
    issues({ actorId }),
    (scene) => manages(scene, { method: 'GET', path: `?${new URLSearchParams({ actorId })}` }),
    answer(({ response, id }) =>
      expect(response.body.items.map((item: { id: string }) => item.id)).to.deep.equal([id]),
    ),
    changesNothing,
  ]),
  ...Object.entries({
    'userId, actorId or createdBy is required': [''],
    'actorId must not come with userId': [
      'actorId=b&userId=a',
      'userId=&actorId=b',
      'createdBy=c&actorId=b&userId=a',
    ],
    'createdBy must not come with userId': ['userId=a&createdBy=c'],
    'createdBy must not come with actorId': ['createdBy=c&actorId=b'],
    'createdBy must not be repeated': ['createdBy=a&createdBy=b'],
    'userId must not be repeated': ['userId=&userId=b'],
    [`userId ${NAME}`]: ['userId=', 'userId=%00'],
    [`actorId ${NAME}`]: ['actorId='],
    [`createdBy ${NAME}`]: ['createdBy='],
    'unknown parameter: clientId': ['userId=a&clientId=spa'],
    'unknown parameter: state': ['userId=a&state=active'],
    'unknown parameter: limit': ['userId=a&limit=1'],
    'the query is malformed': ['userId=%E0%A4%A'],
  }).map(([text, all]) => queries(`M101, ${text}`, text, all, 'DELETE')),
  texts(
    'M140, an id',
    [
      ...[ID.slice(1), `${ID}0`, 'F'.repeat(32), `sub_${'A'.repeat(43)}`, '%00', '%0A', '%2F', '..%2F..'],
      ...["'%20OR%201=1", '%F0%9F%8E%AB', '%E0%A4%A', '%', '%ZZ', '%C3%28', 'a'.repeat(4000)],
    ],
    (id) =>
      ['GET', 'DELETE'].map((method) => [
        (scene: Scene) => manages(scene, { method, path: `/${id}` }),
        answers(404, 'not_found', 'subject token not found'),
        ({ response }: Scene) => expect(response.headers.get('www-authenticate')).to.equal(null),
        changesNothing,
      ]),
  ),
  values<(token: string) => string>(
    'M140, the token itself',
    {
      token: (token) => token,
      'its hash': (token) => hashToken(token as SubjectTokenText),
      'its hash in hex': (token) => createHash('sha256').update(token).digest('hex'),
    },
    (idOf) => [
      isIssued,
      (scene) => manages(scene, { method: 'GET', path: `/${idOf(scene.subjectToken)}` }),
      answers(404, 'not_found'),
      changesNothing,
    ],
  ),
  values('M142, another method', { PROPFIND: 'PROPFIND' }, (method) => [
    isIssued,
    (scene) => manages(scene, { method, path: '' }),
    answers(405, 'invalid_request', 'method not allowed'),
    changesNothing,
  ]),
]

/** Written byte by byte, which `fetch` would not do. */
const rawly =
  (path: string, host: string | null = 'localhost'): Step =>
  async (scene) => {
    const { setting, kept } = scene
    const head = [
      `GET ${path} HTTP/1.${host === null ? '0' : '1'}`,
      ...(host === null ? [] : [`Host: ${host}`]),
      `Authorization: Bearer ${await keptToken(setting)}`,
    ]
    setting.errors.splice(0)
    await scene.request(async () => {
      kept.raw = await rawRequest(setting.baseUrl, head)
      return {
        status: Number(kept.raw.slice(9, 12)),
        headers: new Headers(),
        text: kept.raw,
        body: undefined,
      }
    })
  }
const isAnswered: Step = answer(({ response, setting }) => {
  expect(response.status, response.text).to.be.within(200, 499)
  expect(response.text).not.to.match(/evil|script>/)
  expect(setting.errors).to.deep.equal([])
})

const raw = [
  texts(
    'M32, a Host',
    ['evil.example.com', '', '[', 'a b', '"><script>', '127.0.0.1:99999', 'evil\u00ff', 'none'],
    (host) => [
      isIssued,
      ['', '/{id}', '?x=%ZZ'].map((path) => [
        (scene: Scene) =>
          rawly(`/api/subject-tokens${path.replace('{id}', scene.id)}`, host === 'none' ? null : host)(scene),
        isAnswered,
      ]),
      changesNothing,
    ],
  ),
  texts(
    'M8, a path',
    [
      ...[
        '/api/subject-tokens/%',
        '/api/subject-tokens/%E0%A4%A',
        '/api/subject-tokens/\u00ff',
        '/api/subject-tokens?userId=\u00ff',
      ],
      ...[
        '/api/subject-tokens?%',
        'http://other.example.com/api/subject-tokens?%',
        '/api/subject-tokens/..',
        '/api/%',
        '//api/subject-tokens',
      ],
    ],
    (path) => [rawly(path), isAnswered, changesNothing],
  ),
]

/** So many requests at the same time, of which one does it and tells. */
const atOnce = (
  count: number,
  pathOf: (scene: Scene) => string,
  counts: (bodies: readonly { revoked: number }[]) => void,
): Steps => [
  isIssued,
  async (scene) => {
    const { setting } = scene
    const headers = { authorization: `Bearer ${await keptToken(setting)}` }
    await scene.request(async () => {
      const one = () => sendHttp(`${setting.subjectTokens}${pathOf(scene)}`, { method: 'DELETE', headers })
      const all = await Promise.all(Array.from({ length: count }, one))
      counts(all.map(({ body }) => body))
      return all[0] ?? expect.fail()
    })
  },
  answer(({ events }) => expect(events.map(({ name }) => name)).to.deep.equal(['subject_token.revoked'])),
  recordSays({ state: 'revoked' }),
]

/** What the deployment says of the life of a token. */
const lives = [
  values('M21, by default', { absent: {}, most: { expiresIn: 40 } }, (body, name) => [
    on('with short lives'),
    issues(body),
    succeeds({ expiresIn: name === 'most' ? 40 : 30 }, 201),
    active(),
  ]),
  values('M21, the most of the deployment', { 'one more': 41 }, (expiresIn) => [
    on('with short lives'),
    issues({ expiresIn }),
    wrongInput('expiresIn must be whole seconds from 1 to 40'),
  ]),
  values('M30, twenty', { different: 20 }, (count) => [
    async ({ setting, kept }) => {
      const ids: string[] = []
      for (let index = 0; index < count; index += 1) ids.push((await issue(setting)).id)
      kept.ids = ids.join()
    },
    issues(),
    answer(({ kept }) => {
      const ids = kept.ids?.split(',')
      expect(ids).to.deep.equal([...new Set(ids)].sort())
    }),
    active(),
  ]),
  values('M96, nothing is left of it', { 'an opaque token': OPAQUE_API }, (resource) => [
    isIssued,
    exchanged({ resource }),
    asks('DELETE /subject-tokens/{id}'),
    answer(async ({ setting, kept }) => {
      expect(await setting.provider.AccessToken.find(kept.accessToken ?? '')).to.equal(undefined)
    }),
    recordSays({ state: 'revoked' }),
  ]),
]

const together = [
  rowsOf(['one', 'all of a user'])('M98, at the same time', {
    one: atOnce(
      10,
      ({ id }) => `/${id}`,
      (bodies) => expect(new Set(bodies).size).to.equal(1),
    ),
    'all of a user': atOnce(
      5,
      ({ people }) => `?userId=${people.userId}`,
      (bodies) => expect(bodies.reduce((sum, { revoked }) => sum + revoked, 0)).to.equal(1),
    ),
  }),
  values(
    'M21, the clock goes back',
    { 'a little': [5, 0], 'a minute': [60, -60] } as const,
    ([back, since]) => [
      passes(0),
      issues(),
      async (scene) => {
        scene.kept.latest = String(now())
        scene.setBack(back)
      },
      issues({ expiresIn: 60 }),
      succeeds({ expiresIn: 60 }, 201),
      recordSays(({ kept }) => ({ createdAt: Number(kept.latest) + since, expiresAt: now() + 60 })),
    ],
  ),
]

declareCells('M, values', [
  ...[...fields, ...body, ...callers, ...resources],
  ...[...requests, ...raw, ...lives, ...together],
])
