/** Status lists (docs/protocol.md §2.4, §4.1). */
import { inflateSync } from 'node:zlib'
import { expect } from 'chai'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { actorJwt } from '../../fixtures/actor-tokens.ts'
import { now } from '../../fixtures/clock.ts'
import { API, startDeployment } from '../../fixtures/deployment.ts'
import { send as sendHttp } from '../../fixtures/http.ts'
import { revoke } from '../../fixtures/management.ts'
import { askList, impersonate, statusOf } from '../../fixtures/status-lists.ts'
import { createVerifier, type Verifier } from '../../packages/resource-server/src/index.ts'
import { withBearer } from '../../packages/resource-server/test/issuer.ts'
import { purge } from '../../src/sequelize/index.ts'
import {
  answers,
  changesNothing,
  expectMembers,
  lookAgain,
  recordSays,
  recordUnchanged,
  refusesToStart,
  stoppedNow,
} from './expectations.ts'
import { fails, on, passes, works } from './given.ts'
import { answer, each, type Rule, record, rowsOf, type Step, type Steps } from './rule.ts'
import type { Scene } from './scene.ts'
import { type SettingName, settingOf } from './settings.ts'
import { everyStop, everyWay, issuedAlone, used } from './stopping.ts'

const NOT_FOUND = 'status list not found'
const UNAVAILABLE = 'the service is temporarily unavailable'

/** Asks for a list. */
const asks =
  (path = '/0', init?: RequestInit): Step =>
  (scene) =>
    scene.request(() => askList(scene.setting, path, init))

/** It is a list, with these headers. A header that is `undefined` is absent. */
const isList = (headers: Readonly<Record<string, string | undefined>> = {}): Step =>
  answer(({ response }) => {
    expect(response.status, response.text).to.equal(200)
    const named = { 'content-type': 'application/statuslist+jwt', ...headers }
    for (const [name, value] of Object.entries(named))
      expect(response.headers.get(name), name).to.equal(value ?? null)
  })
const listSays = (members: (scene: Scene) => Readonly<Record<string, unknown>>): Step =>
  answer((scene) => expectMembers(decodeJwt(scene.response.text), members(scene)))

const METHODS = ['GET', 'HEAD'] as const
const methods = rowsOf(METHODS)
/** The same by both methods. */
const everyMethod = (title: string, stepsFor: (method: (typeof METHODS)[number]) => Steps): Rule =>
  methods(title, each(METHODS, stepsFor))
/** An error, of which HEAD shows the status. */
const refuses = (method: string, status: number, error: string, text: string): Step =>
  method === 'GET'
    ? answers(status, error, text)
    : answer(({ response }) => expect(response.status).to.equal(status))

/** A list that was signed just now, because something has changed. */
const signedNow: Steps = [
  issuedAlone,
  used('a JWT'),
  ({ setting, id }) => revoke(setting, id),
  lookAgain,
  asks(),
]
const keepsText: Step = ({ kept, response }) => void Object.assign(kept, { list: response.text })
const isTheSame = answer(({ kept, response }) => expect(response.text).to.equal(kept.list))
const isAnother = answer(({ kept, response }) => {
  expect(response.status).to.equal(200)
  expect(response.text).not.to.equal(kept.list)
})

const shows = (isShown: boolean): Step =>
  answer(async (scene) => {
    const index = await scene.index()
    expect((await stoppedNow(scene)).includes(index)).to.equal(isShown)
  })

const NO_BODY = 'HEAD has no body'

/** An API verifies a token, by the verifier of this package, which remembers what it has read. */
const verifiers = new WeakMap<Scene, Verifier>()
const verifies =
  (given: (scene: Scene) => Promise<{ readonly token: string; readonly statusLists?: string }>): Step =>
  async (scene) => {
    const { token, statusLists } = await given(scene)
    const { issuer } = scene.setting
    const verify =
      verifiers.get(scene) ??
      createVerifier({ issuer, audience: API, requireStatus: true, ...(statusLists && { statusLists }) })
    verifiers.set(scene, verify)
    await scene.request(async () => {
      const said = await verify(withBearer(token)).then(
        () => 'valid',
        ({ name, reason }) => `${name}: ${reason}`,
      )
      return { status: 0, headers: new Headers(), text: said, body: undefined }
    })
  }
