/**
 * What a token of an exchange or a session says of itself, and how it is signed, stays as it was decided (protocol.md §5).
 * Functions of the deployment get copies: what they change there of reserved claims, of the header or of the token is not
 * taken over, whenever they change it.
 */
import { isDeepStrictEqual } from 'node:util'
import type { AccessToken, Configuration, ResourceServer } from 'oidc-provider'
import { RESERVED_CLAIMS } from '../constants.ts'
import { isPlainObject } from '../plain-json.ts'
import { noticeUndone } from './notices.ts'

type Customizer = NonNullable<NonNullable<NonNullable<Configuration['formats']>['customizers']>['jwt']>
type Members = Readonly<Record<string, unknown>>

interface Decided {
  /** What the deployment's functions get in place of the token: one for all of them. */
  readonly copy: AccessToken
  /** Whether the JWT has passed `keepDecided`. */
  isKept: boolean
}

/** By the token. Written by `decide`, read by what asks the deployment about it, and dropped with the token. */
const decided = new WeakMap<object, Decided>()

/** From now on, no function of the deployment changes this token. */
export function decide(token: AccessToken): void {
  // The deployment has the object that `getResourceServerInfo` returned, which names algorithm and key.
  if (token.resourceServer) Object.assign(token, { resourceServer: copyOfServer(token.resourceServer) })
  decided.set(token, { copy: copyOf(token), isKept: false })
}

/** Whether the JWT of this token was signed as it was decided. */
export const isKept = (token: object): boolean => decided.get(token)?.isKept ?? false

/** Asks a function of the deployment about a token that is decided. */
export async function askAbout<Result>(
  name: string,
  token: AccessToken,
  ask: (copy: AccessToken) => Result | Promise<Result>,
): Promise<Result> {
  const copy = decided.get(token)?.copy
  if (!copy) throw new Error('a token that was not decided')
  // What the provider has written since, such as `extra`.
  const before = membersOf(token)
  Object.assign(copy, before)
  const result = await ask(copy)
  noticeUndone(name, changesOf(membersOf(token), { ...copy }))
  return result
}

/** The configuration, whose own customizer has no say in what is reserved. */
export function keepDecided(given: Configuration): Configuration {
  const { formats } = given
  const own = formats?.customizers?.jwt
  const jwt: Customizer = async (ctx, token, parts) => {
    const entry = decided.get(token)
    if (!entry) return own?.(ctx, token, parts)
    entry.isKept = true
    if (own) await keepAround(token as AccessToken, parts, (copy, shown) => own(ctx, copy, shown))
  }
  return { ...given, formats: { ...formats, customizers: { ...formats?.customizers, jwt } } }
}

type Parts = Parameters<Customizer>[2]

const HEADER = new Set(['typ', 'alg', 'kid'])

async function keepAround(
  token: AccessToken,
  parts: Parts,
  customize: (copy: AccessToken, shown: Parts) => unknown,
): Promise<void> {
  const name = 'formats.customizers.jwt'
  const payload = jsonOf(parts.payload)
  const shown = { ...parts, payload: structuredClone(payload) } as Parts
  await askAbout(name, token, (copy) => customize(copy, shown))
  // As JSON, which is what would be signed: a member that answers twice has answered now, and `toJSON` has had its say.
  const [header, customized] = [jsonOf(shown.header), jsonOf(shown.payload)]
  noticeUndone(name, [
    ...Object.keys(header).filter((member) => HEADER.has(member)),
    ...changesOf(only(RESERVED_CLAIMS, payload), only(RESERVED_CLAIMS, customized)),
  ])
  Object.assign(parts, {
    header: without(HEADER, header),
    payload: { ...unreserved(customized), ...only(RESERVED_CLAIMS, payload) },
  })
}

/** No function of the deployment has a say in what the others tell. */
export const unreserved = (claims: Members): Record<string, unknown> => without(RESERVED_CLAIMS, claims)

const without = (names: ReadonlySet<string>, members: Members) =>
  Object.fromEntries(Object.entries(members).filter(([name]) => !names.has(name)))

const only = (names: ReadonlySet<string>, members: Members) =>
  Object.fromEntries(Object.entries(members).filter(([name]) => names.has(name)))

/** What would be written of an object. */
export function jsonOf(value: unknown): Record<string, unknown> {
  const written: unknown = JSON.parse(JSON.stringify(value) ?? 'null')
  return isPlainObject(written) ? written : {}
}

const changesOf = (before: Members, after: Members): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => !isDeepStrictEqual(before[name], after[name]),
  )

const membersOf = (token: AccessToken): Record<string, unknown> => structuredClone({ ...token })

function copyOf(token: AccessToken): AccessToken {
  const Model = token.constructor as new (members: object) => AccessToken
  const { client, resourceServer } = token
  return new Model({
    ...membersOf(token),
    client,
    ...(resourceServer && { resourceServer: copyOfServer(resourceServer) }),
  })
}

/** Its keys may be of any kind, and are not copied. */
function copyOfServer(server: ResourceServer): ResourceServer {
  const copy: ResourceServer = Object.assign(Object.create(Object.getPrototypeOf(server)), server)
  const { jwt } = server
  if (jwt)
    copy.jwt = Object.fromEntries(Object.entries(jwt).map(([use, how]) => [use, how && { ...how }])) as never
  return copy
}
