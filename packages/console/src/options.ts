import type { Context } from 'koa'
import type { JsonObject, PersonName } from 'oidc-provider-impersonation'
import { isPlainObject, refuseUnknown, resolveMounting } from 'oidc-provider-impersonation/inside'

/**
 * The rights of an administrator: to see the pages; stop one impersonation, and say that an alarm was looked into; stop all of a
 * person or of a backend.
 */
export type ConsoleRight = 'see' | 'stop' | 'stopAll'

/** Who is at the console. */
export interface Administrator {
  /** Recorded as `by` when they stop something or look into an alarm: 1 to 255 characters. */
  readonly id: string
  readonly can: readonly ConsoleRight[]
}

/** The options of `createConsole`. */
export interface ConsoleOptions {
  /**
   * Where the pages are: `/` and a segment, any number of times, or `''` for a host of their own. Default
   * `/impersonations`.
   */
  readonly prefix?: string

  /**
   * Who sends this request, and what they may do. Called for every request. `undefined` (or `null`, or `false`) is
   * refused (403); an error, any other value, or taking longer than `customClaimsTimeout` is a 500. Must rest on
   * something that a browser does not send to another name by itself, such as a cookie of this host. Required.
   */
  readonly authorize: (
    ctx: Context,
  ) => Administrator | undefined | null | false | Promise<Administrator | undefined | null | false>

  /**
   * Names for account ids: those of users, of engineers and of administrators on the page, each once. Those that are
   * missing in the map are shown as ids, and so are all if it throws, returns no `Map`, or takes longer than a second.
   * Default: ids.
   */
  readonly nameOf?: (
    ids: readonly string[],
  ) => ReadonlyMap<string, PersonName> | Promise<ReadonlyMap<string, PersonName>>

  /**
   * The http(s) address of the ticket in the `context` of a subject token. Anything else is shown without a link.
   * Default: no links.
   */
  readonly ticketUrl?: (context: JsonObject) => string | undefined

  /**
   * The account ids of people whose name, or what else they are known by, contains a text that someone searches for. The
   * first 20 are used; none if it throws, returns no list of strings, or takes longer than a second. Default: only whole
   * account ids are found.
   */
  readonly find?: (text: string) => readonly string[] | Promise<readonly string[]>

  /** The name of the console: on each page, and in the title of its window. Default `Impersonation`. */
  readonly title?: string

  /** Where the console leads back to: an absolute path of this host, or an http(s) address. Default: nowhere. */
  readonly home?: string

  /** Where one signs out of this host; as `home`. Default: nowhere. */
  readonly signOut?: string
}

export interface ResolvedConsoleOptions extends ConsoleOptions {
  readonly prefix: string
  readonly title: string
}

/** @throws {TypeError} that names the option. */
export function resolveConsoleOptions(given: ConsoleOptions): ResolvedConsoleOptions {
  if (!isPlainObject(given)) throw new TypeError('createConsole takes an options object')
  const { prefix = '/impersonations', title = 'Impersonation', ...others } = given
  const { authorize, nameOf, ticketUrl, find, home, signOut, ...unknown } = others
  refuseUnknown(Object.keys(unknown))
  for (const [name, value] of Object.entries({ nameOf, ticketUrl, find, authorize })) {
    if (typeof value !== 'function' && (value !== undefined || name === 'authorize'))
      throw new TypeError(`option ${name} must be a function`)
  }
  if (typeof title !== 'string' || title.trim() === '') throw new TypeError('option title must be a text')
  for (const [name, value] of Object.entries({ home, signOut })) {
    if (value !== undefined && !isAddress(value))
      throw new TypeError(`option ${name} must be an absolute path or an http(s) address`)
  }
  return { ...resolveMounting('createConsole', { prefix }), title, ...others }
}

/** Browsers take what begins with two slashes for the address of another host, and skip some spaces before they look. */
const isAddress = (value: unknown): boolean =>
  typeof value === 'string' &&
  /^(\/(?![/\\])|https?:\/\/)[^\s\\]*$/i.test(value) &&
  URL.canParse(value, 'http://host')
