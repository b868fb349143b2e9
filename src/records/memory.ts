import { epochTime, type Seconds } from '../clock.ts'

/** Values that are expensive to find, by their keys. */
export interface Memory<Key, Value> {
  /**
   * The value of `key`, at most `age` old. Otherwise it is found, one at a time, whatever the key, and for all that ask
   * meanwhile. A failure is not kept.
   */
  recall(key: Key, age: Seconds, find: () => Promise<Value>): Promise<Value>
}

interface Kept<Value> {
  readonly since: Seconds
  readonly value: Promise<Value>
  found: boolean
}

/** @param size more than this many are not kept: the one that was found first goes. */
export function createMemory<Key, Value>(size: number): Memory<Key, Value> {
  const kept = new Map<Key, Kept<Value>>()
  let last: Promise<unknown> = Promise.resolve()

  const isFresh = ({ since, found }: Kept<Value>, age: Seconds) => {
    const now = epochTime()
    // A clock that stepped back says nothing of an age.
    return !found || (since <= now && now - since < age)
  }

  return {
    recall(key, age, find) {
      const known = kept.get(key)
      if (known && isFresh(known, age)) return known.value
      const value = last.then(find)
      last = value.catch(() => {})
      const entry: Kept<Value> = { since: epochTime(), value, found: false }
      kept.delete(key)
      kept.set(key, entry)
      for (const oldest of kept.keys()) if (kept.size > size) kept.delete(oldest)
      value.then(
        () => {
          entry.found = true
        },
        () => {
          if (kept.get(key) === entry) kept.delete(key)
        },
      )
      return value
    },
  }
}
