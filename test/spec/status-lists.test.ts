/** Status lists (docs/protocol.md §2.4, §4.1). */
import { inflateSync } from 'node:zlib'
import { getListFromStatusListJWT } from '@sd-jwt/jwt-status-list'
import { expect } from 'chai'
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { actorJwt } from '../../fixtures/actor-tokens.ts'
import { now } from '../../fixtures/clock.ts'
import { API, startDeployment } from '../../fixtures/deployment.ts'
import { send as sendHttp } from '../../fixtures/http.ts'
import { revoke } from '../../fixtures/management.ts'
import { askList, impersonate, type Status, statusOf } from '../../fixtures/status-lists.ts'
import { createVerifier, type Verifier } from '../../packages/resource-server/src/index.ts'
import { withBearer } from '../../packages/resource-server/test/issuer.ts'
import { purge } from '../../src/sequelize/index.ts'
import { made, type Of } from './exchanging.ts'
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
import { declareCells } from './matrix.ts'
import { answer, each, type Rule, record, rowsOf, type Step, type Steps, texts } from './rule.ts'
import type { Scene } from './scene.ts'
import { type SettingName, settingOf } from './settings.ts'
import { everyStop, everyWay, issuedAlone, used } from './stopping.ts'

const NOT_FOUND = 'status list not found'
const UNAVAILABLE = 'the service is temporarily unavailable'

/** Asks for a list. */
const asks =
  (path = '/0', init: Of<RequestInit> = {}): Step =>
  async (scene) => {
    const request = await made(init, scene)
    await scene.request(() => askList(scene.setting, path, request))
  }

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
/** An error, of which HEAD shows the status. Every origin may read it. */
const refuses = (method: string, status: number, error: string, text: string): Steps => [
  method === 'HEAD'
    ? answer(({ response }) => expect(response.status).to.equal(status))
    : answers(status, error, text),
  ({ response }) => expect(response.headers.get('access-control-allow-origin')).to.equal('*'),
]
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

const keepsTag: Step = ({ kept, response }) => {
  kept.tag = response.headers.get('etag') ?? ''
  expect(kept.tag).to.match(/^"[\w-]{43}"$/)
}
const headersOf = ({ response }: Scene): string =>
  ['content-type', 'content-length', 'etag', 'cache-control'].map((name) => response.headers.get(name)).join()
const isUnavailable: Steps = [
  refuses('GET', 503, 'temporarily_unavailable', UNAVAILABLE),
  ({ response }) => expect(response.headers.get('retry-after')).to.equal('5'),
]
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

/** Impersonations at the same moment in these settings have different places. */
const havePlacesOfTheirOwn = (...names: readonly SettingName[]): Step =>
  answer(async (scene) => {
    for (const name of names) await scene.move(name)
    const settings = await Promise.all(names.map(settingOf))
    const made = await Promise.all(
      Array.from({ length: 30 }, () => settings.map((setting) => impersonate(setting))).flat(),
    )
    scene.id = made.at(-1)?.id ?? ''
    expect(new Set(made.map(({ accessToken }) => statusOf(accessToken).idx)).size).to.equal(made.length)
  })

