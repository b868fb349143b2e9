/** The promises of an adapter that oidc-provider relies on, as tests that anyone can run. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Adapter, AdapterPayload } from 'oidc-provider'
import { later, type TestRunner, using } from './suite.ts'

/** An adapter under test. */
export interface AdapterSubject {
  /** The adapter of a model, as oidc-provider's option `adapter` creates it. All share one storage. */
  adapter(model: string): Adapter
  /** Called after each test. */
  close?(): Promise<void> | void
  /**
   * Runs `work` as if that many seconds had passed. Give it if something else than `Date.now()` of this process judges
   * what has expired, such as the clock of a server.
   */
  later?(seconds: number, work: () => Promise<void>): Promise<void>
}

/** How `adapterContract` declares its tests, and what it runs them against. */
export interface AdapterContractOptions extends TestRunner {
  /** Called before each test. */
  create(): Promise<AdapterSubject>
}

const MODELS = [
  'AccessToken',
  'AuthorizationCode',
  'BackchannelAuthenticationRequest',
  'Client',
  'ClientCredentials',
  'DeviceCode',
  'Grant',
  'InitialAccessToken',
  'Interaction',
  'PreAuthorizedCode',
  'PushedAuthorizationRequest',
  'RefreshToken',
  'RegistrationAccessToken',
  'ReplayDetection',
  'Session',
]

/** The models that end with their grant. */
const GRANTABLE = [
  'AccessToken',
  'AuthorizationCode',
  'BackchannelAuthenticationRequest',
  'DeviceCode',
  'PreAuthorizedCode',
  'RefreshToken',
]

const LIFE = 600

/** More than any grace after an expiry. */
const LONG_AFTER = 86_400

/**
 * Declares tests of an adapter for oidc-provider: what it stores it returns, for every model; what is consumed stays
 * consumed; what has expired, was destroyed or ended with its grant is gone; nothing else is touched.
 *
 * @example
 * import { describe, it } from 'node:test'
 * import { adapterContract } from 'oidc-provider-impersonation-store-contract'
 *
 * adapterContract({ describe, it, create: async () => ({ adapter: (model) => new MyAdapter(model) }) })
 */
export function adapterContract({ describe, it, create }: AdapterContractOptions): void {
  const test = (title: string, body: (subject: AdapterSubject) => Promise<void>) =>
    it(title, () => using(create, body))

  describe('an adapter for oidc-provider', () => {
    describeStorage(test)
    describeLookups(test)
    describeConsumption(test)
    describeEnds(test)
  })
}

type Test = (title: string, body: (subject: AdapterSubject) => Promise<void>) => void

/** Without what only a stored payload may have: `undefined` members, and the prototype. */
const plain = (payload: unknown): unknown => JSON.parse(JSON.stringify(payload ?? null))

async function assertFinds(adapter: Adapter, id: string, payload: AdapterPayload | undefined): Promise<void> {
  const found = await adapter.find(id)
  if (payload === undefined) assert.ok(!found, `${id} must not be found`)
  else assert.deepEqual(plain(found), plain(payload))
}

