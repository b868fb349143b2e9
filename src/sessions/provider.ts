/**
 * The parts of oidc-provider that sessions need beyond its public types. Each fact that can be seen without a request is looked at by
 * `attach`; what only a request shows is looked at in each, before anything is spent.
 */
import {
  type AuthorizationCode,
  type Client,
  errors,
  type KoaContextWithOIDC,
  type Provider,
} from 'oidc-provider'
import { isPlainObject } from '../base/json.ts'
import { endAccessToken } from '../provider/access-token.ts'
import { unsupported } from '../provider/lib-grants.ts'
import { isId } from '../tokens/id.ts'
import type { SubjectToken } from '../tokens/subject-token.ts'

export type Session = InstanceType<Provider['Session']>
export type Grant = InstanceType<Provider['Grant']>

const PREFIX = 'imp_'

/**
 * The name of what a session leaves at the provider: the `uid` of the headless session, its `sid`, and the id of its Grant. It
 * is made from the id of the record, so that each leads to the other.
 */
export const sessionName = (recordId: string): string => PREFIX + recordId

/** The id of the record that a name is made from; `undefined` for everything else. */
export function recordIdOf(name: unknown): string | undefined {
  if (typeof name !== 'string' || !name.startsWith(PREFIX)) return undefined
  const id = name.slice(PREFIX.length)
  return isId(id) ? id : undefined
}

const isHeadless = (name: string): boolean => recordIdOf(name) !== undefined

/** Members that are readonly in the types, or missing there. */
interface Replaceable {
  session: Session
  claims: Record<string, unknown>
  params: { prompt?: string | undefined }
  readonly prompts: ReadonlySet<string>
  readonly grant?: Grant
  readonly entities: Readonly<Record<string, unknown>>
  entity(name: string, value: unknown): void
  promptPending(name: string): boolean
}

const replaceable = ({ oidc }: Pick<KoaContextWithOIDC, 'oidc'>): Replaceable =>
  oidc as unknown as Replaceable

type Fact = (provider: Provider) => boolean

const hasFunction = (holder: unknown, name: string): boolean =>
  typeof Reflect.get(Object(holder), name) === 'function'

/** A request that no one has sent. */
function requestOf(provider: Provider): Replaceable {
  const ctx = { _matchedRouteName: 'authorization' } as unknown as KoaContextWithOIDC
  Object.assign(ctx, { oidc: new provider.OIDCContext(ctx) })
  return replaceable(ctx)
}

const FACTS: Readonly<Record<string, Fact>> = {
  'a new Session, which is neither saved nor sent': (provider) => isUntouched(new provider.Session()),
  'the members of a stored Session': ({ Session }) => {
    const kept: unknown = Reflect.get(Session, 'IN_PAYLOAD')
    const members = ['uid', 'accountId', 'loginTs', 'transient', 'state', 'authorizations']
    return Array.isArray(kept) && members.every((name) => kept.includes(name))
  },
  'the Session of a request, which can be replaced': (provider) => {
    const [request, session] = [requestOf(provider), new provider.Session()]
    request.session = session
    return request.session === session && Reflect.get(request, 'acr') === undefined
  },
  'the Grant of a request': (provider) => {
    const [request, grant] = [requestOf(provider), new provider.Grant()]
    request.entity('Grant', grant)
    return request.grant === grant && request.entities.Grant === grant
  },
  'the claims of a request, which can be replaced': (provider) => {
    const [request, claims] = [requestOf(provider), { id_token: { sid: null } }]
    request.claims = claims
    return request.claims === claims
  },
  'the prompts of a request': (provider) => {
    const request = requestOf(provider)
    request.params = { prompt: 'other none' }
    return request.promptPending('none') && request.prompts.has('other')
  },
  'scopes that a Grant rejects': (provider) => {
    const grant = new provider.Grant()
    grant.rejectOIDCScope('one')
    return grant.getOIDCScopeEncountered().includes('one') && grant.getOIDCScope() === ''
  },
  'claims that a Grant rejects': (provider) => {
    const grant = new provider.Grant()
    grant.rejectOIDCClaims(['one'])
    return grant.getOIDCClaimsEncountered().includes('one') && grant.getOIDCClaims().length === 0
  },
  'Provider.ctx': (provider) => 'ctx' in provider.constructor,
  'Session.find': ({ Session }) => hasFunction(Session, 'find'),
  'Session.findByUid': ({ Session }) => hasFunction(Session, 'findByUid'),
  'AccessToken.revokeByGrantId': ({ AccessToken }) => hasFunction(AccessToken, 'revokeByGrantId'),
  'client.backchannelLogout': ({ Client }) => hasFunction(Client.prototype, 'backchannelLogout'),
  'IdToken.validate': ({ IdToken }) => hasFunction(IdToken, 'validate'),
}

/** @throws {TypeError} that names the version of oidc-provider and what it lacks. */
export function assertSessionFacts(provider: Provider): void {
  for (const [fact, holds] of Object.entries(FACTS)) {
    try {
      if (holds(provider)) continue
    } catch {
      // A class that is not there cannot be asked.
    }
    throw unsupported(`lacks what the option sessions needs: ${fact}`)
  }
}

/** At the end of a request, the provider saves every other Session, and sends its id as a cookie. */
const isUntouched = (session: Session): boolean =>
  Reflect.get(session, 'new') === true && !Reflect.get(session, 'touched')

/**
 * A Session that no cookie names: of the user, since the person signed in who acts. Its name is its `uid`, the `sid`, and the
 * id of the Grant; `state` is kept with it, and nowhere else.
 */