const isSeenAs = (said: string): Step => answer(({ response }) => expect(response.text).to.equal(said))
const keptToken = async ({ kept: { accessToken: token = '' } }: Scene) => ({ token })
/** Of this issuer, with a status in a list of another one. */
const withListOfAnother = async (scene: Scene) => {
  const other = await settingOf('of another issuer')
  const statusLists = `${other.baseUrl}/api/status-lists`
  const status = { status_list: { idx: 0, uri: `${statusLists}/0` } }
  return { token: await actorJwt(scene.setting, { status }), statusLists }
}

/** Impersonations in these settings have different places. */
const havePlacesOfTheirOwn = (...names: readonly SettingName[]): Step =>
  answer(async (scene) => {
    const places: number[] = []
    for (const name of names) {
      await scene.move(name)
      const { accessToken, id } = await impersonate(scene.setting)
      scene.id = id
      places.push(statusOf(accessToken).idx)
    }
    expect(new Set(places).size).to.equal(names.length)
  })

const routes = [
  everyMethod('S1', (method) => [asks('/0', { method }), isList(), changesNothing]),
  ...['/2', '/00', '/-1', '/x', '/1e1'].map((path) =>
    everyMethod(`S2, ${path}`, (method) => [
      asks(path, { method }),
      refuses(method, 404, 'not_found', NOT_FOUND),
      changesNothing,
    ]),
  ),
  everyMethod('S3', (method) => [
    asks('/0', { method, headers: { accept: 'application/json' } }),
    refuses(method, 406, 'invalid_request', 'a status list is application/statuslist+jwt and nothing else'),
    changesNothing,
  ]),
  everyMethod('S4', (method) => [
    asks('/0?time=1', { method }),
    refuses(method, 501, 'invalid_request', 'time is not supported: only the present list is published'),
    changesNothing,
  ]),
]

const options = [
  rowsOf(['ttl', 'ttl, too long', 'ttl, not whole', 'uri', 'uri, with a query'])('S5', {
    ttl: refusesToStart({ statusList: { ttl: 4 } }, 'statusList.ttl'),
    'ttl, too long': refusesToStart({ statusList: { ttl: 301 } }, 'statusList.ttl'),
    'ttl, not whole': refusesToStart({ statusList: { ttl: 7.5 } }, 'statusList.ttl'),
    uri: refusesToStart({ statusList: { uri: 'urn:lists' } }, 'statusList.uri'),
    'uri, with a query': refusesToStart(
      { statusList: { uri: 'https://id.example.com/lists?a' } },
      'statusList.uri',
    ),
  }),
  rowsOf(['no uri follows', 'off'])('S5, at the start', {
    'no uri follows': [
      answer(async () => {
        const failure = await startDeployment({ options: { managementResource: 'urn:api' } }).catch(String)
        expect(failure).to.include('TypeError: option statusList.uri is required')
      }),
      record(() => {}),
    ],
    off: [
      on('without status lists'),
      asks(),
      answer(({ response }) => expect([response.status, response.text]).to.deep.equal([404, 'Not Found'])),
      changesNothing,
    ],
  }),
]

