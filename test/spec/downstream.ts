/** APIs that exchange the access tokens that they have received (docs/protocol.md §8). */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { withActor } from '../../fixtures/actor-tokens.ts'
import { machineClient, publicClient } from '../../fixtures/clients.ts'
import { now } from '../../fixtures/clock.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import { signJwt } from '../../fixtures/jwts.ts'
import { login } from '../../fixtures/logins.ts'
import { revokeWhere } from '../../fixtures/management.ts'
import { apiClient, BILLING, billingApi, LEDGER, ledgerApi } from '../../fixtures/on-behalf-of.ts'
import { introspect, issue, postToken } from '../../fixtures/requests.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { statusAt } from './bearing.ts'
import {
  actedByTwo,
  at,
  audience,
  everyPassed,
  isJwt,
  made,
  type Of,
  own,
  passed,
  ready,
  received,
  type Sender,
  send,
} from './exchanging.ts'
import {
  answers,
  because,
  changesNothing,
  invalidRequest,
  invalidTarget,
  limitedTo,
  notAdmitted,
  nothingToGrant,
  notLookedUp,
  recordSays,
  recordUnchanged,
  refusedToken,
  refusesToStart,
  succeeds,
  tokenSays,
  wrote,
} from './expectations.ts'
import { contextIsLost, functions, gone, issuedWith, on, passes, removed, rewrite, stored } from './given.ts'
import { by, proven, storedAs, theKey, variant } from './proofs.ts'
import { rowsOf, type Step, values } from './rule.ts'
import type { Scene } from './scene.ts'
import { ALIAS_OF_API, PLAIN, pairwise, portal } from './settings.ts'
import { everyWay, issuedAlone, used } from './stopping.ts'

const NO_RECORD = 'a user’s own token has no record'

const APIS = { token_exchange_audiences: [API, OPAQUE_API] }
const free = variant('free', { ...APIS, token_exchange_resources: undefined })
const shut = variant('shut', { ...APIS, token_exchange_resources: [] })
export const wide = variant('wide', {
  token_exchange_audiences: [API, OPAQUE_API, BILLING],
  token_exchange_resources: [API, OPAQUE_API, BILLING, LEDGER, ALIAS_OF_API, PLAIN],
})
const scoped = variant('scoped', { scope: 'openid' })
const pairwiseApi = variant('pairwise', { subject_type: 'pairwise' })
const fleeting = publicClient({ client_id: 'fleeting-portal' })
const publicApi = publicClient({ client_id: 'public-api', ...APIS, token_exchange_resources: [BILLING] })
const withEmptyList = apiClient({ client_id: 'empty-api', token_exchange_audiences: [] })

/** The access token in the response is what the next request sends. */
export const passOn: Step = (scene) => {
  expect(scene.response.status, scene.response.text).to.equal(200)
  scene.received = scene.response.body.access_token
}

export type Claims = Readonly<Record<string, unknown>>

/** What the API has received says something else: a JWT is signed anew, of an opaque token the models are changed. */
export const forged =
  (given: Of<Claims>): Step =>
  async (scene) => {
    await ready(scene)
    const claims = await made(given, scene)
    if (isJwt(scene)) scene.received = await signJwt({ ...decodeJwt(scene.received), ...claims })
    else await forgeOpaque(scene, claims)
  }

async function forgeOpaque({ setting, received: token }: Scene, claims: Claims): Promise<void> {
  const { adapter } = setting.provider.Grant
  const model = (await setting.provider.AccessToken.find(token)) ?? expect.fail('no such token')
  const { grantId = '', extra } = model
  const { sub: accountId = model.accountId, client_id: clientId = model.clientId, cnf, ...given } = claims
  const { act, status, read_only, ...others } = { ...extra, ...given }
  const changes = { ...others, ...Object(cnf), accountId, clientId, extra: { act, status, read_only } }
  await rewrite(setting, token, changes)
  await adapter.upsert(grantId, { ...(await adapter.find(grantId)), accountId, clientId } as never, 600)
}