function describeStorage(test: Test): void {
  for (const model of [...MODELS, 'AModelOfALaterRelease']) {
    test(`returns a ${model} as it was stored, until it is destroyed`, async ({ adapter }) => {
      const [id, other] = [randomUUID(), randomUUID()]
      const payload = { jti: id, kind: model, exp: 4_000_000_000, extra: { a: ['ü', null, 1.5, false] } }
      await adapter(model).upsert(id, payload, LIFE)
      await adapter(model).upsert(other, { ...payload, jti: other }, LIFE)
      await assertFinds(adapter(model), id, payload)
      await adapter(model).destroy(id)
      await assertFinds(adapter(model), id, undefined)
      await assertFinds(adapter(model), other, { ...payload, jti: other })
    })
  }

  test('finds nothing that was not stored', async ({ adapter }) => {
    await assertFinds(adapter('AccessToken'), randomUUID(), undefined)
    assert.ok(!(await adapter('Session').findByUid(randomUUID())))
    assert.ok(!(await adapter('DeviceCode').findByUserCode(randomUUID())))
    await adapter('AccessToken').destroy(randomUUID())
  })

  test('keeps models apart', async ({ adapter }) => {
    const id = randomUUID()
    await adapter('Session').upsert(id, { jti: id }, LIFE)
    await assertFinds(adapter('Grant'), id, undefined)
    await adapter('Grant').destroy(id)
    await assertFinds(adapter('Session'), id, { jti: id })
  })

  test('replaces what it stored, also by something shorter or much longer', async ({ adapter }) => {
    const id = randomUUID()
    for (const size of [10, 300_000, 1]) {
      const payload = { jti: id, text: 'x'.repeat(size) }
      await adapter('Interaction').upsert(id, payload, LIFE)
      await assertFinds(adapter('Interaction'), id, payload)
    }
  })

  test('stores without expiry what has none', async ({ adapter, later: shift = later }) => {
    const id = randomUUID()
    await adapter('Client').upsert(id, { client_id: id })
    await shift(LONG_AFTER * 3650, () => assertFinds(adapter('Client'), id, { client_id: id }))
  })

  test('keeps ids apart that differ in case, a space, an accent or their 255th character', async ({
    adapter,
  }) => {
    const long = 'x'.repeat(254)
    const odd = ['Straße', 'straße', 'Straße ', ' Straße', 'https://a.example/?b=c&d=e#f', '🙂', "'; --"]
    const ids = [...odd, `${long}1`, `${long}2`]
    for (const id of ids) await adapter('Client').upsert(id, { client_id: id })
    for (const id of ids) await assertFinds(adapter('Client'), id, { client_id: id })
    for (const id of ['STRASSE', 'Strasse', long]) await assertFinds(adapter('Client'), id, undefined)
  })

  test('keeps text as it is, and no member of a payload reaches a prototype', async ({ adapter }) => {
    const id = randomUUID()
    const text = '{"text": "👩‍💻 \\u0000 \\u2028 \\"", "__proto__": {"polluted": true}, "constructor": 1}'
    await adapter('Session').upsert(id, JSON.parse(text), LIFE)
    const found = await adapter('Session').find(id)
    assert.equal(JSON.stringify(found), JSON.stringify(JSON.parse(text)))
    assert.equal(Reflect.get({}, 'polluted'), undefined)
  })

  test('does not change what it returned when the caller does', async ({ adapter }) => {
    const id = randomUUID()
    const payload = { jti: id, openid: { scope: 'openid' } } as AdapterPayload
    await adapter('Grant').upsert(id, payload, LIFE)
    Object.assign(Object(await adapter('Grant').find(id)), { accountId: id })
    await assertFinds(adapter('Grant'), id, payload)
  })
}

function describeLookups(test: Test): void {
  test('finds a session by its uid, and only by its present one', async ({ adapter }) => {
    const [id, first, second] = [randomUUID(), randomUUID(), randomUUID()]
    await adapter('Session').upsert(id, { jti: id, uid: first }, LIFE)
    assert.deepEqual(plain(await adapter('Session').findByUid(first)), { jti: id, uid: first })
    await adapter('Session').upsert(id, { jti: id, uid: second }, LIFE)
    assert.deepEqual(plain(await adapter('Session').findByUid(second)), { jti: id, uid: second })
    assert.ok(!(await adapter('Session').findByUid(first)), 'an earlier uid must not be found')
    await adapter('Session').destroy(id)
    assert.ok(!(await adapter('Session').findByUid(second)), 'a destroyed session must not be found')
  })

  test('finds a device code by its user code, and no other', async ({ adapter }) => {
    const [one, other] = [`WDJB-MJHT-${randomUUID()}`, `WDJB-MJHU-${randomUUID()}`]
    for (const userCode of [one, other])
      await adapter('DeviceCode').upsert(`id-${userCode}`, { jti: `id-${userCode}`, userCode }, LIFE)
    for (const userCode of [one, other]) {
      const found = await adapter('DeviceCode').findByUserCode(userCode)
      assert.deepEqual(plain(found), { jti: `id-${userCode}`, userCode })
    }
    await adapter('DeviceCode').destroy(`id-${one}`)
    assert.ok(!(await adapter('DeviceCode').findByUserCode(one)))
  })
}

