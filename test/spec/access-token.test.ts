/** The claims of access tokens (docs/protocol.md §4). */
import { expect } from 'chai'
import { decodeProtectedHeader } from 'jose'
import { now } from '../../fixtures/clock.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import { SIGNING_KEY } from '../../fixtures/keys.ts'
import { BILLING } from '../../fixtures/on-behalf-of.ts'
import { RESERVED_CLAIMS } from '../../src/base/constants.ts'
import {
  actedBy,
  actedByTwo,
  everyDoor,
  everyResponse,
  ready,
  received,
  responsesFor,
  send,
} from './exchanging.ts'
import { serverError, spent, tokenSays } from './expectations.ts'
import { functions, on, passes } from './given.ts'
import { declareCells } from './matrix.ts'
import { by, mustPresent, PRESENTED, proven, storedAs, theKey, variant } from './proofs.ts'
import type { Step } from './rule.ts'
import type { Scene } from './scene.ts'
import { type Functions, LASTING } from './settings.ts'

/** It leads to the record. */
const isItsOwn =
  ({ id, door }: Scene) =>
  (jti: string) =>
    door === 'a subject token' ? jti === id : jti.startsWith(`${id}.`)
const isText = (value: unknown) => typeof value === 'string' && value !== ''
const lasting = variant('lasting', { token_exchange_resources: [LASTING] })
const pairwise = variant('pairwise', { subject_type: 'pairwise' })

/** The client that exchanges, by its door. */
const clientIn = ({ door }: Scene) => (door === 'a subject token' ? 'spa' : 'orders-api')
const issuesJwt = ({ response }: Scene) => response.body.access_token.includes('.')
const audienceIn = (scene: Scene) => {
  if (scene.door !== 'a subject token') return BILLING
  return issuesJwt(scene) ? API : OPAQUE_API
}
const isOfType: Step = (scene) => {
  if (!issuesJwt(scene)) return
  expect(decodeProtectedHeader(scene.response.body.access_token).typ).to.equal('at+jwt')
}
const gold = functions({ getCustomJwtClaims: () => ({ tier: 'gold', rights: { see: true } }) })
/** The link of the API at its door, outside the people. */
const throughApi = (scene: Scene, act?: object) =>
  scene.door === 'a subject token' ? act : { sub: 'orders-api', client_id: 'orders-api', ...(act && { act }) }

const RENAMED = {
  ...{ sub: 'root', iss: 'https://evil.example.com', aud: 'https://evil.example.com', client_id: 'ghost' },
  ...{ jti: 'ghost', scope: 'everything', cnf: { jkt: 'ghost' }, may_act: { sub: 'ghost' }, exp: 4102444800 },
}
const WIDENED = {
  ...{ accountId: 'root', aud: 'https://evil.example.com', clientId: 'ghost', scope: 'everything' },
  ...{
    jti: 'ghost',
    jkt: 'ghost',
    grantId: 'ghost',
    exp: 4102444800,
    iat: 1,
    extra: { act: { sub: 'ghost' } },
  },
}
/** Whatever happens to what is reached by it. */
function meddle(payload: Record<string, unknown>): void {
  const { act, status } = payload as { act?: object; status?: { status_list: object } }
  if (act) Object.assign(act, { sub: 'ghost', act: { sub: 'ghost' } })
  else payload.act = { sub: 'ghost' }
  Object.assign(Object(status?.status_list), { idx: 131071 })
  Object.assign(payload, RENAMED)
}
/** How it is signed. */
function weaken(token: Record<string, unknown>): void {
  const { jwt } = Object(token.resourceServer)
  Object.assign(Object(jwt?.sign), { alg: 'HS256', key: 'k'.repeat(64), kid: 'ghost' })
}

