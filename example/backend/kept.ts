/** A value that takes a request to get, cached for a while. */

interface Loaded<Value> {
  readonly value: Value
  readonly seconds: number
}

interface Entry<Value> {
  readonly value: Promise<Value>
  /** In milliseconds, as `Date.now()` counts. */
  until: number
}

export interface Kept<Value> {
  get(): Promise<Value>
  forget(): void
}

/** Concurrent callers wait for one request. A failure is not cached. */
export function kept<Value>(load: () => Promise<Loaded<Value>>): Kept<Value> {
  let entry: Entry<Value> | undefined

  function begin(): Entry<Value> {
    const begun: Entry<Value> = { value: loadInto(() => begun), until: Number.POSITIVE_INFINITY }
    begun.value.catch(() => {
      if (entry === begun) entry = undefined
    })
    return begun
  }

  async function loadInto(begun: () => Entry<Value>): Promise<Value> {
    const { value, seconds } = await load()
    begun().until = Date.now() + seconds * 1000
    return value
  }

  return {
    get() {
      if (!entry || Date.now() >= entry.until) entry = begin()
      return entry.value
    },
    forget() {
      entry = undefined
    },
  }
}
