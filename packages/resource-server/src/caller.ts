/** Who calls, for whom, and through what: what an access token says about people and APIs. */
import { type Claims, readCoreClaims, saysReadOnly } from './claims.ts'
import { Refused } from './errors.ts'
import { isObject, isText } from './json.ts'
import type { Seconds } from './time.ts'

/** A person who acts for the user. */
export interface Actor {
  readonly sub: string
}

/** The result of `verify`. Ids are those in the token: pairwise if its client is. */
export interface Caller {
  /** Whose data it is about: `sub`. Decide by it, and by `scopes`. A client's own token has the client's id here. */
  readonly user: string
  /** The person who acts now, where the token tells. */
  readonly actor?: Actor
  /** Everyone who acts or acted, newest first (RFC 8693 §4.1). Only the first one acts now; the rest is history. */
  readonly actors: readonly Actor[]
  /** The client ids of the APIs that exchanged the token on its way here, newest first. */
  readonly through: readonly string[]
  /**
   * Whether someone acts for the user: `act` names a person, or the token has a `status`. The token of an exchange
   * without an actor token has no `act`; if its issuer publishes no status lists, it looks like the user's own. An
   * API in `act` alone is not an impersonation.
   */
  readonly impersonated: boolean
  /** Whether nothing may be changed by this token (`read_only`). `verify` refuses what writes; `assertMayWrite` does in a route. */
  readonly readOnly: boolean
  /** The application the token was issued to. */
  readonly clientId: string
  readonly scopes: readonly string[]
  /** Seconds since the epoch. */
  readonly expiresAt: Seconds
  /**
   * `jti` of a JWT, for logs: of an impersonation the id of its record, or that and more after a dot. An opaque token has
   * none: its id is its value.
   */
  readonly tokenId?: string
  /** Everything the token says, custom claims included: the payload of a JWT, the members at introspection. */
  readonly claims: Claims
}

/** @throws {Refused} */
export function readCaller(claims: Claims, clockTolerance: Seconds): Caller {
  const { sub, clientId, exp, scopes } = readCoreClaims(claims, clockTolerance)
  const { people, through } = readChain(claims.act)
  const { jti, status } = claims
  const [actor] = people
  return {
    user: sub,
    ...(actor && { actor }),
    actors: people,
    through,
    impersonated: actor !== undefined || status !== undefined,
    readOnly: saysReadOnly(claims),
    clientId,
    scopes,
    expiresAt: exp,
    ...(isText(jti) && { tokenId: jti }),
    claims,
  }
}

interface Chain {
  readonly people: readonly Actor[]
  readonly through: readonly string[]
}

/** Reads `act` from the outside in. A link that holds anything but who acted says something we do not understand. */
function readChain(act: unknown): Chain {
  const people: Actor[] = []
  const through: string[] = []
  for (let link = act; link !== undefined; ) {
    const { sub, client_id: clientId, act: earlier, ...rest } = isObject(link) ? link : {}
    if (!isText(sub) || Object.keys(rest).length > 0) throw new Refused('act is malformed')
    if (clientId === undefined) people.push({ sub })
    else if (clientId === sub) through.push(sub)
    // Or a person could pass for an API.
    else throw new Refused('act is malformed')
    link = earlier
  }
  return { people, through }
}