function describeConsumption(test: Test): void {
  for (const model of [
    'AuthorizationCode',
    'RefreshToken',
    'DeviceCode',
    'BackchannelAuthenticationRequest',
  ]) {
    test(`says since when a ${model} is consumed, and nothing else changes`, async ({ adapter }) => {
      const id = randomUUID()
      const payload = { jti: id, accountId: 'alice', ...(model === 'DeviceCode' && { userCode: id }) }
      await adapter(model).upsert(id, payload, LIFE)
      const before = Math.floor(Date.now() / 1000)
      await adapter(model).consume(id)
      const { consumed, ...rest } = (await adapter(model).find(id)) ?? {}
      assert.ok(typeof consumed === 'number' && Number.isInteger(consumed), 'consumed must be whole seconds')
      assert.ok(
        consumed >= before - 1 && consumed <= Date.now() / 1000 + 1,
        'consumed must be the time of the call',
      )
      assert.deepEqual(plain(rest), payload)
      if (model === 'DeviceCode')
        assert.ok((await adapter(model).findByUserCode(id))?.consumed, 'findByUserCode must tell it too')
    })
  }

  test('keeps what was consumed consumed when it is stored again', async ({ adapter }) => {
    const id = randomUUID()
    await adapter('DeviceCode').upsert(id, { jti: id, userCode: id }, LIFE)
    await adapter('DeviceCode').consume(id)
    await adapter('DeviceCode').upsert(id, { jti: id, userCode: id, accountId: 'alice' }, LIFE)
    const found = await adapter('DeviceCode').find(id)
    assert.ok(found?.consumed, 'an upsert must not revive what was used')
    assert.equal(found.accountId, 'alice')
  })

  test('keeps the life of what is consumed', async ({ adapter, later: shift = later }) => {
    const id = randomUUID()
    await adapter('RefreshToken').upsert(id, { jti: id }, LIFE)
    await adapter('RefreshToken').consume(id)
    await shift(LIFE - 5, async () => assert.ok(await adapter('RefreshToken').find(id), 'it ended early'))
    await shift(LIFE + LONG_AFTER, () => assertFinds(adapter('RefreshToken'), id, undefined))
  })
}

function describeEnds(test: Test): void {
  for (const model of ['AccessToken', 'Session', 'DeviceCode']) {
    test(`keeps a ${model} until it expires, and not for good`, async ({ adapter, later: shift = later }) => {
      const id = randomUUID()
      const payload = {
        jti: id,
        ...(model === 'Session' && { uid: id }),
        ...(model === 'DeviceCode' && { userCode: id }),
      }
      await adapter(model).upsert(id, payload, LIFE)
      await shift(LIFE - 5, () => assertFinds(adapter(model), id, payload))
      await shift(LIFE + LONG_AFTER, async () => {
        await assertFinds(adapter(model), id, undefined)
        if (model === 'Session') assert.ok(!(await adapter(model).findByUid(id)), 'nor by its uid')
        if (model === 'DeviceCode')
          assert.ok(!(await adapter(model).findByUserCode(id)), 'nor by its user code')
      })
    })
  }

  test('lives on when it is stored again with a longer life', async ({ adapter, later: shift = later }) => {
    const id = randomUUID()
    await adapter('Session').upsert(id, { jti: id }, 60)
    await adapter('Session').upsert(id, { jti: id }, LIFE)
    await shift(LIFE - 5, () => assertFinds(adapter('Session'), id, { jti: id }))
  })

  test('ends every model of a grant, and nothing of another', async ({ adapter }) => {
    const [grantId, otherGrant] = [randomUUID(), randomUUID()]
    const of = (model: string, grant: string) => `${model}-${grant}`
    for (const model of GRANTABLE) {
      for (const grant of [grantId, otherGrant])
        await adapter(model).upsert(of(model, grant), { jti: of(model, grant), grantId: grant }, LIFE)
      await adapter(model).upsert(of(model, 'none'), { jti: of(model, 'none') }, LIFE)
    }
    await adapter('Session').upsert(
      of('Session', grantId),
      { jti: of('Session', grantId), grantId } as AdapterPayload,
      LIFE,
    )
    // As oidc-provider does: for each model, on the adapter of that model.
    for (const model of GRANTABLE) await adapter(model).revokeByGrantId(grantId)
    for (const model of GRANTABLE) {
      await assertFinds(adapter(model), of(model, grantId), undefined)
      await assertFinds(adapter(model), of(model, otherGrant), {
        jti: of(model, otherGrant),
        grantId: otherGrant,
      })
      await assertFinds(adapter(model), of(model, 'none'), { jti: of(model, 'none') })
    }
    assert.ok(await adapter('Session').find(of('Session', grantId)), 'a session does not end with a grant')
  })
}
