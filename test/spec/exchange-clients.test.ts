/** Whom an exchange is for, and which client asks: values at the boundaries of docs/protocol.md §3. */
import { expect } from 'chai'
import type { ClientMetadata } from 'oidc-provider'
import { machineClient, publicClient } from '../../fixtures/clients.ts'
import { API, OPAQUE_API, RESOURCES } from '../../fixtures/deployment.ts'
import type { Parameters } from '../../fixtures/http.ts'
import { login, loginClient } from '../../fixtures/logins.ts'
import { postToken } from '../../fixtures/requests.ts'
import { actedBy, confidential, everyDoor, made, type Of, ready, send } from './exchanging.ts'
import {
  answers,
  because,
  changesNothing,
  isServerError,
  nothingToGrant,
  notLookedUp,
  recordUnchanged,
  refused,
  refusedToken,
  serverError,
  spent,
  succeeds,
  tokenSays,
} from './expectations.ts'
import { functions, issuedWith, on, stored } from './given.ts'
import { requests } from './managing.ts'
import { declareCells } from './matrix.ts'
import { by, claiming, secretInBody, secretOf, storedAs, variant } from './proofs.ts'
import { answer, type Named, type Step, type Steps, values } from './rule.ts'
import type { Scene } from './scene.ts'
import { type Functions, pairwise, type SettingName } from './settings.ts'

type Claims = Readonly<Record<string, unknown>>

/** From here on, the functions of the deployment are what they were. */
const asUsual: Step = ({ setting }) => {
  setting.functions = {}
}
const policyNotAsked: Step = ({ calls }) => expect(calls).not.to.include('isAllowed at exchange')
const alice = publicClient({ client_id: 'alice' })
const dave = publicClient({ client_id: 'dave-app', subject_type: 'pairwise' })
const carol = publicClient({ client_id: 'carol', subject_type: 'pairwise' })
const throws = () => {
  throw new Error('private: down')
}
const RIGHTS: Named<string> = {
  alice: 'orders:read',
  dave: 'orders:read orders:write',
  bob: 'orders:read orders:write admin',
}
/** Each resource has the scopes that its user may use. */
const asRights = functions({
  resourceServer: (resource, { oidc }) => ({
    ...(RESOURCES[resource] ?? expect.fail()),
    scope: RIGHTS[oidc.entities.Account?.accountId ?? ''] ?? '',
  }),
})

const people = [
  values<readonly [client: ClientMetadata, issued?: Claims, target?: Parameters]>(
    'E40, the sub is the id of the client',
    {
      'in a JWT': [alice],
      'in an opaque token': [alice, {}, { resource: OPAQUE_API }],
      'of a user who was named by an alias': [alice, { userId: 'alias:alice' }],
      'by a pairwise identifier': [dave, { userId: 'dave' }],
    },
    ([client, issued = {}, target = {}]) => [
      stored(client),
      functions({ pairwiseIdentifier: (_ctx, _accountId, { clientId }) => clientId }),
      issuedWith(issued),
      send(target, { client }),
      refusedToken('the sub to be issued is the id of the client'),
      policyNotAsked,
      send(target),
      succeeds(),
      spent,
    ],
  ),
  values('E40, the account is called like the client, and the sub is not', { carol }, (client, userId) => [
    stored(client),
    issuedWith({ userId }),
    send({}, { client }),
    tokenSays({ sub: 'carol@carol' }),
    spent,
  ]),
  values<readonly [Functions['pairwiseIdentifier'], reason: string]>(
    'T3, no pairwise identifier',
    {
      'it throws': [throws, 'Error'],
      'it is empty for who acts': [
        (_ctx, id) => (id === 'bob' ? '' : id),
        'pairwiseIdentifier must return a non-empty string',
      ],
    },
    ([pairwiseIdentifier, reason]) => [
      ready,
      functions({ ...(pairwiseIdentifier && { pairwiseIdentifier }) }),
      send(actedBy(), { client: pairwise }),
      serverError(reason),
      asUsual,
      send(actedBy(), { client: pairwise }),
      tokenSays({ sub: 'alice@pairwise', act: { sub: 'bob@pairwise' } }),
      spent,
    ],
  ),
  values('E67, cannot be looked up', { 'the user': 'alice', 'who acts': 'bob' }, (who) => [
    ready,
    functions({
      findAccount(_ctx, accountId) {
        if (accountId === who) throws()
        return { accountId, claims: () => ({ sub: accountId }) }
      },
    }),
    send(actedBy()),
    serverError('Error'),
    asUsual,
    send(actedBy()),
    succeeds(),
    spent,
  ]),
  ...[API, OPAQUE_API].map((resource) =>
    values<readonly [userId: string, actor: Of<Parameters>, granted: string | null]>(
      `E72, of the user, whoever acts, at ${resource}`,
      {
        alice: ['alice', {}, 'orders:read'],
        'alice, in whom bob acts': ['alice', actedBy(), 'orders:read'],
        dave: ['dave', {}, 'orders:read orders:write'],
        'dave, in whom bob acts': ['dave', actedBy(), 'orders:read orders:write'],
        'erin, in whom bob acts': ['erin', actedBy(), null],
      },
      ([userId, actor, granted]) => [
        issuedWith({ userId }),
        asRights,
        send(async (scene) => ({
          resource,
          scope: 'orders:read orders:write admin',
          ...(await made(actor, scene)),
        })),
        granted === null ? nothingToGrant : [tokenSays({ sub: userId, scope: granted }), spent],
      ],
    ),
  ),
  values<unknown>(
    'E22, a description that is none',
    { 'a number': 7, 'a text': 'x', 'a list': [] },
    (none) => [
      ready,
      functions({ resourceServer: () => none as never }),
      send(),
      isServerError,
      changesNothing,
      asUsual,
      send(),
      succeeds(),
      spent,
    ],
  ),
]

