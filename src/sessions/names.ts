/**
 * The names of what a session leaves at the provider, made from the id of its record: so everything is found from the
 * record, and the record from everything.
 */
import { isId } from '../tokens/id.ts'

const PREFIX = 'imp_'

/** The `uid` of the headless session, its `sid`, and the id of its Grant. */
export const sessionName = (recordId: string): string => PREFIX + recordId

/** The id of the record that a name is made from; `undefined` for everything else. */
export function recordIdOf(name: unknown): string | undefined {
  if (typeof name !== 'string' || !name.startsWith(PREFIX)) return undefined
  const id = name.slice(PREFIX.length)
  return isId(id) ? id : undefined
}