const withScope = (scope: string | undefined): Step => forged({ scope })
const withCnf = forged({ cnf: { jkt: 'y'.repeat(43) } })
const endsIn = (seconds: number): Step => forged(() => ({ exp: now() + seconds }))
/** By its status it is of a subject token that was not exchanged. */
const ofUnused = forged(async ({ setting }) => {
  const { id } = await issue(setting)
  const { statusIndex } =
    (await createSubjectTokenStore(setting.database.sequelize).find(setting.issuer, id)) ?? expect.fail()
  return { status: statusAt(setting, statusIndex) }
})

/** How the access token of an impersonation came to be. */
const exchangedBy =
  (application: Sender): Step =>
  (scene) => {
    scene.application = application
  }
const actedForCarol: Step = (scene) => {
  scene.acting = actedByTwo
}

/** The API has received a token of another kind. */
const receivedA =
  (make: (scene: Scene) => Promise<string>): Step =>
  async (scene) => {
    Object.assign(scene, { door: 'a JWT', received: await make(scene) })
  }

const withoutOpenid: Step = (scene) => void Object.assign(scene, { scope: 'orders:read' })
export const LEDGER_BY_BILLING = [{ resource: LEDGER }, { client: billingApi() }] as const

const TO_ALIAS = [
  storedAs(wide),
  send({ resource: ALIAS_OF_API }, by(wide)),
  invalidTarget('the audience of the received token'),
]

/** The status of what the API has received. */
const keepStatus: Step = async (scene) => {
  await ready(scene)
  const { received: token, setting, kept } = scene
  const { status } = isJwt(scene) ? decodeJwt(token) : await introspect(setting, token)
  kept.status = JSON.stringify(status)
}

/** The orders API has received what was kept. */
const isReceived =
  (door: 'a JWT' | 'an opaque token'): Step =>
  (scene) =>
    void Object.assign(scene, { door, received: scene.kept.accessToken })
const keepsChild: Step = ({ kept, response }) =>
  void Object.assign(kept, { child: response.body.access_token })
const sendsChild = send(({ kept }) => ({ subject_token: kept.child ?? '', resource: LEDGER }), {
  client: billingApi(),
})

export const byOrders = (act?: object) => ({
  sub: 'orders-api',
  client_id: 'orders-api',
  ...(act && { act }),
})

const byBilling = (act: object) => ({ sub: 'billing-api', client_id: 'billing-api', act })
const byPairwise = { sub: 'pairwise-orders-api', client_id: 'pairwise-orders-api' }

const clientToken = async ({ setting }: Scene): Promise<string> => {
  const request = { grant_type: 'client_credentials', resource: API, scope: 'orders:read' }
  return (await postToken(setting, request, { client: machineClient() })).body.access_token
}
const aliceLogsIn = async ({ setting }: Scene) =>
  (await login(setting, { accountId: 'alice', client: portal, resource: API })).tokens