const TEXT = 'the client is registered with client_secret_basic: send its secret in the Authorization header'
const notAuthenticated: Steps = [refused(401, 'invalid_client', TEXT), notLookedUp]
const named = variant('named', { token_endpoint_auth_method: 'client_secret_basic' })
const unnamed = variant('unnamed', {})
const posting = variant('posting', { token_endpoint_auth_method: 'client_secret_post' })
const postingBackend = machineClient({
  client_id: 'posting-backend',
  token_endpoint_auth_method: 'client_secret_post',
})
const service = machineClient({ client_id: 'service', scope: undefined })
const portal = loginClient({
  client_id: 'server-side-portal',
  client_secret: 'portal-secret',
  token_endpoint_auth_method: undefined,
})
const post = ({ client_id, client_secret }: ClientMetadata, parameters: Of<Parameters>): Step =>
  requests(async (scene) =>
    postToken(
      scene.setting,
      { client_id, client_secret, ...(await made(parameters, scene)) },
      { client: { client_id } },
    ),
  )
const asItself = { grant_type: 'client_credentials' }
const managementOf = ({ setting }: Scene) => ({ ...asItself, resource: `${setting.baseUrl}/api` })
const isTaken = answer(({ response }) => expect(response.status, response.text).to.equal(200))

const secrets = [
  ...Object.entries({ 'by name': named, 'stored without a method': unnamed }).map(([how, clientOf]) =>
    everyDoor(`E3, ${how}`, [
      storedAs(clientOf),
      send(secretOf(clientOf), claiming(clientOf)),
      notAuthenticated,
    ]),
  ),
  everyDoor('E3, before all other checks', [
    send(
      (scene) => ({ ...secretInBody(scene), subject_token: null, audience: API }),
      (scene) => ({
        ...claiming(confidential)(scene),
        headers: { dpop: 'x' },
      }),
    ),
    notAuthenticated,
  ]),
  everyDoor('E3, registered with client_secret_post', [
    storedAs(posting),
    send(secretOf(posting), claiming(posting)),
    succeeds(),
    spent,
  ]),
  ...Object.entries({ client_secret_basic: named, client_secret_post: posting }).flatMap(
    ([method, clientOf]) => [
      everyDoor(`E49, in both places, ${method}`, [
        storedAs(clientOf),
        send(secretOf(clientOf), by(clientOf)),
        answers(400, 'invalid_request'),
        because(null),
        changesNothing,
      ]),
      everyDoor(`E49, a wrong one in the body, ${method}`, [
        storedAs(clientOf),
        send((scene) => ({ ...secretOf(clientOf)(scene), client_secret: 'wrong' }), claiming(clientOf)),
        answers(401, 'invalid_client', 'client authentication failed'),
        because(null),
        changesNothing,
      ]),
    ],
  ),
  everyDoor('E50, where the header came empty', [
    send(secretInBody, (scene) => ({ ...claiming(confidential)(scene), headers: { authorization: '' } })),
    notAuthenticated,
    ({ response, setting }) =>
      expect(response.headers.get('www-authenticate')).to.equal(
        `Basic realm="${setting.issuer}", error="invalid_client", error_description="${TEXT}"`,
      ),
  ]),
  values<Of<Parameters>>(
    'M117, refused',
    {
      'without scope': managementOf,
      'with another resource': (scene) => ({ ...asItself, resource: [API, managementOf(scene).resource] }),
      'by default': asItself,
    },
    (parameters) => [
      (scene) => functions({ defaultResource: () => managementOf(scene).resource })(scene),
      post(machineClient(), parameters),
      answers(401, 'invalid_client', TEXT),
      because(null),
      changesNothing,
    ],
  ),
  values<readonly [ClientMetadata, Of<Parameters>, SettingName?]>(
    'M117, taken',
    {
      'registered with client_secret_post': [postingBackend, managementOf],
      'by clientDefaults': [machineClient(), managementOf, 'with secrets posted by default'],
      'for another resource': [service, { ...asItself, resource: API }],
      'for none': [service, asItself],
    },
    ([client, parameters, setting = 'usual']) => [
      on(setting),
      stored(client),
      post(client, parameters),
      isTaken,
      recordUnchanged,
    ],
  ),
  values('M117, another grant', { refresh_token: portal }, (client) => [
    stored(client),
    async (scene) => {
      const { tokens } = await login(scene.setting, { client })
      Object.assign(scene.kept, { refreshToken: tokens.refresh_token })
    },
    post(client, ({ kept }) => ({ grant_type: 'refresh_token', refresh_token: kept.refreshToken })),
    isTaken,
    recordUnchanged,
  ]),
]

declareCells('E, who asks', [...people, ...secrets])
