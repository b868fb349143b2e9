/** How old a status list may be (draft-ietf-oauth-status-list §8.3), and who waits when the provider does not respond: never "valid". */
import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { importJWK } from 'jose'
import { SIGNING_KEY } from '../../../fixtures/keys.ts'
import type { Verifier } from '../src/index.ts'
import { resolveOptions } from '../src/options.ts'
import { statusLists } from '../src/status-lists.ts'
import {
  AUDIENCE,
  type Changes,
  JWKS,
  LIST,
  listOf,
  NOW,
  respond,
  respondJson,
  signList,
  withBearer,
} from './issuer.ts'
import { expectInvalidToken, expectUnavailable } from './refusals.ts'
import { type StoppedIssuer, startStoppedIssuer } from './stopped-issuer.ts'

describe('resource server: freshness of status lists', () => {
  let issuer: StoppedIssuer
  let verify: Verifier
  beforeEach(async () => {
    issuer = await startStoppedIssuer()
    verify = issuer.verifier()
    await issuer.publish()
  })
  afterEach(() => issuer.close())

  const fetched = (path = LIST) => issuer.asked.filter((one) => one === path).length
  const seen = async (idx = 0) => {
    const token = await issuer.tokenWithStatus(idx, { exp: NOW + 86_400 })
    return verify(withBearer(token)).then(
      () => 'valid',
      ({ reason, name }) => (name === 'Unauthorized' ? reason : name),
    )
  }
  const fails = () => issuer.routes.set(LIST, (_, response) => respond(response, '', { status: 500 }))
  /** Leaves requests for the list without response, and collects them. */
  const hangs = (): ServerResponse[] => {
    const open: ServerResponse[] = []
    issuer.routes.set(LIST, (_, response) => void open.push(response))
    return open
  }
  const recovers = () => issuer.routes.delete(LIST)
  /** Lets the background work until then. */
  const until = async (condition: () => boolean | Promise<boolean>) => {
    while (!(await condition())) await fetch(`${issuer.issuer}/waiting`)
  }

  it('fetches one list once, however many ask for it at a time', async () => {
    const results = await Promise.all(Array.from({ length: 30 }, (_, idx) => seen(idx)))
    expect(new Set(results)).to.deep.equal(new Set(['valid']))
    expect(fetched()).to.equal(1)
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

  it('asks for nothing during the first half of ttl', async () => {
    await seen()
    issuer.clock.tick(14)
    expect(await seen()).to.equal('valid')
    await fetch(`${issuer.issuer}/waiting`)
    expect(fetched()).to.equal(1)
  })

  it('renews in the background during the second half, one request at a time', async () => {
    await seen()
    issuer.clock.tick(15)
    const open = hangs()
    for (let round = 0; round < 5; round += 1) expect(await seen()).to.equal('valid')
    await until(() => open.length > 0)
    expect(await seen()).to.equal('valid')
    expect(open).to.have.length(1)
    respond(open[0] as ServerResponse, await signList(`${issuer.base}/0`, { status_list: listOf([0]) }))
    await until(async () => (await seen()) === 'stopped')
    expect(fetched()).to.equal(2)
  })

  it('sees a stop once ttl is over, at the latest', async () => {
    await seen()
    await issuer.publish([0])
    issuer.clock.tick(30)
    expect(await seen()).to.equal('stopped')
  })

  it('counts ttl from the time of issue, so that a cache on the way adds nothing', async () => {
    await issuer.publish([], { iat: NOW - 20 })
    await seen()
    issuer.clock.tick(9)
    hangs()
    expect(await seen()).to.equal('valid')
  })

  it('waits for a fresh list when the one it has was twenty seconds old on arrival', async () => {
    await issuer.publish([], { iat: NOW - 20 })
    await seen()
    await issuer.publish([0])
    issuer.clock.tick(10)
    expect(await seen()).to.equal('stopped')
  })

  it('counts ttl from the arrival where the issuer is ahead', async () => {
    await issuer.publish([], { iat: NOW + 3600, exp: NOW + 7200 })
    await seen()
    await issuer.publish([0], { iat: NOW + 3630, exp: NOW + 7200 })
    issuer.clock.tick(30)
    expect(await seen()).to.equal('stopped')
  })

  it('uses a list that has just arrived for a second, though its ttl is over', async () => {
    await issuer.publish([], { iat: NOW - 100 })
    for (let round = 0; round < 5; round += 1) expect(await seen()).to.equal('valid')
    expect(fetched()).to.equal(1)
    await issuer.publish([0])
    issuer.clock.tick(1)
    expect(await seen()).to.equal('stopped')
    expect(fetched()).to.equal(2)
  })

  it('uses no list past its exp, not even for a second', async () => {
    await issuer.publish([], { iat: NOW - 100, exp: NOW })
    expect(await seen()).to.equal('ProviderUnavailable')
  })

  it('uses no list past its exp, and asks for no other one in the second in which it came', async () => {
    await issuer.publish([], { exp: NOW + 0.4 })
    expect(await seen()).to.equal('valid')
    issuer.clock.tick(0.5)
    const token = await issuer.tokenWithStatus(0)
    await expectUnavailable(verify(withBearer(token)), '^status list: expired$')
    expect(fetched()).to.equal(1)
  })

  it('uses the old list until its exp while none can be had, and then is unavailable', async () => {
    await seen()
    await issuer.publish([0])
    fails()
    for (const seconds of [30, 100, 169]) {
      issuer.clock.tick(seconds)
      expect(await seen()).to.equal('valid')
    }
    issuer.clock.tick(1)
    expect(await seen()).to.equal('ProviderUnavailable')
    recovers()
    await issuer.publish([0])
    issuer.clock.tick(1)
    expect(await seen()).to.equal('stopped')
  })

  it('takes a list that breaks a rule for none, and goes on with the old one until its exp', async () => {
    await seen()
    const broken: Changes[] = [{ sub: `${issuer.base}/1` }, { ttl: 0 }, { exp: NOW }, { status_list: {} }]
    for (const changes of broken) {
      issuer.clock.tick(31)
      await issuer.publish([0], changes)
      expect(await seen()).to.equal('valid')
    }
    issuer.clock.tick(300 - broken.length * 31)
    expect(await seen()).to.equal('ProviderUnavailable')
  })

  it('goes back to no older list', async () => {
    await issuer.publish([0], { iat: NOW })
    expect(await seen()).to.equal('stopped')
    issuer.clock.tick(30)
    await issuer.publish([], { iat: NOW - 1, exp: NOW + 600 })
    expect(await seen()).to.equal('stopped')
    await issuer.publish([], { iat: NOW, exp: NOW + 600 })
    issuer.clock.tick(1)
    await until(async () => (await seen()) === 'valid')
  })

  it('says that only an older list can be had, once the newer one has ended', async () => {
    await issuer.publish([0], { iat: NOW, exp: NOW + 30.4 })
    expect(await seen()).to.equal('stopped')
    issuer.clock.tick(30)
    await issuer.publish([], { iat: NOW - 1, exp: NOW + 600 })
    expect(await seen()).to.equal('stopped')
    issuer.clock.tick(0.5)
    const token = await issuer.tokenWithStatus(0)
    await expectUnavailable(verify(withBearer(token)), '^status list: older than before$')
  })

  it('does not repeat a request that failed within a second, with an old list or without', async () => {
    fails()
    for (let round = 0; round < 5; round += 1) expect(await seen()).to.equal('ProviderUnavailable')
    expect(fetched()).to.equal(1)
    issuer.clock.tick(1)
    recovers()
    expect(await seen()).to.equal('valid')
    expect(fetched()).to.equal(2)
    fails()
    issuer.clock.tick(30)
    for (let round = 0; round < 5; round += 1) expect(await seen()).to.equal('valid')
    expect(fetched()).to.equal(3)
  })

  it('lets no request wait for a provider that was just found not to respond', async () => {
    await seen()
    fails()
    issuer.clock.tick(30)
    expect(await seen()).to.equal('valid')
    const open = hangs()
    issuer.clock.tick(1)
    for (let round = 0; round < 5; round += 1) expect(await seen()).to.equal('valid')
    await until(() => open.length === 1)
    respond(open[0] as ServerResponse, await signList(`${issuer.base}/0`, { status_list: listOf([0]) }))
    await until(async () => (await seen()) === 'stopped')
  })

  it('waits again where the last failure is longer ago than ttl, because the provider may be back', async () => {
    await seen()
    fails()
    issuer.clock.tick(30)
    expect(await seen()).to.equal('valid')
    recovers()
    await issuer.publish([0])
    issuer.clock.tick(30)
    expect(await seen()).to.equal('stopped')
  })

  it('gives up in time what it renews in the background, whatever the option timeout says', async () => {
    verify = issuer.verifier({ timeout: 60 })
    await issuer.publish([], { ttl: 2 })
    await seen()
    issuer.clock.tick(1)
    let closed = false
    issuer.routes.set(LIST, (_, response) => void response.on('close', () => (closed = true)))
    expect(await seen()).to.equal('valid')
    await until(() => closed)
    issuer.clock.tick(1)
    expect(await seen()).to.equal('valid')
  })

  it('believes no ttl beyond five minutes', async () => {
    await issuer.publish([], { ttl: 86_400, exp: NOW + 86_400 })
    await seen()
    issuer.clock.tick(300)
    await issuer.publish([0])
    expect(await seen()).to.equal('stopped')
  })

  it('believes no exp beyond fifty minutes', async () => {
    await issuer.publish([], { exp: NOW + 86_400 })
    await seen()
    fails()
    issuer.clock.tick(2999)
    expect(await seen()).to.equal('valid')
    issuer.clock.tick(1)
    expect(await seen()).to.equal('ProviderUnavailable')
  })

  it('asks anew when its own clock was set back', async () => {
    await seen()
    await issuer.publish([0])
    issuer.clock.setBack(3600)
    expect(await seen()).to.equal('stopped')
    fails()
    issuer.clock.setBack(3600)
    expect(await seen()).to.equal('ProviderUnavailable')
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
        const open = hangs()
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
        respondJson(open[0] as ServerResponse, { keys: issuer.keys })
        await Promise.all(attempts)
        expect(refusals).to.deep.equal([...Array(19).fill('keys: under way'), 'Unauthorized'])
        expect(issuer.asked.filter((path) => path === JWKS)).to.have.length(2)
      })

      it('leaves nothing to the background, which ends with the request', async () => {
        await seen()
        issuer.clock.tick(29)
        expect(await seen()).to.equal('valid')
        await fetch(`${issuer.issuer}/waiting`)
        expect(fetched()).to.equal(1)
        await issuer.publish([0])
        issuer.clock.tick(1)
        expect(await seen()).to.equal('stopped')
      })
    })
  }
})
