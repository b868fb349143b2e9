import { type Seconds, within } from '../base/clock.ts'
import { isPlainObject } from '../base/json.ts'
import type { SessionOptions } from '../options.ts'

/** Seconds that a page waits for names. */
const PATIENCE: Seconds = 1

/**
 * The names of accounts, as the deployment's `nameOf` gives them. Without usable names people are shown by id, and the
 * operator is told why.
 */
export async function askNames(
  nameOf: SessionOptions['nameOf'],
  ids: readonly string[],
  report: (error: unknown) => void,
): Promise<(id: string) => string> {
  if (!nameOf) return (id) => id
  const asking = async (): Promise<ReadonlyMap<unknown, unknown>> => {
    const names: unknown = await nameOf([...new Set(ids)])
    if (names instanceof Map) return names
    throw new TypeError('nameOf must return a Map')
  }
  const names = await within(PATIENCE, asking()).catch((error: unknown) => void report(error))
  return (id) => nameIn(names?.get(id)) ?? id
}

function nameIn(value: unknown): string | undefined {
  const name = isPlainObject(value) ? value.name : value
  return typeof name === 'string' && name.trim() !== '' ? name : undefined
}
