/**
 * The claims of a token of an exchange or a session, and its signature, stay as they were decided (protocol.md §5).
 * Functions of the deployment get copies: what they change there of reserved claims, of the header or of the token is not
 * taken over, whenever they change it.
 */
import { isDeepStrictEqual } from 'node:util'
import type { AccessToken, Configuration, KoaContextWithOIDC, ResourceServer } from 'oidc-provider'
import { RESERVED_CLAIMS, TOKEN_EXCHANGE } from '../base/constants.ts'
import { isPlainObject } from '../base/json.ts'
import { noticeUndone } from './notices.ts'

type Formats = NonNullable<Configuration['formats']>
type Customizer = NonNullable<NonNullable<Formats['customizers']>['jwt']>
type Members = Readonly<Record<string, unknown>>

/**
 * The copy of each token that the deployment's functions get in its place, one for all of them. Written by `decide`, read by
 * what asks the deployment about the token, and dropped with it.
 */
const copies = new WeakMap<object, AccessToken>()

/** Takes the token out of reach of the deployment's functions from now on, and returns the copy that they get. */
export function decide(token: AccessToken): AccessToken {
  const known = copies.get(token)
  if (known) return known
  const { resourceServer } = token
  if (resourceServer) {
    // The deployment has the object that `getResourceServerInfo` returned, which names algorithm and key.
    const own = copyOfServer(resourceServer)
    // Each reader gets a copy of its own: a function may come by the token without being given it, and at any time.
    Reflect.defineProperty(token, 'resourceServer', { get: () => copyOfServer(own), set: () => {} })
  }
  const copy = copyOf(token)
  copies.set(token, copy)
  return copy
}

/** Asks a function of the deployment about a token, which is decided by now. */
export async function askAbout<Result>(
  name: string,
  { ctx, token }: About,
  ask: (copy: AccessToken) => Result | Promise<Result>,
): Promise<Result> {
  const { copy, takeBack } = lend(name, { ctx, token })
  try {
    return await ask(copy)
  } finally {
    takeBack()
  }
}

interface About {
  readonly ctx: KoaContextWithOIDC
  readonly token: AccessToken
}

function lend(name: string, { ctx, token }: About): { copy: AccessToken; takeBack: () => void } {
  const copy = decide(token)
  // The copy is made like the token is now: the provider has written more since, such as `extra`, and another function may
  // have changed the copy.
  for (const member of Object.keys(copy)) Reflect.deleteProperty(copy, member)
  if (token.resourceServer) copy.resourceServer = token.resourceServer
  Object.assign(copy, membersOf(token))
  const entities: Record<string, unknown> = ctx.oidc.entities
  const isEntity = entities[token.kind] === token
  if (isEntity) entities[token.kind] = copy
  const takeBack = () => {
    if (isEntity) entities[token.kind] = token
    noticeUndone(name, changesOf(shown(token), shown(copy)))
  }
  return { copy, takeBack }
}

const shown = (token: AccessToken): Members => ({ ...token, resourceServer: token.resourceServer })

/** The configuration, whose own functions have no say in what is decided. */
export function keepDecided(given: Configuration): Configuration {
  const { formats, ttl, features } = given
  const own = formats?.customizers?.jwt
  const jwt: Customizer = async (ctx, token, parts) => {
    if (probes.delete(token)) return
    if (!copies.has(token)) return own?.(ctx, token, parts)
    if (own) await keepAround({ ctx, token: token as AccessToken }, parts, own)
  }
  return {
    ...given,
    formats: {
      ...formats,
      ...withCopy('formats', formats, 'bitsOfOpaqueRandomness'),
      customizers: { ...formats?.customizers, jwt },
    },
    ttl: { ...ttl, ...withCopy('ttl', ttl, 'AccessToken'), ...withCopy('ttl', ttl, 'AuthorizationCode') },
    ...(features?.introspection && {
      features: { ...features, introspection: keepIntrospection(features.introspection) } as typeof features,
    }),
  }
}

/** The member of these options, where it is a function: it gets a copy of a token that is decided. */
function withCopy<Options extends object, Name extends string & keyof Options>(
  path: string,
  options: Options | undefined,
  name: Name,
): Partial<Options> {
  const own = options?.[name]
  if (typeof own !== 'function') return {}
  const asked = (ctx: KoaContextWithOIDC, token: AccessToken, ...rest: unknown[]) => {
    if (!copies.has(token)) return own(ctx, token, ...rest)
    const { copy, takeBack } = lend(`${path}.${name}`, { ctx, token })
    try {
      return own(ctx, copy, ...rest)
    } finally {
      takeBack()
    }
  }
  return { [name]: asked } as Partial<Options>
}

type Introspection = NonNullable<NonNullable<Configuration['features']>['introspection']>

function keepIntrospection(given: Introspection): Introspection {
  const { allowedPolicy } = given
  if (!allowedPolicy) return given
  return {
    ...given,
    async allowedPolicy(ctx, client, token) {
      if (!isOfImpersonation(token)) return allowedPolicy(ctx, client, token)
      const name = 'features.introspection.allowedPolicy'
      return askAbout(name, { ctx, token }, (copy) => allowedPolicy(ctx, client, copy))
    },
  }
}

/** Every access token of a session has `act`. */
const isOfImpersonation = (token: object): token is AccessToken => {
  const { kind, gty, extra } = token as AccessToken
  return kind === 'AccessToken' && (gty === TOKEN_EXCHANGE || extra?.act !== undefined)
}

/** Tokens by which a provider is tried. Written and read by `keeps`, and deleted by the customizer of `keepDecided`. */
const probes = new WeakSet<object>()

/** Whether the provider keeps what is decided: `formats` may have been replaced. A probe has no audience and is not signed. */
export async function keeps(probe: object): Promise<boolean> {
  probes.add(probe)
  await (probe as { getValueAndPayload(): Promise<unknown> }).getValueAndPayload().catch(() => {})
  return !probes.has(probe)
}

type Parts = Parameters<Customizer>[2]

const HEADER = new Set(['typ', 'alg', 'kid'])

async function keepAround({ ctx, token }: About, parts: Parts, customize: Customizer): Promise<void> {
  const name = 'formats.customizers.jwt'
  const payload = jsonOf(parts.payload)
  const shownParts = { ...parts, payload: structuredClone(payload) } as Parts
  await askAbout(name, { ctx, token }, (copy) => customize(ctx, copy, shownParts))
  // JSON is what would be signed: a getter is read once, here, and `toJSON` is called.
  const [header, customized] = [jsonOf(shownParts.header), jsonOf(shownParts.payload)]
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

/** The JSON that would be written of an object. */
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
