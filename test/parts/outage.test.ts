/** What becomes of a store's results and of its failures (protocol.md §3.2). */
import { expect } from 'chai'
import { errors } from 'oidc-provider'
import { isStorageUnavailable, reasonOf } from '../../src/base/errors.ts'
import { isRepeatable, reportOutage } from '../../src/provider/outage.ts'
import {
  SESSION_METHODS,
  STORE_METHODS,
  StoreFailure,
  type SubjectTokenStore,
} from '../../src/tokens/store.ts'

const YIELDING: readonly string[] = ['summarize', 'countLive', 'revokeWhere']
const GIVEN = ['first', 'second', 'third', 'fourth']

/** A store whose every method is this one. */
const storeOf = (method: (...given: readonly unknown[]) => unknown): SubjectTokenStore => {
  const all = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, method]))
  return { ...all(STORE_METHODS), sessions: all(SESSION_METHODS) } as never
}

/** Calls a method of the guarded store, or of its sessions. Of one that yields, all that it yields. */
async function call(store: SubjectTokenStore, method: string): Promise<unknown> {
  const guarded = reportOutage(store)
  const methods = method in guarded ? guarded : (guarded.sessions ?? {})
  const result: unknown = Reflect.apply(Reflect.get(methods, method), undefined, GIVEN)
  if (!YIELDING.includes(method)) return result
  const yielded: unknown[] = []
  for await (const one of result as AsyncIterable<unknown>) yielded.push(one)
  return yielded
}

const failureOf = (method: string, thrown: unknown): Promise<Error> =>
  call(
    storeOf(() => {
      throw thrown
    }),
    method,
  ).then(
    () => new Error('no failure'),
    (outage: Error) => outage,
  )

const UNKNOWN = 'the outcome of the spend is unknown: '
const failure = (says: ConstructorParameters<typeof StoreFailure>[1] = {}) =>
  new StoreFailure('private', says)
const lost = (members: object = {}): Error => Object.assign(new Error('private'), members)

describe('an outage of the store', () => {
  for (const method of [...STORE_METHODS, ...SESSION_METHODS]) {
    it(`is none while ${method} responds: it gets what was given, and its result is passed on`, async () => {
      const echo = YIELDING.includes(method)
        ? async function* (...received: readonly unknown[]) {
            yield* received
          }
        : async (...received: readonly unknown[]) => received
      expect(await call(storeOf(echo), method)).to.deep.equal(GIVEN)
    })

    it(`is a 503 when ${method} fails, in fixed words for the client and without the message`, async () => {
      const error = await failureOf(method, lost())
      expect(error).to.be.instanceOf(errors.TemporarilyUnavailable)
      expect(isStorageUnavailable(error)).to.equal(true)
      const isSpend = method === 'consume'
      expect(isRepeatable(error)).to.equal(!isSpend)
      expect(error).to.include({
        status: 503,
        statusCode: 503,
        error: 'temporarily_unavailable',
        error_description: isSpend ? 'request a new subject token' : 'the service is temporarily unavailable',
        error_detail: isSpend ? `${UNKNOWN}Error` : 'Error',
      })
    })
  }

  const reasons: [title: string, thrown: unknown, reason: string][] = [
    ['its text for operators', failure({ forOperators: 'run the migration' }), 'run the migration'],
    ['its code, where it is no StoreFailure', lost({ forOperators: 'run it', code: 'E42' }), 'E42'],
    ['its class, where it has no code', new RangeError('private'), 'RangeError'],
    ['that it is not an error', { forOperators: 'run the migration' }, 'not an error'],
    ['that null is not an error', null, 'not an error'],
  ]
  for (const [title, thrown, reason] of reasons) {
    it(`names to operators ${title}`, async () => {
      expect(reasonOf(await failureOf('find', thrown))).to.equal(reason)
    })
  }

  it('adds no sessions to a store without them', () => {
    const { sessions: _, ...others } = storeOf(() => undefined)
    expect(reportOutage(others)).not.to.have.property('sessions')
  })

  it('is no other error, nor what is none', () => {
    for (const other of [
      new Error('storage'),
      new errors.TemporarilyUnavailable(),
      { check: 'storage' },
      null,
    ])
      expect(isStorageUnavailable(other)).to.equal(false)
  })
})