const rules = [
  everyPassed('D1, requireActor', [on('with an actor always'), send(), succeeds(), changesNothing]),
  passed('D1, requiredContext', {
    ...received([
      on('with required context'),
      issuedWith({ context: { ticketId: 'T-1' } }),
      ready,
      contextIsLost,
      send(),
      succeeds(),
      changesNothing,
    ]),
    ...own([on('with required context'), send(), succeeds(), changesNothing]),
  }),
  everyPassed('D2', [send(), send(), succeeds(), changesNothing]),
  everyPassed('D2, a proof', [
    send({}, proven),
    succeeds(),
    wrote('ReplayDetection.upsert'),
    recordUnchanged,
  ]),
  everyPassed('D3, the default', [
    on('one API deep'),
    send(),
    passOn,
    send(...LEDGER_BY_BILLING),
    refusedToken('more than 1 APIs in the chain'),
  ]),
  everyPassed('D3, one too many, told newest first', [
    send(),
    passOn,
    send(...LEDGER_BY_BILLING),
    passOn,
    send({ resource: API }, { client: ledgerApi() }),
    ({ events }) => expect(events[0]?.payload).to.deep.include({ through: ['billing-api', 'orders-api'] }),
    refusedToken('more than 2 APIs in the chain'),
  ]),
  everyPassed('D4, whatever the policy returns', [send({ scope: 'bills:read' }), nothingToGrant]),

  rowsOf(['not quite a subject token'])('D7', {
    'not quite a subject token': [
      send(({ subjectToken }) => ({ subject_token: subjectToken.slice(0, -1) })),
      notAdmitted('no token_exchange_audiences'),
    ],
  }),
  rowsOf(['a list', 'an empty list', 'the option is off'])('D7 D8', {
    'a list': [send({}, { client: apiClient() }), refusedToken('the client is an API'), notLookedUp],
    'an empty list': [
      stored(withEmptyList),
      send({}, { client: withEmptyList }),
      refusedToken('the client is an API'),
      notLookedUp,
    ],
    'the option is off': [
      on('without onBehalfOf'),
      send({}, { client: apiClient() }),
      refusedToken('the client is an API'),
      notLookedUp,
    ],
  }),
  everyPassed('D7 D9 D34, without the metadata', [
    send({}, { client: publicClient() }),
    notAdmitted('no token_exchange_audiences'),
    notLookedUp,
  ]),
  everyPassed('D9, without authentication', [
    stored(publicApi),
    send({}, { client: publicApi }),
    notAdmitted('the client does not authenticate'),
    notLookedUp,
  ]),
  everyPassed('D9, after the parameters', [
    send({ subject_token_type: null }, { client: publicClient() }),
    invalidRequest('subject_token_type is required'),
  ]),
  everyPassed('D10', [
    on('without onBehalfOf'),
    send({}, { client: publicClient() }),
    refusedToken('malformed'),
  ]),
  everyPassed('D11 D35', [send(withActor('x')), invalidRequest('actor_token is not supported'), notLookedUp]),

  everyPassed('D12 D36, expired', [
    passes(0),
    ready,
    passes(3600),
    send(),
    refusedToken((scene) => (isJwt(scene) ? 'ERR_JWT_EXPIRED' : 'unknown or expired')),
  ]),
  passed('D12, its client was removed between two requests', {
    ...received([
      stored(fleeting),
      exchangedBy({ client: fleeting }),
      send(),
      succeeds(),
      removed(fleeting),
      send(),
      refusedToken('its client is gone'),
    ]),
    ...own('E66'),
  }),
  everyPassed('D12, without openid', [withoutOpenid, send(), succeeds(), changesNothing]),
  rowsOf(['a client for itself', 'an ID token', 'a refresh token'])('D13', {
    'a client for itself': [receivedA(clientToken), send(), refusedToken('a token of the client itself')],
    'an ID token': [
      receivedA(async (scene) => (await aliceLogsIn(scene)).id_token),
      send(),
      refusedToken('ERR_JWT_CLAIM_VALIDATION_FAILED'),
    ],
    'a refresh token': [
      receivedA(async (scene) => (await aliceLogsIn(scene)).refresh_token),
      send(),
      refusedToken('unknown or expired'),
    ],
  }),

  everyPassed('D14, of another API', [send(...LEDGER_BY_BILLING), refusedToken('for another audience')]),
  everyPassed('D14, a list', [
    storedAs(wide),
    forged({ aud: [API, OPAQUE_API] }),
    send({}, by(wide)),
    refusedToken('for another audience'),
  ]),
  everyPassed('D14, another spelling', [
    forged({ aud: 'https://API.example.com' }),
    send(),
    refusedToken('for another audience'),
  ]),

  passed('D15, another user', {
    ...received([forged({ sub: 'dave' }), send(), refusedToken('its status is of another user')]),
    ...own(NO_RECORD),
  }),
  passed('D15, no one acts', {
    ...received([forged({ act: undefined }), send(), refusedToken('its status is of other people')]),
    ...own(NO_RECORD),
  }),
  passed('D15, one more acts', {
    ...received([
      forged({ act: { sub: 'bob', act: { sub: 'carol' } } }),
      send(),
      refusedToken('its status is of other people'),
    ]),
    ...own(NO_RECORD),
  }),
  passed('D15, someone else acts: the record knows', {
    ...received([
      forged({ act: { sub: 'carol' } }),
      send(),
      tokenSays({ act: byOrders({ sub: 'bob' }) }),
      changesNothing,
    ]),
    ...own(NO_RECORD),
  }),
  passed('D15, of a pairwise client', {
    ...received([
      exchangedBy({ client: pairwise }),
      send(),
      tokenSays({ sub: 'alice', act: byOrders({ sub: 'bob' }) }),
      changesNothing,
    ]),
    ...own('D16'),
  }),
  passed('D15, of a pairwise client, by the account id', {
    'a JWT': [
      at('a JWT'),
      exchangedBy({ client: pairwise }),
      forged({ sub: 'alice' }),
      send(),
      refusedToken('its status is of another user'),
    ],
    'an opaque token': 'it names the user by the account id, always',
    ...own('D16'),
  }),
  passed('D15, of a record that was not exchanged', {
    'a JWT': [at('a JWT'), ofUnused, send(), refusedToken('its status is of a token that was not exchanged')],
    'an opaque token': [
      at('an opaque token'),
      ofUnused,
      send(),
      refusedToken('its status is of a token that was not exchanged'),
    ],
    ...own(NO_RECORD),
  }),

  passed('D16, someone acts', {
    ...received('D15'),
    ...own([forged({ act: { sub: 'bob' } }), send(), refusedToken('someone acts, and it has no status')]),
  }),
  passed('D16, of a pairwise client', {
    ...received('D15'),
    ...own([
      forged({ client_id: 'pairwise' }),
      send(),
      refusedToken('of a client with pairwise subjects, and it has no status'),
    ]),
  }),
  passed('D16, from an exchange, without record', {
    'a JWT': 'cannot be told from a user’s own: §8.2 says so',
    'an opaque token': [
      at('an opaque token'),
      forged({ status: undefined }),
      send(),
      refusedToken('its status is in no list of ours'),
    ],
    ...own('it has none'),
  }),

  everyPassed('D17', [withCnf, send(), refusedToken('bound to a key, and the new token would not be')]),
  everyPassed('D17, and the API proves a key of its own', [
    withCnf,
    send({}, proven),
    tokenSays(async () => ({ cnf: { jkt: (await theKey()).thumbprint } })),
    recordUnchanged,
  ]),

  everyPassed('D18, the user is gone', [
    ready,
    gone('alice'),
    send(),
    refusedToken('the user is gone or disabled'),
  ]),
  passed('D18, someone who acts is gone', {
    ...received([ready, gone('bob'), send(), refusedToken('the account of an actor is gone or disabled')]),
    ...own('no one acts'),
  }),
  passed('D18, someone who acted before is gone', {
    ...received([
      actedForCarol,
      ready,
      gone('carol'),
      send(),
      refusedToken('the account of an actor is gone or disabled'),
    ]),
    ...own('no one acts'),
  }),
  passed('D18, the user has the id of the client', {
    ...received([
      issuedWith({ userId: 'orders-api' }),
      send(),
      refusedToken('the sub to be issued is the id of the client'),
    ]),
    ...own([
      forged({ sub: 'orders-api' }),
      send(),
      refusedToken('the sub to be issued is the id of the client'),
    ]),
  }),

  everyPassed('D19, an API twice', [
    storedAs(wide),
    send({}, by(wide)),
    passOn,
    send({ resource: LEDGER }, by(wide)),
    refusedToken('an API twice in the chain'),
  ]),
  everyPassed('D20', [
    ready,
    send({ subject_token: 'x'.repeat(43) }),
    ({ kept, response }) => void Object.assign(kept, { other: response.text }),
    gone('alice'),
    send(),
    refusedToken('the user is gone or disabled'),
    ({ kept, response }) => expect(response.text).to.equal(kept.other),
  ]),

  everyPassed('D21 D37, another', [
    send({ resource: LEDGER }),
    invalidTarget('not among the resources of the client'),
  ]),
  everyPassed('D21, absent', [
    storedAs(free),
    send({}, by(free)),
    invalidTarget('not among the resources of the client'),
  ]),
  everyPassed('D21, an empty list', [
    storedAs(shut),
    send({}, by(shut)),
    invalidTarget('not among the resources of the client'),
  ]),
  everyPassed('D22, the resource', [
    storedAs(wide),
    send((scene) => ({ resource: audience(scene) }), by(wide)),
    invalidTarget('the audience of the received token'),
  ]),
  passed('D22, its audience', {
    'a JWT': [at('a JWT'), ...TO_ALIAS],
    'an opaque token': 'no other resource has its audience',
    "a user's own JWT": [at("a user's own JWT"), ...TO_ALIAS],
    "a user's own opaque token": 'no other resource has its audience',
  }),
  passed('D23 D40, another', {
    ...received([issuedWith({ resource: [OPAQUE_API, API] }), send(), limitedTo(OPAQUE_API, API)]),
    ...own(NO_RECORD),
  }),
  passed('D23, one of the list', {
    ...received([issuedWith({ resource: [OPAQUE_API, BILLING, API] }), send(), succeeds(), changesNothing]),
    ...own(NO_RECORD),
  }),
  passed('D23, the next step', {
    ...received([
      issuedWith({ resource: [OPAQUE_API, BILLING, API] }),
      send(),
      passOn,
      send(...LEDGER_BY_BILLING),
      limitedTo(OPAQUE_API, BILLING, API),
    ]),
    ...own(NO_RECORD),
  }),
  everyPassed('D24, opaque', [
    storedAs(wide),
    (scene) => send({ resource: isJwt(scene) ? OPAQUE_API : PLAIN }, by(wide))(scene),
    invalidTarget('its access tokens are opaque'),
  ]),

  everyPassed('D25, of the resource', [
    withScope('orders:read unknown'),
    send({ scope: 'orders:read unknown' }),
    succeeds({ scope: 'orders:read' }),
    changesNothing,
  ]),
  passed('D25, of the received token, where the record allows more', {
    ...received([
      issuedWith({ scope: 'openid orders:read orders:write' }),
      send({ scope: 'orders:read orders:write' }),
      succeeds({ scope: 'orders:read' }),
      changesNothing,
    ]),
    ...own(NO_RECORD),
  }),
  everyPassed('D25 D38, of the received token', [send({ scope: 'orders:write' }), nothingToGrant]),
  everyPassed('D25, the received token names none', [
    withScope(undefined),
    send({ scope: 'orders:read' }),
    nothingToGrant,
  ]),
  passed('D25, of the record, where the received token names more', {
    ...received([
      issuedWith({ scope: 'openid orders:read' }),
      withScope('orders:read orders:write'),
      send({ scope: 'orders:read orders:write' }),
      succeeds({ scope: 'orders:read' }),
      changesNothing,
    ]),
    ...own(NO_RECORD),
  }),
  everyPassed('D25, of the metadata of the client', [
    storedAs(scoped),
    withScope('profile orders:read'),
    send({ scope: 'profile orders:read' }, by(scoped)),
    succeeds({ scope: 'orders:read' }),
    changesNothing,
  ]),
  everyPassed('D26', [
    withScope('openid offline_access orders:read'),
    send({ scope: 'openid offline_access orders:read' }),
    succeeds({ scope: 'orders:read' }),
    changesNothing,
  ]),
  everyPassed('D26, and nothing else', [
    withScope('openid offline_access'),
    send({ scope: 'openid offline_access' }),
    nothingToGrant,
  ]),

  passed('D27', {
    ...received([send(), tokenSays({ sub: 'alice', act: byOrders({ sub: 'bob' }) }), changesNothing]),
    ...own([send(), tokenSays({ sub: 'alice', act: byOrders() }), changesNothing]),
  }),
  passed('D27, a second API', {
    ...received([
      send(),
      passOn,
      send(...LEDGER_BY_BILLING),
      tokenSays({ act: byBilling(byOrders({ sub: 'bob' })) }),
      changesNothing,
    ]),
    ...own([
      send(),
      passOn,
      send(...LEDGER_BY_BILLING),
      tokenSays({ act: byBilling(byOrders()) }),
      changesNothing,
    ]),
  }),
  passed('D27, an API with pairwise subjects', {
    ...received([
      storedAs(pairwiseApi),
      send({}, by(pairwiseApi)),
      tokenSays({
        sub: 'alice@pairwise-orders-api',
        act: { ...byPairwise, act: { sub: 'bob@pairwise-orders-api' } },
      }),
      changesNothing,
    ]),
    ...own([
      storedAs(pairwiseApi),
      send({}, by(pairwiseApi)),
      tokenSays({ sub: 'alice@pairwise-orders-api', act: byPairwise }),
      changesNothing,
    ]),
  }),
  passed('D39', {
    ...received([
      send(),
      tokenSays(({ id }) => ({ jti: (jti: string) => new RegExp(`^${id}\\.[\\w-]{22}$`).test(jti) })),
      changesNothing,
    ]),
    ...own([send(), tokenSays({ jti: (jti: string) => /^[\w-]{43}$/.test(jti) }), changesNothing]),
  }),
  everyPassed('D28', [
    passes(0),
    endsIn(50),
    send(),
    succeeds({ expires_in: 50 }),
    tokenSays(() => ({ exp: now() + 50 })),
    recordUnchanged,
  ]),
  passed('D29', {
    ...received([
      keepStatus,
      send(),
      tokenSays(({ kept }) => ({ status: (status: unknown) => JSON.stringify(status) === kept.status })),
      changesNothing,
    ]),
    ...own([send(), tokenSays({ status: undefined }), changesNothing]),
  }),
  ...(['a JWT', 'an opaque token'] as const).map((format) =>
    everyWay(`D29, a stop of what came from ${format}`, ({ stop, revocation }) => [
      issuedAlone,
      used(format),
      isReceived(format),
      send(),
      keepsChild,
      stop(),
      send(),
      answers(400, 'invalid_request', 'subject_token is invalid'),
      sendsChild,
      answers(400, 'invalid_request', 'subject_token is invalid'),
      because('stopped'),
      recordSays({ state: 'revoked', revocation }),
    ]),
  ),
  everyPassed('D30', [
    send({}, proven),
    tokenSays(async () => ({ cnf: { jkt: (await theKey()).thumbprint } })),
    recordUnchanged,
  ]),
  everyPassed('D30, without a proof', [send(), tokenSays({ cnf: undefined }), changesNothing]),
  everyPassed('D31', [
    passes(0),
    endsIn(50),
    (scene) =>
      functions({
        getCustomJwtClaims() {
          scene.pass(50)
          return {}
        },
      })(scene),
    send(),
    refusedToken('expired meanwhile'),
  ]),
  everyPassed('D32', [
    send(),
    succeeds(),
    ({ events }) => expect(events.map(({ name }) => name)).to.deep.equal(['access_token.exchanged']),
    changesNothing,
  ]),
  everyPassed('D33', [
    send(),
    passOn,
    async ({ setting }) => {
      const { body } = await revokeWhere(setting, { actorId: 'orders-api' })
      expect(body).to.deep.equal({ revoked: 0 })
    },
    send(...LEDGER_BY_BILLING),
    succeeds(),
    changesNothing,
  ]),
]

const starts = [
  rowsOf(['an option of an earlier version'])('D4', {
    'an option of an earlier version': refusesToStart(
      { onBehalfOf: Object({ scopes: 'policy' }) },
      'unknown option: onBehalfOf.scopes',
    ),
  }),
  values('D6, without statusList', { 'no policy': undefined, 'a policy': () => true }, (isAllowed) =>
    refusesToStart({ onBehalfOf: true, statusList: false, isAllowed }, 'onBehalfOf needs statusList'),
  ),
]

export const downstreamRules = [...rules, ...starts]