/** Functions of the deployment that change what has been decided. */
const MEDDLERS: Readonly<Record<string, Functions>> = {
  'a customizer that changes in place': { customizeJwt: (_, { payload }) => meddle(payload) },
  'a customizer that takes away': {
    customizeJwt(_, jwt) {
      jwt.payload = { tier: 'gold' }
    },
  },
  'a customizer of the header': {
    customizeJwt(token, jwt) {
      weaken(token)
      jwt.header = { typ: 'JWT', alg: 'none', kid: 'ghost' }
    },
  },
  'a customizer that answers in JSON': {
    customizeJwt(_, { payload }) {
      payload.toJSON = () => RENAMED
    },
  },
  'a customizer that is late': {
    customizeJwt(_, jwt) {
      const { payload } = jwt
      queueMicrotask(() => queueMicrotask(() => meddle(payload)))
    },
  },
  'a customizer of the token': { customizeJwt: (token) => void Object.assign(token, WIDENED) },
  'a customizer that looks for the token': {
    customizeJwt(_, __, { AccessToken }) {
      weaken(Object(AccessToken))
      Object.assign(Object(AccessToken), WIDENED)
    },
  },
  'a customizer that looks for the token late': {
    customizeJwt(_, __, { AccessToken }) {
      queueMicrotask(() => queueMicrotask(() => weaken(Object(AccessToken))))
    },
  },
  ...Object.fromEntries(
    (['ttl', 'bitsOfOpaqueRandomness', 'allowedPolicy'] as const).map((asked): [string, Functions] => [
      `${asked} that changes the token`,
      {
        seesToken(name, token) {
          if (name !== asked) return
          weaken(token)
          Object.assign(Object(token.extra), { act: { sub: 'ghost' }, status: undefined })
          Object.assign(token, WIDENED)
        },
      },
    ]),
  ),
  'extraTokenClaims that changes the token': {
    extraTokenClaims(_, token) {
      weaken(token as unknown as Record<string, unknown>)
      Object.assign(token, WIDENED)
      return {}
    },
  },
}