const asksNothing: Step = ({ statements }) => expect(statements).to.deep.equal([])
const NUMBERS = ['/2', '/1000', '/99999999999999999999', `/${'9'.repeat(5000)}`]
const NO_NUMBERS = '/00 /01 /-1 /+1 /1.0 /1e0 /0x0 /a /0a /%30 /0%00 /０ /0;v=1 /%zz'.split(' ')
const MEDIA_TYPE = 'application/statuslist+jwt'
const routes = [
  everyMethod('S1', (method) => [asks('/0', { method }), isList(), changesNothing]),
  texts('S1, paths of the host', ['', '/', '/0/', '/0/1'], (path) => [
    asks(path),
    answer(({ response }) => expect([response.status, response.text]).to.deep.equal([404, 'Not Found'])),
    changesNothing,
  ]),
  ...[...NUMBERS, ...NO_NUMBERS].map((path) =>
    everyMethod(`S2, ${path.slice(0, 30)}`, (method) => [
      passes(0),
      lookAgain,
      // Whether there is such a number is known from the last list.
      NUMBERS.includes(path) ? asks() : [],
      ['', '?time=1', '?x=1'].map((query) => [
        asks(path + query, { method, headers: { 'if-none-match': '*' } }),
        asksNothing,
        refuses(method, 404, 'not_found', NOT_FOUND),
      ]),
      changesNothing,
    ]),
  ),
  ...['application/json', 'application/statuslist+cwt', 'text/*', `${MEDIA_TYPE};q=0`].map((accept) =>
    everyMethod(`S3, ${accept}`, (method) => [
      asks('/0', { method, headers: { accept } }),
      refuses(method, 406, 'invalid_request', 'a status list is application/statuslist+jwt and nothing else'),
      changesNothing,
    ]),
  ),
  texts(
    'S3, accepted',
    [MEDIA_TYPE, '*/*', 'application/*', `application/json, ${MEDIA_TYPE};q=0.1`],
    (accept) => [asks('/0', { headers: { accept } }), isList(), changesNothing],
  ),
  ...['time=1', 'time=', 'time', 'x=1&time=1'].map((query) =>
    everyMethod(`S4, ${query}`, (method) => [
      asks(`/0?${query}`, { method }),
      refuses(method, 501, 'invalid_request', 'time is not supported: only the present list is published'),
      changesNothing,
    ]),
  ),
  rowsOf(['GET'])('S4, another parameter', { GET: [asks('/0?x=1'), isList(), changesNothing] }),
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
    'one deployment': [havePlacesOfTheirOwn('usual'), recordSays({ state: 'consumed' })],
    'several issuers': [
      havePlacesOfTheirOwn('usual', 'of another issuer', 'one API deep'),
      recordSays({ state: 'consumed' }),
    ],
  }),
  everyMethod('S7', (method) => [
    asks('/0', { method }),
    isList({ 'access-control-allow-origin': '*' }),
    async ({ response, setting }) => {
      if (method === 'HEAD') return
      const keys = createRemoteJWKSet(new URL(`${setting.issuer}/jwks`))
      const { payload, protectedHeader } = await jwtVerify(response.text, keys)
      expect(protectedHeader).to.deep.equal({ typ: 'statuslist+jwt', alg: 'ES256', kid: 'ES256-1' })
      expect(payload).to.have.all.keys('iss', 'sub', 'iat', 'exp', 'ttl', 'status_list')
    },
    changesNothing,
  ]),
  methods('S8 S9 S10 S11 S12 S13', {
    GET: [
      signedNow,
      listSays(({ setting }) => ({
        ...{ iss: setting.issuer, sub: `${setting.baseUrl}/api/status-lists/0` },
        ...{ iat: now(), exp: now() + 300, ttl: 30 },
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
  rowsOf(['of another issuer'])('S14, a stop', {
    'of another issuer': [
      on('of another issuer'),
      issuedAlone,
      used('a JWT'),
      ({ setting, id }) => revoke(setting, id),
      on('usual'),
      shows(false),
      on('of another issuer'),
      shows(true),
      recordSays({ state: 'revoked' }),
    ],
  }),
  everyMethod('S15, the next one', (method) => [asks('/1', { method }), isList(), changesNothing]),
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
  rowsOf(['all places taken', 'after a purge'])('S6, places', {
    'all places taken': [
      on('on a database of its own'),
      ({ setting }) =>
        setting.database.sequelize.query(
          "UPDATE sqlite_sequence SET seq = 9 * 131072 - 2 WHERE name = 'subject_tokens'",
        ),
      answer(async ({ setting }) => {
        const places: Status[] = []
        for (let count = 0; count < 3; count += 1)
          places.push(statusOf((await impersonate(setting)).accessToken))
        const base = `${setting.baseUrl}/api/status-lists`
        expect(places).to.deep.equal([
          { idx: 131_071, uri: `${base}/8` },
          { idx: 0, uri: `${base}/9` },
          { idx: 1, uri: `${base}/9` },
        ])
      }),
      issuedAlone,
      used('a JWT'),
      ({ setting, id }) => revoke(setting, id),
      lookAgain,
      answer(async ({ setting }) => {
        const shown = ['/8', '/9'].map(async (path) => {
          const list = getListFromStatusListJWT((await askList(setting, path)).text)
          return [1, 2, 3].map((index) => list.getStatus(index))
        })
        expect(await Promise.all(shown)).to.deep.equal([
          [0, 0, 0],
          [0, 1, 0],
        ])
      }),
      recordSays({ state: 'revoked' }),
    ],
    'after a purge': [
      on('on a database of its own'),
      passes(0),
      issuedAlone,
      used('a JWT'),
      async (scene) => {
        const first = await scene.index()
        scene.pass(86_400)
        await purge(scene.setting.database.sequelize, { retention: 0 })
        expect(await scene.row()).to.equal(undefined)
        const { accessToken, id } = await impersonate(scene.setting)
        scene.id = id
        expect(statusOf(accessToken).idx % 131_072).to.be.greaterThan(first % 131_072)
      },
      answer(() => {}),
      recordSays({ state: 'consumed' }),
    ],
  }),
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
  ...Object.entries<(tag: string) => string>({
    'its tag': (tag) => tag,
    'a weak tag': (tag) => `W/${tag}`,
    'one of two': (tag) => `"x", ${tag}`,
    'one of several': (tag) => `"x",W/"y" ,${tag}, "z"`,
    any: () => '*',
  }).map(([title, condition]) =>
    everyMethod(`S17, met: ${title}`, (method) => [
      signedNow,
      keepsTag,
      passes(9),
      ['no-cache', 'max-age=0', undefined].map((control) => [
        asks('/0', ({ kept: { tag = '' } }) => ({
          method,
          headers: { 'if-none-match': condition(tag), ...(control && { 'cache-control': control }) },
        })),
        answer(({ response, kept }) => {
          expect([response.status, response.text]).to.deep.equal([304, ''])
          const { headers } = response
          expect(['etag', 'cache-control', 'content-type'].map((name) => headers.get(name))).to.deep.equal([
            kept.tag,
            'public, max-age=21',
            null,
          ])
        }),
      ]),
      changesNothing,
    ]),
  ),
  ...['"x"', 'x', '"*"', '""', 'W/"x"'].map((condition) =>
    everyMethod(`S17, not met: ${condition}`, (method) => [
      asks('/0', { method, headers: { 'if-none-match': condition } }),
      isList(),
      changesNothing,
    ]),
  ),
  methods('S17, no longer met', {
    GET: [
      signedNow,
      keepsTag,
      signedNow,
      asks('/0', ({ kept: { tag = '' } }) => ({ headers: { 'if-none-match': tag } })),
      isList(),
      changesNothing,
    ],
    HEAD: NO_BODY,
  }),
  rowsOf(['HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('S18', {
    HEAD: [
      signedNow,
      (scene) => {
        scene.kept.headers = headersOf(scene)
      },
      asks('/0', { method: 'HEAD' }),
      isList(),
      answer((scene) =>
        expect([headersOf(scene), scene.response.text]).to.deep.equal([scene.kept.headers, '']),
      ),
      changesNothing,
    ],
    ...each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], (method) => [
      ['/0', '/7', '/x'].map((path) => [
        asks(path, { method }),
        refuses(method, 405, 'invalid_request', 'method not allowed'),
        ({ response }: Scene) => expect(response.headers.get('allow')).to.equal('GET, HEAD'),
      ]),
      changesNothing,
    ]),
  }),
  rowsOf(['a stop', 'many at once', 'a clock that was set back', 'a read that takes its time'])('S19', {
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
    'many at once': [
      lookAgain,
      (scene) =>
        scene.request(async () => {
          const asked = ['/0', '/1'].flatMap((path) =>
            Array.from({ length: 30 }, () => askList(scene.setting, path)),
          )
          const [first] = await Promise.all(asked)
          return first ?? expect.fail()
        }),
      isList(),
      // Which lists there are, and what was stopped.
      ({ calls }) => expect(calls.toSorted()).to.deep.equal(['store.findStatusLists', 'store.findStopped']),
      changesNothing,
    ],
    'a clock that was set back': [
      on('one API deep'),
      passes(0),
      asks(),
      (scene) => scene.setBack(3600),
      signedNow,
      listSays(() => ({ iat: now() })),
      changesNothing,
      shows(true),
    ],
    'a read that takes its time': [
      passes(0),
      issuedAlone,
      used('a JWT'),
      ({ setting, id }) => revoke(setting, id),
      lookAgain,
      (scene) => {
        scene.kept.asked = String(now())
        scene.setting.instead.set('store.findStopped', async (call) => {
          const found = await call()
          scene.pass(7)
          return found
        })
      },
      asks(),
      // It is never younger than what it knows.
      listSays(({ kept }) => ({ iat: Number(kept.asked) })),
      changesNothing,
    ],
  }),
  ...['store.findStopped', 'store.findStatusLists'].map((call) =>
    rowsOf(['GET'])(`S19, a failure of ${call}`, {
      GET: [
        passes(0),
        lookAgain,
        fails(call),
        asks(),
        isUnavailable,
        works(call),
        asks(),
        ({ calls }) => expect(calls).to.deep.equal([]),
        isUnavailable,
        passes(1),
        asks(),
        isList(),
        changesNothing,
      ],
    }),
  ),
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

declareCells('S', [...routes, ...options, ...lists])
