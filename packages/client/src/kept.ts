import { instant, type Seconds } from './time.ts'

interface Entry<Value> {
  readonly value: Promise<Value>
  /** From when on it is loaded anew. */
  until: number
}

interface Loaded<Value> {
  readonly value: Value
  readonly life: Seconds
}

/** A value that takes a request to get. All who ask meanwhile wait for the same request; a failure is not kept. */
export class Kept<Value> {
  readonly #load: () => Promise<Loaded<Value>>
  #entry: Entry<Value> | undefined

  constructor(load: () => Promise<Loaded<Value>>) {
    this.#load = load
  }

  get(): Promise<Value> {
    return this.#entry && instant() < this.#entry.until ? this.#entry.value : this.renew()
  }

  renew(): Promise<Value> {
    const loaded = this.#load()
    const entry: Entry<Value> = {
      value: loaded.then(({ value }) => value),
      until: Number.POSITIVE_INFINITY,
    }
    this.#entry = entry
    loaded.then(
      ({ life }) => {
        entry.until = instant() + life
      },
      () => {
        if (this.#entry === entry) this.#entry = undefined
      },
    )
    return entry.value
  }
}
