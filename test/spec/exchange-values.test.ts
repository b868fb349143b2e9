/** What an exchange takes and refuses, just within and just beyond each rule: parameters, clients and proofs (docs/protocol.md §3). */
import { createHash, X509Certificate } from 'node:crypto'
import { expect } from 'chai'
import type { ClientMetadata } from 'oidc-provider'
import { actorJwt, withActor } from '../../fixtures/actor-tokens.ts'
import { CERTIFICATE, OTHER_CERTIFICATE, publicClient, webClient } from '../../fixtures/clients.ts'
import { now } from '../../fixtures/clock.ts'
import { API } from '../../fixtures/deployment.ts'
import { form, type Parameters, send as request } from '../../fixtures/http.ts'
import { signingKey } from '../../fixtures/keys.ts'
import { managementToken } from '../../fixtures/requests.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../src/base/constants.ts'
import { type Of, ready, send } from './exchanging.ts'
import {
  answers,
  because,
  changesNothing,
  invalidRequest,
  refused,
  refusedToken,
  spent,
  succeeds,
  tokenSays,
} from './expectations.ts'
import { on, stored } from './given.ts'
import { declareCells } from './matrix.ts'
import { asserting, assertion, PRESENTED, proven, storedAs, theKey } from './proofs.ts'
import { answer, type Named, type Rule, rowsOf, type Steps, values } from './rule.ts'
import type { Scene } from './scene.ts'

const THUMBPRINT = createHash('sha256').update(new X509Certificate(CERTIFICATE).raw).digest('base64url')

const TYPE = 'urn:ietf:params:oauth:token-type'

/** What is refused with this text, and spends nothing: the plain request is taken afterwards. */
const refuses = (title: string, text: string, changed: Named<Parameters>): Rule =>
  values(title, changed, (changes) => [ready, send(changes), invalidRequest(text), send(), succeeds(), spent])

const named = (parameter: string): Steps => [
  answer(({ response }) => {
    expect([response.status, response.body.error]).to.deep.equal([400, 'invalid_request'])
    expect(response.body.error_description).to.include(parameter)
  }),
  because(null),
  changesNothing,
]

const parameters = [
  refuses('E6, blank', 'subject_token is required', { blank: { subject_token: '' } }),
  refuses('E7, another', 'subject_token_type is not supported', {
    jwt: { subject_token_type: `${TYPE}:jwt` },
    refresh_token: { subject_token_type: `${TYPE}:refresh_token` },
    saml2: { subject_token_type: `${TYPE}:saml2` },
    'in capitals': { subject_token_type: ACCESS_TOKEN_TYPE.toUpperCase() },
    'with a space after it': { subject_token_type: `${ACCESS_TOKEN_TYPE} ` },
  }),
  refuses('E9, alone', 'actor_token is required with actor_token_type', {
    'with a blank token': { actor_token: '', actor_token_type: ACCESS_TOKEN_TYPE },
  }),
  refuses('E9, without its type', 'actor_token_type is required with actor_token', {
    blank: { actor_token: 'x', actor_token_type: '' },
  }),
  refuses('E9, another', 'actor_token_type is not supported', {
    id_token: { actor_token: 'x', actor_token_type: `${TYPE}:id_token` },
  }),
  refuses('E10, another', 'requested_token_type is not supported', {
    refresh_token: { requested_token_type: `${TYPE}:refresh_token` },
    id_token: { requested_token_type: `${TYPE}:id_token` },
  }),
  values<Parameters>(
    'E13, any audience',
    {
      another: { audience: 'https://other.example.com' },
      'a space': { audience: ' ' },
      two: { audience: [API, API] },
    },
    (changes) => [
      ready,
      send(changes),
      refused(400, 'invalid_target', 'audience is not supported: send resource instead'),
      send(),
      succeeds(),
      spent,
    ],
  ),
  refuses('E14, what holds nothing', 'authorization_details is not supported', {
    'an empty list': { authorization_details: '[]' },
    'a space': { authorization_details: ' ' },
  }),
  values('E14, where the provider drops an empty list', { '[]': '[]' }, (authorization_details) => [
    on('with rich authorization requests'),
    ready,
    send({ authorization_details }),
    invalidRequest('authorization_details is not supported'),
    send(),
    succeeds(),
    spent,
  ]),
  values('E15, blank', { authorization_details: { authorization_details: '' } }, (changes) => [
    send(changes),
    succeeds(),
    spent,
  ]),
  values<readonly string[]>(
    'E16, each parameter',
    {
      grant_type: [TOKEN_EXCHANGE, TOKEN_EXCHANGE],
      client_id: ['spa', 'spa'],
      subject_token_type: [ACCESS_TOKEN_TYPE, ACCESS_TOKEN_TYPE],
      actor_token: ['one', 'two'],
      actor_token_type: [ACCESS_TOKEN_TYPE, ACCESS_TOKEN_TYPE],
      requested_token_type: [ACCESS_TOKEN_TYPE, ACCESS_TOKEN_TYPE],
      authorization_details: ['[]', '[]'],
    },
    (twice, parameter) => [ready, send({ client_id: 'spa', [parameter]: [...twice] }), named(parameter)],
  ),
  values('E17, unknown', { several: { claims: '{}', userId: 'bob', act: 'x' } }, (changes) => [
    send(changes),
    succeeds(),
    spent,
  ]),
  values('E5, a body in JSON', { JSON: 'application/json' }, (type) => [
    ready,
    send({}, { headers: { 'content-type': type } }),
    answers(400, 'invalid_request'),
    because(null),
    changesNothing,
  ]),
  rowsOf(['as a subject token'])('E40, a management token', {
    'as a subject token': [
      on('without onBehalfOf'),
      ready,
      send(async ({ setting }) => ({ subject_token: await managementToken(setting) })),
      refusedToken('malformed'),
    ],
  }),
]

