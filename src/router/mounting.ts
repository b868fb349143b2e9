import { isPlainObject, refuseUnknown } from '../base/json.ts'

/** Where the host application mounts the routes. */
export interface Mounting {
  /**
   * The prefix before `/subject-tokens`: `/` and a segment, any number of times, or `''` for the root. Matched
   * literally and case-sensitively; it does not change what tokens are bound to (`managementResource`).
   * Default `/api`.
   */
  readonly prefix?: string

  /**
   * Serves only these routes, for a host that keeps the others where the public does not reach them: `management` those
   * of the management API, `status-lists` the public ones, which must exist (`statusList`), `door` that of sessions, which
   * must exist (`sessions`), `health` the one for probes, `{prefix}/health`, which nothing else serves. Default: the first
   * two, and the door where there is one.
   */
  readonly only?: 'management' | 'status-lists' | 'door' | 'health'
}

const PARTS = ['management', 'status-lists', 'door', 'health'] as const

/** Segments as a URL spells them (RFC 3986 §3.3), without the characters that the router would read as a pattern. */
const SEGMENTS = /^(\/([\w\-.~$&',;=@]|%[\da-f]{2})+)*$/i
/** Clients resolve these before they send a request. */
const DOT_SEGMENT = /\/(\.|%2e){1,2}(\/|$)/i

/**
 * The options of `method`.
 *
 * @throws {TypeError} that names an unknown or wrong option: a prefix that no request could match, for example.
 */
export function resolveMounting(
  method: string,
  given: Mounting = {},
): Mounting & { readonly prefix: string } {
  if (!isPlainObject(given)) throw new TypeError(`${method} takes an options object`)
  const { prefix = '/api', only, ...unknown } = given
  refuseUnknown(Object.keys(unknown))
  if (typeof prefix !== 'string' || !SEGMENTS.test(prefix) || DOT_SEGMENT.test(prefix)) {
    throw new TypeError(
      "option prefix must be a path such as '/api', without trailing slash, query, fragment and pattern, or ''",
    )
  }
  const part = PARTS.find((known) => known === only)
  if (part !== only)
    throw new TypeError("option only must be 'management', 'status-lists', 'door' or 'health'")
  return { prefix, only: part }
}