declareCells('T', [
  everyResponse('T2 T3 T4 T5 T6 T7 T8 T9 T12', (target) => [
    passes(0),
    send({ ...target, scope: 'orders:read' }),
    tokenSays(async (scene) => ({
      ...{ iss: scene.setting.issuer, sub: 'alice', aud: audienceIn(scene), client_id: clientIn(scene) },
      ...{ iat: now(), exp: now() + 600, jti: issuesJwt(scene) ? isItsOwn(scene) : undefined },
      ...{ scope: 'orders:read', cnf: undefined, status: await statusIn(scene) },
    })),
    spent,
  ]),
  everyResponse('T3, pairwise', (target) => [
    storedAs(pairwise),
    send(target, by(pairwise)),
    tokenSays((scene) => ({ sub: `alice@${pairwise(scene).client_id}` })),
    spent,
  ]),
  everyResponse('T7, at most', () => [
    passes(0),
    storedAs(lasting),
    send({ resource: LASTING }, by(lasting)),
    // In §8 the token that was received ends before.
    tokenSays(({ door }) => ({ exp: now() + (door === 'a subject token' ? 900 : 600) })),
    spent,
  ]),
  everyResponse('T9, none', (target) => [send(target), tokenSays({ scope: undefined }), spent]),
  responsesFor('T10', {
    'a subject token, for a JWT': [send(actedBy()), tokenSays({ act: { sub: 'bob' } }), spent],
    'a subject token, for an opaque token': [
      send(async (scene) => ({ resource: OPAQUE_API, ...(await actedBy()(scene)) })),
      tokenSays({ act: { sub: 'bob' } }),
      spent,
    ],
    ...received([send(), tokenSays((scene) => ({ act: throughApi(scene, { sub: 'bob' }) })), spent]),
  }),
  responsesFor('T10, several', {
    'a subject token, for a JWT': [
      send(actedByTwo),
      tokenSays({ act: { sub: 'bob', act: { sub: 'carol' } } }),
      spent,
    ],
    'a subject token, for an opaque token': [
      send(async (scene) => ({ resource: OPAQUE_API, ...(await actedByTwo(scene)) })),
      tokenSays({ act: { sub: 'bob', act: { sub: 'carol' } } }),
      spent,
    ],
    ...received([
      (scene) => void Object.assign(scene, { acting: actedByTwo }),
      send(),
      tokenSays((scene) => ({ act: throughApi(scene, { sub: 'bob', act: { sub: 'carol' } }) })),
      spent,
    ]),
  }),
  everyResponse('T10, no one', (target) => [
    (scene) => void Object.assign(scene, { acting: {}, scope: 'orders:read' }),
    send(target),
    tokenSays((scene) => ({ act: throughApi(scene) })),
    spent,
  ]),
  responsesFor('T10, pairwise', {
    'a subject token, for a JWT': [
      storedAs(pairwise),
      send(actedBy(), by(pairwise)),
      tokenSays((scene) => ({ act: { sub: `bob@${pairwise(scene).client_id}` } })),
      spent,
    ],
    'a subject token, for an opaque token': [
      storedAs(pairwise),
      send(async (scene) => ({ resource: OPAQUE_API, ...(await actedBy()(scene)) }), by(pairwise)),
      tokenSays((scene) => ({ act: { sub: `bob@${pairwise(scene).client_id}` } })),
      spent,
    ],
    ...received('D27'),
  }),
  everyResponse('T11, a proof', (target) => [
    send(target, proven),
    tokenSays(async () => ({ cnf: { jkt: (await theKey()).thumbprint } })),
    spent,
  ]),
  everyResponse('T11, a certificate', (target) => [
    storedAs(mustPresent),
    send(target, (scene) => ({ client: mustPresent(scene), headers: PRESENTED })),
    tokenSays({ cnf: (cnf: object) => isText(Reflect.get(cnf, 'x5t#S256')) }),
    spent,
  ]),
  responsesFor('T12, without status lists', {
    'a subject token, for a JWT': [
      on('without status lists'),
      send(),
      tokenSays({ status: undefined }),
      spent,
    ],
    'a subject token, for an opaque token': [
      on('without status lists'),
      send({ resource: OPAQUE_API }),
      tokenSays({ status: undefined }),
      spent,
    ],
    ...received('onBehalfOf needs status lists'),
  }),
  everyResponse('T1 T13', (target) => [
    ready,
    gold,
    send(target),
    isOfType,
    tokenSays((scene) => ({
      tier: 'gold',
      rights: { see: true },
      sub: 'alice',
      aud: audienceIn(scene),
      client_id: clientIn(scene),
    })),
    spent,
  ]),
  ...[...RESERVED_CLAIMS].map((claim) =>
    everyDoor(`T14, ${claim}`, [
      ready,
      // Parsed, because `__proto__` in a literal would be no member.
      functions({ getCustomJwtClaims: () => JSON.parse(`{"${claim}": "mine"}`) }),
      send(),
      serverError(`getCustomJwtClaims must not return the reserved claim ${claim}`),
    ]),
  ),
  everyDoor('T14, of extraTokenClaims', [
    ready,
    functions({ extraTokenClaims: () => ({ act: { sub: 'carol' } }) }),
    send(),
    serverError('extraTokenClaims must not return the reserved claim act'),
  ]),
  everyDoor('T14, of claims that answer twice', [
    ready,
    functions({ extraTokenClaims: twofold }),
    send(),
    serverError('extraTokenClaims must not return the reserved claim act'),
  ]),
  ...Object.entries(MEDDLERS).map(([title, given]) =>
    everyResponse(`T15, ${title}`, (target) => [
      ready,
      functions(given),
      send(target),
      isAsDecided,
      tokenSays(async (scene) => ({
        ...{ iss: scene.setting.issuer, sub: 'alice', aud: audienceIn(scene), client_id: clientIn(scene) },
        ...{ jti: issuesJwt(scene) ? isItsOwn(scene) : undefined, exp: (exp: number) => exp <= now() + 600 },
        ...{ status: await statusIn(scene), scope: undefined, cnf: undefined, may_act: undefined },
        act: (act: unknown) => !String(JSON.stringify(act)).includes('ghost'),
      })),
      spent,
    ]),
  ),
])

/** The third look finds `act`, too. */
function twofold(): Record<string, string> {
  let looks = 0
  const ownKeys = () => {
    looks += 1
    return looks > 2 ? ['tier', 'act'] : ['tier']
  }
  const member = { configurable: true, enumerable: true, writable: true, value: 'gold' }
  return new Proxy({}, { ownKeys, getOwnPropertyDescriptor: () => member, get: () => 'gold' })
}

/** Signed with the key of the deployment, and for as long as the response says. */
function isAsDecided(scene: Scene): void {
  const { access_token: token, expires_in: life, scope, token_type: type } = scene.response.body
  expect([scope, type]).to.deep.equal([undefined, 'Bearer'])
  expect(life).to.be.at.most(600)
  if (!issuesJwt(scene)) return
  expect(decodeProtectedHeader(token)).to.deep.equal({ typ: 'at+jwt', alg: 'ES256', kid: SIGNING_KEY.kid })
}

/** The place that the record has in a list. */
async function statusIn(scene: Scene): Promise<object> {
  const uri = `${scene.setting.baseUrl}/api/status-lists/0`
  return { status_list: { idx: await scene.index(), uri } }
}
