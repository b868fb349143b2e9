/** An outage of storage: kept apart from every other error, and never reported as "invalid token". */
import { errors } from 'oidc-provider'
import { nameOf, refusal } from '../base/errors.ts'
import { SESSION_METHODS, STORE_METHODS, StoreFailure, type SubjectTokenStore } from '../tokens/store.ts'

const unavailable = (text: string, options: { readonly detail?: string }) =>
  Object.assign(new errors.TemporarilyUnavailable(text, options), { status: 503, statusCode: 503 })

/** A failure of storage, as a 503. Its message is not repeated: it may hold what was stored. */
export function storageUnavailable(cause: unknown): Error {
  return refusal(unavailable, {
    check: 'storage',
    public: 'the service is temporarily unavailable',
    private: (cause instanceof StoreFailure ? cause.forOperators : undefined) ?? nameOf(cause),
  })
}

/** A call to the provider's storage: its failure is an outage. */
export const orOutage = <Result>(asked: Promise<Result>): Promise<Result> =>
  asked.catch((error: unknown) => {
    throw storageUnavailable(error)
  })

const unrepeatable = new WeakSet<Error>()

/** No one knows whether the subject token was spent: a repetition could be taken for a replay. */
function spendUnknown(cause: unknown): Error {
  const error = refusal(unavailable, {
    check: 'storage',
    public: 'request a new subject token',
    private: `the outcome of the spend is unknown: ${nameOf(cause)}`,
  })
  unrepeatable.add(error)
  return error
}

/** Whether the client may send the same request again. */
export const isRepeatable = (error: Error): boolean => !unrepeatable.has(error)

const spendFailed = (error: unknown): Error =>
  error instanceof StoreFailure && error.tookEffect === false
    ? storageUnavailable(error)
    : spendUnknown(error)

type Yielding = {
  [Name in keyof SubjectTokenStore]-?: SubjectTokenStore[Name] extends (
    ...given: never
  ) => AsyncIterable<unknown>
    ? Name
    : never
}[keyof SubjectTokenStore]

/** Methods that yield what they find: typed by the contract, so that none is guarded as a promise. */
const YIELDING: Readonly<Record<Yielding, true>> = { summarize: true, countLive: true, revokeWhere: true }

/** The store, with every failure of it turned into an outage. */
export const reportOutage = (store: SubjectTokenStore): SubjectTokenStore => ({
  ...guarded(store, STORE_METHODS),
  ...(store.sessions && { sessions: guarded(store.sessions, SESSION_METHODS) }),
})

function guarded<Store extends object>(store: Store, methods: readonly string[]): Store {
  const call = (name: string, given: readonly unknown[]) => Object(store)[name](...given)
  const guard =
    (name: string) =>
    async (...given: readonly unknown[]) => {
      try {
        return await call(name, given)
      } catch (error) {
        throw name === 'consume' ? spendFailed(error) : storageUnavailable(error)
      }
    }
  const guardEach = (name: string) =>
    async function* (...given: readonly unknown[]) {
      try {
        yield* call(name, given)
      } catch (error) {
        throw storageUnavailable(error)
      }
    }
  const guards = methods.map((name) => [name, Object.hasOwn(YIELDING, name) ? guardEach(name) : guard(name)])
  return Object.fromEntries(guards)
}