const lists = [
  rowsOf(['one deployment', 'several issuers'])('S6', {
    'one deployment': [havePlacesOfTheirOwn('usual', 'usual', 'usual'), recordSays({ state: 'consumed' })],
    'several issuers': [
      havePlacesOfTheirOwn('usual', 'of another issuer', 'one API deep'),
      recordSays({ state: 'consumed' }),
    ],
  }),
  everyMethod('S7', (method) => [
    asks('/0', { method }),
    isList({ 'access-control-allow-origin': '*' }),
    ({ response }) => {
      if (method === 'HEAD') return
      const { typ, alg, kid } = decodeProtectedHeader(response.text)
      expect([typ, alg, kid]).to.deep.equal(['statuslist+jwt', 'ES256', 'ES256-1'])
    },
    changesNothing,
  ]),
  ...Object.entries({
    S8: ({ setting }: Scene) => ({ iss: setting.issuer }),
    S9: ({ setting }: Scene) => ({ sub: `${setting.baseUrl}/api/status-lists/0` }),
    S10: () => ({ iat: now() }),
    S11: () => ({ exp: now() + 300 }),
    S12: () => ({ ttl: 30 }),
  }).map(([id, claims]) =>
    methods(id, { GET: [signedNow, listSays(claims), changesNothing], HEAD: NO_BODY }),
  ),
  methods('S13', {
    GET: [
      signedNow,
      listSays(() => ({
        status_list: ({ bits, lst }: { bits: number; lst: string }) =>
          bits === 1 && inflateSync(Buffer.from(lst, 'base64url')).length === 131_072 / 8,
      })),
      answer(async (scene) => {
        const { lst } = decodeJwt<{ status_list: { lst: string } }>(scene.response.text).status_list
        const bytes = inflateSync(Buffer.from(lst, 'base64url'))
        const index = await scene.index()
        expect((bytes[index >> 3] ?? 0) & (1 << (index & 7))).not.to.equal(0)
      }),
      changesNothing,
    ],
    HEAD: NO_BODY,
  }),

  ...(['a JWT', 'an opaque token'] as const).map((format) =>
    everyWay(`S14, ${format}`, ({ stop, revocation }) => [
      issuedAlone,
      used(format),
      shows(false),
      stop(),
      recordSays({ state: 'revoked', revocation }),
      shows(true),
    ]),
  ),
  everyStop('S14, never used', 'it was used before', ({ stop, revocation }) => [
    issuedAlone,
    stop(),
    recordSays({ state: 'revoked', revocation }),
    shows(false),
  ]),
  rowsOf(['for 300 s', 'no longer'])('S14, after the end', {
    'for 300 s': [
      on('on a database of its own'),
      passes(0),
      issuedAlone,
      used('a JWT'),
      ({ setting, id }) => revoke(setting, id),
      passes(850),
      ({ setting }) => purge(setting.database.sequelize, { retention: 0 }),
      shows(true),
      recordSays({ state: 'revoked' }),
    ],
    'no longer': [
      on('on a database of its own'),
      passes(0),
      issuedAlone,
      used('a JWT'),
      ({ setting, id }) => revoke(setting, id),
      passes(900),
      shows(false),
      recordSays({ state: 'revoked' }),
    ],
  }),
  everyMethod('S15, the next one', (method) => [asks('/1', { method }), isList(), changesNothing]),
  everyMethod('S15, beyond', (method) => [
    asks('/2?time=1', { method }),
    refuses(method, 404, 'not_found', NOT_FOUND),
    changesNothing,
  ]),
  everyMethod('S15, far apart', (method) => [
    on('on a database of its own'),
    issuedAlone,
    used('a JWT'),
    ({ setting }) =>
      setting.database.sequelize.query(
        "UPDATE sqlite_sequence SET seq = 5 * 131072 WHERE name = 'subject_tokens'",
      ),
    async (scene) => {
      const { setting } = scene
      await impersonate(setting)
      lookAgain(scene)
      const statuses: number[] = []
      for (const list of [0, 1, 5, 6, 7])
        statuses.push((await askList(setting, `/${list}`, { method })).status)
      expect(statuses).to.deep.equal([200, 404, 200, 200, 404])
    },
    asks('/5', { method }),
    isList(),
    recordUnchanged,
  ]),
  methods('S16', {
    GET: [signedNow, keepsText, passes(14), asks(), isTheSame, passes(1), asks(), isAnother, changesNothing],
    HEAD: NO_BODY,
  }),
  methods('S16, a bit has changed', {
    GET: [signedNow, keepsText, signedNow, isAnother, changesNothing],
    HEAD: NO_BODY,
  }),
  everyMethod('S17, what is left', (method) => [
    signedNow,
    asks('/0', { method }),
    isList({ 'cache-control': 'public, max-age=30' }),
    passes(9),
    asks('/0', { method }),
    isList({ 'cache-control': 'public, max-age=21' }),
    changesNothing,
  ]),
  everyMethod('S17, a condition', (method) => [
    signedNow,
    (scene) => {
      const headers = {
        'if-none-match': scene.response.headers.get('etag') ?? '',
        'cache-control': 'no-cache',
      }
      return asks('/0', { method, headers })(scene)
    },
    answer(({ response }) => expect([response.status, response.text]).to.deep.equal([304, ''])),
    changesNothing,
  ]),
  everyMethod('S17, a condition of another list', (method) => [
    asks('/0', { method, headers: { 'if-none-match': '"x"' } }),
    isList(),
    changesNothing,
  ]),
  rowsOf(['HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('S18', {
    HEAD: [
      asks('/0', { method: 'HEAD' }),
      isList(),
      answer(({ response }) => expect(response.text).to.equal('')),
      changesNothing,
    ],
    ...each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], (method) => [
      asks('/0', { method }),
      answers(405, 'invalid_request', 'method not allowed'),
      ({ response }) => expect(response.headers.get('allow')).to.equal('GET, HEAD'),
      changesNothing,
    ]),
  }),
  rowsOf(['a stop', 'a failure'])('S19', {
    'a stop': [
      issuedAlone,
      used('a JWT'),
      shows(false),
      ({ setting, id }) => revoke(setting, id),
      passes(1),
      asks(),
      isList(),
      recordSays({ state: 'revoked' }),
      shows(true),
    ],
    'a failure': [
      lookAgain,
      fails('store.findStopped'),
      asks(),
      answers(503, 'temporarily_unavailable', UNAVAILABLE),
      ({ response }) => expect(response.headers.get('retry-after')).to.equal('5'),
      works('store.findStopped'),
      asks(),
      answers(503, 'temporarily_unavailable', UNAVAILABLE),
      passes(1),
      asks(),
      isList(),
      changesNothing,
    ],
  }),
  rowsOf(['which lists there are'])('S19, a failure to find', {
    'which lists there are': [
      lookAgain,
      fails('store.findStatusLists'),
      asks('/0'),
      answers(503, 'temporarily_unavailable', UNAVAILABLE),
      works('store.findStatusLists'),
      passes(1),
      asks('/0'),
      isList(),
      changesNothing,
    ],
  }),
  rowsOf(['GET'])('S20', {
    GET: [
      (scene) => scene.request(() => sendHttp(`${scene.setting.issuer}/.well-known/openid-configuration`)),
      answer(({ response }) => {
        expect(response.status).to.equal(200)
        expect(response.text).not.to.include('status_list')
      }),
      changesNothing,
    ],
  }),
  rowsOf(['the verifier of this package'])('S21', {
    'the verifier of this package': [
      verifies(withListOfAnother),
      isSeenAs('ProviderUnavailable: status list: ERR_JWT_CLAIM_VALIDATION_FAILED iss'),
      changesNothing,
    ],
  }),
  rowsOf(['the verifier of this package'])('S22', {
    'the verifier of this package': [
      lookAgain,
      issuedAlone,
      used('a JWT'),
      verifies(keptToken),
      isSeenAs('valid'),
      ({ setting, id }) => revoke(setting, id),
      passes(32),
      verifies(keptToken),
      isSeenAs('Unauthorized: stopped'),
      recordSays({ state: 'revoked' }),
    ],
  }),
]

export const statusListRules = [...routes, ...options, ...lists]
