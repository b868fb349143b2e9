/** How old a status list may be (draft-ietf-oauth-status-list §8.3), and who waits when the provider does not respond: never "valid". */
import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { importJWK } from 'jose'
import { SIGNING_KEY } from '../../../fixtures/keys.ts'
import type { StatusListReport } from '../src/index.ts'
import { resolveOptions } from '../src/options.ts'
import { statusLists } from '../src/status-lists.ts'
import {
  AUDIENCE,
  type Changes,
  JWKS,
  LIST,
  listOf,
  NOW,
  publicPart,
  respond,
  respondJson,
  signList,
  withBearer,
} from './issuer.ts'
import { expectInvalidToken, expectUnavailable, outcomeOf } from './refusals.ts'
import { tellStories, useIssuer } from './stopped-issuer.ts'

describe('resource server: freshness of status lists', () => {
  let reports: StatusListReport[]
  let open: ServerResponse[]
  const onStatusList = (report: StatusListReport) => void reports.push(report)
  const { issuer, verify } = useIssuer({ each: true, onStatusList })
  beforeEach(async () => {
    reports = []
    await issuer.publish()
  })

  const fetched = (path = LIST) => issuer.timesAsked(path)
  const seen = async (by = verify) => {
    const token = await issuer.tokenWithStatus(0, { exp: NOW + 86_400 })
    return outcomeOf(by(withBearer(token)))
  }
  const fails = () => issuer.routes.set(LIST, (_, response) => respond(response, '', { status: 500 }))
  /** Leaves requests for the list without response, and collects them. */
  const hangs = () => {
    open = []
    issuer.routes.set(LIST, (_, response) => void open.push(response))
  }
  const recovers = () => issuer.routes.delete(LIST)
  /** Lets the background work until then. */
  const until = async (condition: () => boolean | Promise<boolean>) => {
    while (!(await condition())) await fetch(`${issuer.issuer}/waiting`)
  }

  /** What becomes of the token at index 0, so many times, after so many requests for the list in all. */
  const sees = (expected: string, { times = 1, requests }: { times?: number; requests?: number } = {}) =>
    async function look() {
      for (let round = 0; round < times; round += 1) expect(await seen()).to.equal(expected)
      if (requests === undefined) return
      await issuer.settled()
      expect(fetched()).to.equal(requests)
    }
  /** It is neither valid nor invalid, for this reason, after so many requests. */
  const isDown = (reason: string, requests: number) =>
    async function look() {
      const token = await issuer.tokenWithStatus(0)
      await expectUnavailable(verify(withBearer(token)), `^status list: ${reason}$`)
      expect(fetched()).to.equal(requests)
    }
  /** A list in which it is stopped comes for the one request that waits. */
  const comes = async () => {
    await until(() => open.length > 0)
    expect(await seen()).to.equal('valid')
    expect(open).to.have.length(1)
    respond(open[0] as ServerResponse, await signList(`${issuer.base}/0`, { status_list: listOf([0]) }))
    await until(async () => (await seen()) === 'stopped')
  }
  const publishes = (stopped: readonly number[], changes?: Changes) => () => issuer.publish(stopped, changes)
  const passes = (seconds: number) => () => issuer.clock.tick(seconds)
  const isSetBack = () => issuer.clock.setBack(3600)
  const DOWN = 'ProviderUnavailable'
  /** What the option `onStatusList` was told, once for each attempt. */
  const told =
    (...expected: readonly Omit<StatusListReport, 'uri'>[]) =>
    () =>
      expect(reports).to.deep.equal(expected.map((report) => ({ uri: `${issuer.base}/0`, ...report })))

  tellStories({
    'asks for nothing during the first half of ttl': [
      sees('valid'),
      passes(14),
      sees('valid', { requests: 1 }),
    ],
    'sees a stop once ttl is over, at the latest': [
      sees('valid'),
      publishes([0]),
      passes(30),
      sees('stopped'),
    ],
    'counts ttl from the time of issue, so that a cache on the way adds nothing': [
      publishes([], { iat: NOW - 20 }),
      sees('valid'),
      passes(9),
      hangs,
      sees('valid'),
    ],
    'waits for a fresh list when the one it has was twenty seconds old on arrival': [
      publishes([], { iat: NOW - 20 }),
      sees('valid'),
      publishes([0]),
      passes(10),
      sees('stopped'),
    ],
    'counts ttl from the arrival where the issuer is ahead': [
      [publishes([], { iat: NOW + 3600, exp: NOW + 7200 }), sees('valid')],
      [publishes([0], { iat: NOW + 3630, exp: NOW + 7200 }), passes(30), sees('stopped')],
    ],
    'uses a list that has just arrived for a second, though its ttl is over': [
      [publishes([], { iat: NOW - 100 }), sees('valid', { times: 5, requests: 1 })],
      [publishes([0]), passes(1), sees('stopped', { requests: 2 })],
    ],
    'uses no list past its exp, not even for a second': [
      publishes([], { iat: NOW - 100, exp: NOW }),
      sees(DOWN),
    ],
    'uses the old list until its exp while none can be had, and then is unavailable': [
      [sees('valid'), publishes([0]), fails],
      [30, 100, 169].flatMap((seconds) => [passes(seconds), sees('valid')]),
      [passes(1), sees(DOWN), recovers, publishes([0]), passes(1), sees('stopped')],
    ],
    'takes a list that breaks a rule for none, and goes on with the old one until its exp': [
      sees('valid'),
      [{ sub: 'https://id.example.com/1' }, { ttl: 0 }, { exp: NOW }, { status_list: {} }].flatMap(
        (broken) => [passes(31), publishes([0], broken), sees('valid')],
      ),
      [passes(300 - 4 * 31), sees(DOWN)],
    ],
    'goes back to no older list': [
      [publishes([0], { iat: NOW }), sees('stopped'), passes(30)],
      [publishes([], { iat: NOW - 1, exp: NOW + 600 }), sees('stopped')],
      [publishes([], { iat: NOW, exp: NOW + 600 }), passes(1)],
      () => until(async () => (await seen()) === 'valid'),
    ],
    'does not repeat a request that failed within a second, with an old list or without': [
      [fails, sees(DOWN, { times: 5, requests: 1 }), passes(1), recovers, sees('valid', { requests: 2 })],
      [fails, passes(30), sees('valid', { times: 5, requests: 3 })],
    ],
    'waits again where the last failure is longer ago than ttl, because the provider may be back': [
      [sees('valid'), fails, passes(30), sees('valid'), recovers],
      [publishes([0]), passes(30), sees('stopped')],
    ],
    'believes no ttl beyond five minutes': [
      [publishes([], { ttl: 86_400, exp: NOW + 86_400 }), sees('valid')],
      [passes(300), publishes([0]), sees('stopped')],
    ],
    'believes no exp beyond fifty minutes': [
      [publishes([], { exp: NOW + 86_400 }), sees('valid'), fails],
      [passes(2999), sees('valid'), passes(1), sees(DOWN)],
    ],
    'tells of a list that it fetched': [sees('valid', { times: 2 }), told({ age: 0, outcome: 'fetched' })],
    'tells how old the list becomes that serves while nothing newer can be had': [
      [sees('valid'), fails, passes(60), sees('valid')],
      [told({ age: 0, outcome: 'fetched' }, { age: 60, outcome: 'failed' })],
    ],
    'tells no age when there is no list left, and every token is refused': [
      [fails, sees(DOWN), told({ outcome: 'failed' })],
    ],
    'asks anew when its own clock was set back': [
      sees('valid'),
      publishes([0]),
      isSetBack,
      sees('stopped'),
      fails,
      isSetBack,
      sees(DOWN),
    ],
    'renews in the background during the second half, one request at a time': [
      [sees('valid'), passes(15), hangs, sees('valid', { times: 5 }), comes],
      () => expect(fetched()).to.equal(2),
    ],
    'lets no request wait for a provider that was just found not to respond': [
      [sees('valid'), fails, passes(30), sees('valid')],
      [hangs, passes(1), sees('valid', { times: 5 }), comes],
    ],
    'uses no list past its exp, and asks for no other one in the second in which it came': [
      [publishes([], { exp: NOW + 0.4 }), sees('valid'), passes(0.5), isDown('expired', 1)],
    ],
    'says that only an older list can be had, once the newer one has ended': [
      [publishes([0], { iat: NOW, exp: NOW + 30.4 }), sees('stopped'), passes(30)],
      [publishes([], { iat: NOW - 1, exp: NOW + 600 }), sees('stopped')],
      [passes(0.5), isDown('older than before', 2)],
    ],
  })

  for (const [title, onStatusList] of Object.entries({
    throws: () => {
      throw new Error('private')
    },
    rejects: () => Promise.reject(new Error('private')),
    'never settles': () => new Promise<void>(() => {}),
  }))
    it(`is what it is if the function that is told of it ${title}`, async () => {
      const telling = issuer.verifier({ onStatusList })
      expect(await seen(telling)).to.equal('valid')
      fails()
      issuer.clock.tick(3600)
      expect(await seen(telling)).to.equal(DOWN)
    })

  it('fetches one list once, though none of those who ask has it yet', async () => {
    const list = Promise.withResolvers<string>()
    let sent = 0
    const assertNotStopped = await withSend(() => {
      sent += 1
      return list.promise
    })
    const uri = `${issuer.base}/0`
    const checks = Array.from({ length: 30 }, (_, index) => assertNotStopped({ uri, index }))
    list.resolve(await signList(uri))
    await Promise.all(checks)
    expect(sent).to.equal(1)
  })

  it('keeps lists apart', async () => {
    issuer.lists.set(1, await signList(`${issuer.base}/1`, { status_list: listOf([0]) }))
    expect(await seen()).to.equal('valid')
    const status = { status_list: { idx: 0, uri: `${issuer.base}/1` } }
    await expectInvalidToken(verify(withBearer(await issuer.token({ status }))), 'stopped')
    expect([fetched(), fetched('/api/status-lists/1')]).to.deep.equal([1, 1])
  })

  it('gives up in time what it renews in the background, whatever the option timeout says', async () => {
    const patient = issuer.verifier({ timeout: 60 })
    await issuer.publish([], { ttl: 2 })
    await seen(patient)
    issuer.clock.tick(1)
    let closed = false
    issuer.routes.set(LIST, (_, response) => void response.on('close', () => (closed = true)))
    expect(await seen(patient)).to.equal('valid')
    await until(() => closed)
    issuer.clock.tick(1)
    expect(await seen(patient)).to.equal('valid')
  })

  /** What looks tokens up in lists that come from `send`. */
  const withSend = async (send: Parameters<typeof statusLists>[2], timeout = 5) => {
    const key = await importJWK({ kty: 'EC', crv: 'P-256', x: SIGNING_KEY.x, y: SIGNING_KEY.y }, 'ES256')
    return statusLists(
      resolveOptions({ issuer: issuer.issuer, audience: AUDIENCE, timeout }),
      { keyOf: () => key, introspectionEndpoint: async () => '' },
      send,
    )
  }

  for (const [ttl, timeout, patience] of [
    [1, 60, 1],
    [2, 60, 1],
    [10, 60, 5],
    [10, 4, 4],
    [300, 60, 60],
  ] as const) {
    it(`waits for the first list as long as ${timeout} s, and for the next one ${patience} s, with a ttl of ${ttl} s`, async () => {
      const waits: number[] = []
      const assertNotStopped = await withSend((request) => {
        waits.push(request.timeout)
        return signList(request.url, { ttl, exp: NOW + 900 })
      }, timeout)
      for (const _ of [1, 2]) {
        await assertNotStopped({ uri: `${issuer.base}/0`, index: 0 })
        issuer.clock.tick(ttl)
      }
      expect(waits).to.deep.equal([timeout, patience])
    })
  }

  it('takes no mistake for an outage that the old list bridges', async () => {
    let broken = false
    const assertNotStopped = await withSend(({ url }) => {
      if (broken) throw new TypeError('not a function')
      return signList(url)
    })
    const check = () => assertNotStopped({ uri: `${issuer.base}/0`, index: 0 })
    await check()
    broken = true
    for (const seconds of [30, 1]) {
      issuer.clock.tick(seconds)
      expect(await check().catch((error: unknown) => error)).to.be.instanceOf(TypeError)
    }
  })

  it('keeps the thousand lists that it fetched last', async () => {
    const sent: string[] = []
    const assertNotStopped = await withSend(({ url }) => {
      sent.push(url)
      return signList(url)
    })
    const check = (number: number) => assertNotStopped({ uri: `${issuer.base}/${number}`, index: 0 })
    for (let number = 0; number <= 1000; number += 1) await check(number)
    expect(sent).to.have.length(1001)
    await check(1000)
    await check(1)
    expect(sent).to.have.length(1001)
    await check(0)
    expect(sent.at(-1)).to.equal(`${issuer.base}/0`)
  })

  it('lets an outage of the keys be one of the list', async () => {
    const token = await issuer.tokenWithStatus(0)
    issuer.routes.set(LIST, async (_, response) =>
      respond(response, await signList(`${issuer.base}/0`, {}, { header: { kid: 'unknown' } })),
    )
    await verify(withBearer(await issuer.token()))
    issuer.clock.tick(5)
    issuer.routes.set('/oidc/jwks', (_, response) => respond(response, '', { status: 500 }))
    await expectUnavailable(verify(withBearer(token)), 'keys: HTTP status 500')
  })

  for (const [where, mark] of [
    ["Cloudflare's workers", 'WebSocketPair'],
    ['an edge runtime', 'EdgeRuntime'],
  ] as const) {
    describe(`on ${where}`, () => {
      beforeEach(() => void Reflect.set(globalThis, mark, class {}))
      afterEach(() => void Reflect.deleteProperty(globalThis, mark))

      it('has each request fetch for itself, because none can wait for what another one began', async () => {
        await verify(withBearer(await issuer.token()))
        hangs()
        const results = [seen(), seen(), seen()]
        await until(() => open.length === 3)
        for (const response of open) respond(response, issuer.lists.get(0) ?? '')
        expect(await Promise.all(results)).to.deep.equal(['valid', 'valid', 'valid'])
        expect(await seen()).to.equal('valid')
        expect(fetched()).to.equal(3)
      })

      it('has one request look for an unknown key, however many name one', async () => {
        await verify(withBearer(await issuer.token()))
        issuer.clock.tick(5)
        const open: ServerResponse[] = []
        issuer.routes.set(JWKS, (_, response) => void open.push(response))
        const refusals: string[] = []
        const attempts = Array.from({ length: 20 }, async (_, number) => {
          const token = await issuer.token({}, { header: { kid: `made-up-${number}` } })
          await verify(withBearer(token)).catch(({ name, reason }) => {
            refusals.push(name === 'Unauthorized' ? name : reason)
          })
        })
        // The one that looks is answered when all others have been.
        await until(() => open.length === 1 && refusals.length === 19)
        respondJson(open[0] as ServerResponse, { keys: [publicPart(SIGNING_KEY)] })
        await Promise.all(attempts)
        expect(refusals).to.deep.equal([...Array(19).fill('keys: under way'), 'Unauthorized'])
        expect(issuer.timesAsked(JWKS)).to.equal(2)
      })

      it('leaves nothing to the background, which ends with the request', async () => {
        await seen()
        issuer.clock.tick(29)
        expect(await seen()).to.equal('valid')
        await issuer.settled()
        expect(fetched()).to.equal(1)
        await issuer.publish([0])
        issuer.clock.tick(1)
        expect(await seen()).to.equal('stopped')
      })
    })
  }
})