const posting = webClient({ client_id: 'posting', token_endpoint_auth_method: 'client_secret_post' })
const longest = publicClient({ client_id: 'c'.repeat(255) })
const tooLong = publicClient({ client_id: 'c'.repeat(256) })
const apart = signingKey('ES256', 'asserting')

const clients = [
  values<readonly [Parameters, ClientMetadata]>(
    'E2, also',
    {
      'with its id beside Basic': [{ client_id: 'web' }, webClient()],
      'with a secret in the body, as it is registered': [
        { client_id: 'posting', client_secret: 'web-secret' },
        { client_id: 'posting' },
      ],
      'with an id of 255 characters': [{}, longest],
    },
    ([changes, client]) => [
      stored(posting),
      stored(longest),
      send(changes, { client }),
      tokenSays({ client_id: changes.client_id ?? client.client_id }),
      spent,
    ],
  ),
  values<readonly [status: number, error: string, Of<Parameters>, ClientMetadata]>(
    'E49, who is no client, or not this one',
    {
      unknown: [401, 'invalid_client', {}, { client_id: 'no-one' }],
      none: [400, 'invalid_request', { client_id: '' }, { client_id: '' }],
      'two at once': [400, 'invalid_request', { client_id: 'spa' }, webClient()],
      'an assertion by another key': [
        ...([401, 'invalid_client'] as const),
        (scene) => assertion(scene, apart),
        { client_id: 'asserting-web' },
      ],
    },
    ([status, error, changes, client]) => [
      storedAs(asserting),
      ready,
      send(changes, { client }),
      answers(status, error),
      because(null),
      changesNothing,
    ],
  ),
  values('E4, an id that no record can hold', { '256 characters': tooLong }, (client) => [
    stored(client),
    send({}, { client }),
    invalidRequest('requested grant type is not allowed for this client', 'the id of the client is too long'),
  ]),
  values('E5, another method', { GET: 'spa' }, (client_id) => [
    ready,
    answer(async (scene) => {
      const { subjectToken, setting } = scene
      const address = `${setting.tokenEndpoint}?${form({ subject_token: subjectToken, client_id })}`
      const { status } = await scene.request(() => request(address))
      expect(status).to.be.oneOf([404, 405])
    }),
    because(null),
    changesNothing,
  ]),
]

const proof =
  (claims: () => object = () => ({})) =>
  async ({ setting }: Scene): Promise<string> =>
    (await theKey()).proof(setting, { ...claims() })
const bound = publicClient({ client_id: 'certified', tls_client_certificate_bound_access_tokens: true })

const senders = [
  values<(scene: Scene) => string | Promise<string>>(
    'E51, a proof',
    {
      'for another address': proof(() => ({ htu: 'https://id.example.com/userinfo' })),
      'from an hour ago': proof(() => ({ iat: now() - 3600 })),
      'from an hour ahead': proof(() => ({ iat: now() + 3600 })),
      'without jti': proof(() => ({ jti: undefined })),
      'with a changed signature': async (scene) => (await proof()(scene)).replace(/.{8}$/, 'AAAAAAAA'),
      'that is no JWT': () => 'garbage',
    },
    (proofOf) => [
      ready,
      send({}, async (scene) => ({ headers: { dpop: await proofOf(scene) } })),
      answers(400, 'invalid_dpop_proof'),
      changesNothing,
      send({}, proven),
      succeeds({ token_type: 'DPoP' }),
      spent,
    ],
  ),
  values('E19, a key and a certificate', { 'at once': bound }, (client) => [
    stored(client),
    ready,
    send({}, async (scene) => ({ client, headers: { ...PRESENTED, ...(await proven(scene)).headers } })),
    answers(400, 'invalid_request'),
    because('multiple proof-of-possession mechanisms are not allowed'),
    changesNothing,
  ]),
  values('T11, a certificate of a client', { 'that is not bound': webClient() }, (client) => [
    send({}, { client, headers: PRESENTED }),
    tokenSays({ cnf: undefined }),
    spent,
  ]),
  values<Readonly<Record<string, string>>>(
    'E68, a certificate that a proxy passes on',
    {
      'as PEM': PRESENTED,
      'as bare base64': {
        'x-client-certificate': encodeURIComponent(CERTIFICATE.replace(/-----[A-Z ]+-----|\n/g, '')),
      },
      parsed: { ...PRESENTED, 'x-client-certificate-is': 'parsed' },
      'another one': { 'x-client-certificate': encodeURIComponent(OTHER_CERTIFICATE) },
    },
    (headers, title) => {
      const bind = async ({ setting }: Scene) =>
        withActor(await actorJwt(setting, { cnf: { 'x5t#S256': THUMBPRINT } }))
      const refusal = invalidRequest(
        'actor_token is invalid',
        'bound to a client certificate that was not presented',
      )
      return [send(bind, { headers }), title === 'another one' ? refusal : [succeeds(), spent]]
    },
  ),
]

declareCells('E, values', [...parameters, ...clients, ...senders])