export function headlessSession(
  provider: Provider,
  { id, userId }: Pick<SubjectToken, 'id' | 'userId'>,
  { clientId, authTime, state }: Pick<Session, 'state'> & { clientId: string; authTime: number | undefined },
): Session {
  const name = sessionName(id)
  return Object.assign(new provider.Session(), {
    uid: name,
    accountId: userId,
    loginTs: authTime,
    transient: true,
    state,
    authorizations: { [clientId]: { sid: name, grantId: name } },
  })
}

/**
 * The rest of the authorization request is answered from this Session. No page is shown from here on: what a prompt would
 * ask is an error for the application; consent is given. `sid` is in every ID token, so that it leads to the session.
 */
export function answerFrom(ctx: KoaContextWithOIDC, session: Session): void {
  const request = replaceable(ctx)
  const { id_token: requested } = request.claims
  const prompts = [...request.prompts].filter((prompt) => prompt !== 'consent')
  request.session = session
  request.entity('Session', session)
  request.claims = {
    ...request.claims,
    id_token: { ...(isPlainObject(requested) && requested), sid: null },
  }
  request.params.prompt = [...prompts, 'none'].join(' ')
}

/**
 * A release of oidc-provider could change this without a word: the code is made from the Session of the request.
 *
 * @throws before anything is spent.
 */
export function assertCarried(
  ctx: KoaContextWithOIDC,
  { session, grant }: { readonly session: Session; readonly grant: Grant },
  code: AuthorizationCode,
): void {
  const { session: answering, entities, claims } = replaceable(ctx)
  const requested = claims.id_token
  const carried =
    code.kind === 'AuthorizationCode' &&
    code.accountId === session.accountId &&
    code.sessionUid === session.uid &&
    code.grantId === grant.jti &&
    code.clientId === grant.clientId &&
    code.acr === undefined &&
    answering === session &&
    entities.Grant === grant &&
    isPlainObject(requested) &&
    'sid' in requested &&
    isUntouched(session)
  if (!carried)
    throw new Error(
      'this release of oidc-provider does not answer an authorization request from its ctx.oidc.session',
    )
}

/** Whether the response would give a Session to the browser. */
export const sendsCookie = (ctx: KoaContextWithOIDC, { jti }: Session): boolean =>
  [ctx.response.get('Set-Cookie')].flat().some((cookie) => cookie.includes(jti))

/** From now on, what this function of a model has found is what `see` makes of it. */
export function seeFound<Found>(
  model: object,
  name: 'find' | 'findByUid',
  see: (found: Found) => Found | undefined,
): void {
  const find: (...given: unknown[]) => Promise<Found | undefined> = Reflect.get(model, name)
  Object.assign(model, {
    async [name](...given: unknown[]) {
      const found = await find.apply(model, given)
      return found && see(found)
    },
  })
}

/** From now on, a cookie finds no headless session: neither for the provider nor for a page of the host. */
export const hideHeadlessSessions = ({ Session }: Provider): void =>
  seeFound<Session>(Session, 'find', (session) => (isHeadless(session.uid) ? undefined : session))

/**
 * Saves the Grant of a headless session under a made-up account id, so that a provider without this option rejects it: it finds
 * that code and Grant are of different accounts, and issues and shows nothing. Its tokens would be those of the user, and name
 * no one who acts.
 */
export async function saveHeadlessGrant(grant: Grant): Promise<void> {
  const { accountId, jti } = grant
  grant.accountId = hiddenFor(jti) + accountId
  try {
    await grant.save()
  } finally {
    grant.accountId = accountId
  }
}

const hiddenFor = (name: string): string => `${name}.`

/** From now on, this provider reads the Grants of headless sessions with their accounts. */
export const showHeadlessGrants = ({ Grant }: Provider): void =>
  seeFound<Grant>(Grant, 'find', (grant) => {
    const hidden = hiddenFor(grant.jti)
    if (isHeadless(grant.jti) && grant.accountId?.startsWith(hidden))
      grant.accountId = grant.accountId.slice(hidden.length)
    return grant
  })

/** Destroys the Session and the Grant of this name, and its opaque tokens. May be repeated, and works at any moment. */
export async function endHeadlessSession(provider: Provider, name: string): Promise<void> {
  const [session] = await Promise.all([provider.Session.findByUid(name), endAccessToken(provider, name)])
  await session?.destroy()
}

/** The request that is served. */
export const requestIn = (provider: Provider): KoaContextWithOIDC | undefined =>
  (provider.constructor as typeof Provider).ctx

/** Calls `report` for a code that another request has redeemed since this one has found it, before this one is refused. */
export function onSimultaneousCodes(
  provider: Provider,
  report: (code: AuthorizationCode, ctx: KoaContextWithOIDC | undefined) => Promise<void>,
): void {
  const { AuthorizationCode } = provider
  const { consume } = AuthorizationCode.prototype
  AuthorizationCode.prototype.consume = async function () {
    try {
      await consume.call(this)
    } catch (error) {
      if (error instanceof errors.InvalidGrant) await report(this, requestIn(provider))
      throw error
    }
  }
}

/** Sends a logout token (OpenID Connect Back-Channel Logout 1.0 §2.5). Rejects unless the application confirms. */
export const sendLogoutToken = (client: Client, sub: string, sid: string): Promise<void> =>
  (client as unknown as { backchannelLogout(sub: string, sid: string): Promise<void> }).backchannelLogout(
    sub,
    sid,
  )

/** Verifies an ID token that this provider has issued to a client, expired or not. Rejects every other one. */
export const verifyIdToken = (provider: Provider, idToken: string, client: Client): Promise<unknown> =>
  (provider.IdToken as unknown as { validate(jwt: string, client: Client): Promise<unknown> }).validate(
    idToken,
    client,
  )
