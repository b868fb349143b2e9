/**
 * The door: a subject token is brought by a form, a person signs in and agrees, the browser is armed, and goes to the
 * application. Nothing is spent here.
 */
import Router from '@koa/router'
import type { Context, Middleware } from 'koa'
import { type Account, errors } from 'oidc-provider'
import { epochTime, type Seconds } from '../base/clock.ts'
import { functionFailed, RecordError, sessionRefused } from '../base/errors.ts'
import type { JsonObject } from '../base/json.ts'
import { isOfThisOrigin, readMembers } from '../pages/form.ts'
import { inProvider } from '../provider/accounts.ts'
import { findClient } from '../provider/client-metadata.ts'
import { findNames } from '../provider/deployment-functions.ts'
import { requestOf, setRoute } from '../provider/failures.ts'
import { assertPolicyAllows } from '../provider/is-allowed.ts'
import { findAccount } from '../provider/lib-grants.ts'
import { orOutage } from '../provider/outage.ts'
import { endReplayed } from '../records/replay.ts'
import { originalPathOf } from '../router/handler.ts'
import { refuse } from '../router/respond.ts'
import { readToken } from '../tokens/secret.ts'
import { isSpent, type SubjectToken, stateOf } from '../tokens/subject-token.ts'
import { findSealed, getUser, policyRequest, tellRefused } from './arrival.ts'
import { canBeTold, DOOR_CLIENT, isOpen, type OpenClient, obeysReadOnly, startOf } from './client-opt-in.ts'
import { armedCookie, BROUGHT, keptCookie, readCookie, writeArmedCookie, writeDoorCookie } from './cookies.ts'
import {
  setHeaders,
  showBusy,
  showFailure,
  showMethods,
  showQuestion,
  showRefusal,
  showWayTo,
} from './page.ts'
import type { Session } from './provider.ts'
import { requestState } from './request.ts'
import { type Sealed, TO_ARRIVE } from './seal.ts'
import type { SessionService } from './service.ts'

/** How long someone may take to sign in, and then to agree. */
const TO_AGREE: Seconds = 600
/** How long the browser says that it was armed: who arrives too late is refused, rather than taken for the engineer. */
const TO_BE_REFUSED: Seconds = 600
/** Bytes of a form. */
const LIMIT = 16 * 1024
/** Bytes of `target_link_uri`: it must fit into a cookie. */
const LONGEST_TARGET = 2000

type Handle = (ctx: Context, service: SessionService) => Promise<void>

/** The door, and its button. */
export const doorPaths = ({ options: { sessions } }: SessionService) =>
  [sessions.door.pathname, `${sessions.door.pathname}/confirm`] as const

/** The routes of the door, at exactly its path. `routes()` alone responds to them, 405 included. */
export function doorRouter(service: SessionService): Router {
  const router = new Router({ sensitive: true, strict: true })
  const [door, confirm] = doorPaths(service)
  const guarded = guardOf(service)
  const only = (...methods: string[]) => guarded(async (ctx) => showMethods(ctx, methods))
  router.post(door, guarded(bring))
  router.get(door, guarded(ask))
  router.post(confirm, guarded(arm))
  router.all(door, only('GET', 'HEAD', 'POST'))
  router.all(confirm, only('POST'))
  return router
}

/** Every response of the door is a page, or leads to one. What is refused is shown by one text. */
const guardOf =
  (service: SessionService) =>
  (handle: Handle): Middleware => {
    const paths: readonly string[] = doorPaths(service)
    return async (ctx, next) => {
      // Elsewhere its cookies would not be sent.
      if (!paths.includes(originalPathOf(ctx))) return next()
      setHeaders(ctx)
      try {
        await handle(ctx, service)
      } catch (thrown) {
        if (thrown instanceof errors.AccessDenied) showRefusal(ctx, 403, await broughtId(ctx, service))
        else if (thrown instanceof RecordError) showRefusal(ctx, 400, undefined)
        else {
          // The operator is told once.
          if (!requestState(ctx).isTold) setRoute(ctx, { provider: service.provider, door: 'session' })
          showFailure(ctx, refuse(ctx, thrown).status)
        }
      }
    }
  }

/** The browser has brought it itself: the id of a record tells it nothing new. */
const broughtId = async (ctx: Context, service: SessionService): Promise<string | undefined> =>
  (await service.seal.open('brought', readCookie(ctx, service, BROUGHT)))?.id

const malformed = (text: string) => new RecordError({ status: 400, code: 'invalid_request', public: text })

/**
 * Takes a token from any site. Nothing is looked up and nothing is shown: it leaves the page, the history and the address at
 * once.
 */
async function bring(ctx: Context, service: SessionService): Promise<void> {
  assertNoToken(ctx)
  const form = await readMembers(ctx, LIMIT)
  const token = readToken(form.get('subject_token') ?? '')
  const target = form.get('target_link_uri')
  if (token?.purpose !== 'session') throw malformed('subject_token is malformed')
  if (target !== undefined && Buffer.byteLength(target) > LONGEST_TARGET)
    throw malformed('target_link_uri is too long')
  const { id, hash } = token
  const sealed = await service.seal.seal('brought', { id, hash, target }, TO_AGREE)
  writeDoorCookie(ctx, service, { name: BROUGHT, value: sealed, life: TO_AGREE })
  redirect(ctx, service.options.sessions.door.pathname)
}

/** An address is in histories and logs. */
function assertNoToken({ query }: Context): void {
  if (query.subject_token !== undefined) throw malformed('subject_token must be sent in a form')
}

/** Shows who acts, as whom, where, for how long and why. First the person signs in. */
async function ask(ctx: Context, service: SessionService): Promise<void> {
  assertNoToken(ctx)
  const brought = await service.seal.open('brought', readCookie(ctx, service, BROUGHT))
  if (!brought) throw sessionRefused({ private: 'brought too long ago, or not at all' })
  const session = await signedIn(ctx, service)
  if (!session || !isFresh(service, session)) return signIn(ctx, service, session)
  const { record, client } = await admit(ctx, service, { brought, session })
  const { id, hash, target } = brought
  const agreed: Sealed = { id, hash, client: client.clientId, session: session.uid, target }
  const { userId } = record
  const { accountId } = session
  const { nameOf, ttl, door } = service.options.sessions
  const people = await findNames(nameOf, [userId, accountId], (error) => ctx.app.emit('error', error, ctx))
  const person = (id: string) => ({ id, name: people?.get(id)?.name ?? id })
  showQuestion(ctx, {
    actor: person(accountId),
    user: person(userId),
    application: nameOfClient(client),
    ttl,
    context: requiredOf(record, service.options.requiredContext),
    isUnended: !canBeTold(client),
    readOnly: record.readOnly === true,
    action: `${door.pathname}/confirm`,
    sealed: await service.seal.seal('asked', agreed, TO_AGREE),
  })
}

const nameOfClient = ({ clientName, clientId }: OpenClient): string => clientName ?? clientId

const requiredOf = ({ context }: SubjectToken, required: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(context).filter(([key]) => required.includes(key)))

/** Someone who is signed in at the provider. */
type SignedIn = Session & { readonly accountId: string }

/** The session of the browser; `undefined` if no one is signed in. */
async function signedIn(ctx: Context, { provider }: SessionService): Promise<SignedIn | undefined> {
  const session = await orOutage(provider.Session.get(ctx))
  return session.accountId ? (session as SignedIn) : undefined
}

/** Whether the engineer has signed in lately enough, and in a way that is strong enough. */
function isFresh({ options }: SessionService, session: SignedIn): boolean {
  const { maxAge, acrValues } = options.sessions
  return !session.past(maxAge) && (acrValues.length === 0 || acrValues.includes(session.acr ?? ''))
}

/**
 * Whether the engineer may open an application as the user: asked when the page is shown, and at its button. Nothing is
 * written, unless someone else shows a token that was used: then what came of it ends.
 */
async function admit(
  ctx: Context,
  service: SessionService,
  { brought, session }: { readonly brought: Sealed; readonly session: SignedIn },
): Promise<{ readonly record: SubjectToken; readonly client: OpenClient }> {
  let record: SubjectToken | undefined
  try {
    const { accountId } = session
    record = await findSealed(service, brought)
    if (isSpent(record) && record.actorId !== accountId) {
      await endReplayed(service, record, { by: accountId, request: requestOf(ctx) })
      throw new Replayed('used before')
    }
    const state = stateOf(record, epochTime())
    if (state !== 'active') throw sessionRefused({ private: state })
    if (record.actorId !== accountId) throw sessionRefused({ private: 'bound to another actor' })
    const client = await findOpenClient(service, record)
    const account = await getUser(record, accountsIn(ctx, service))
    await assertPolicyAllows(service.options, policyRequest({ record, account, session }))
    return { record, client }
  } catch (error) {
    const { accountId: actorId } = session
    const clientId = record?.clientId ?? DOOR_CLIENT
    if (!(error instanceof Replayed)) tellRefused(ctx, service.provider, { error, clientId, actorId, record })
    throw error
  }
}

async function findOpenClient({ provider }: SessionService, { clientId = '', readOnly }: SubjectToken) {
  const client = await orOutage(findClient(provider, clientId))
  if (!client || !isOpen(client)) throw sessionRefused({ private: 'the client is not open to sessions' })
  if (readOnly && !obeysReadOnly(client))
    throw sessionRefused({ private: 'read-only, which the client does not obey' })
  return client
}

/** The accounts of a request, which stays as it is. */
const accountsIn =
  (ctx: Context, { provider }: SessionService) =>
  (id: string): Promise<Account | undefined> =>
    findAccount(inProvider(provider, Object.create(ctx)), id).catch((cause) => {
      throw functionFailed({ check: 'findAccount', private: 'failed', cause })
    })

/** A use after the spend, by someone else. */
class Replayed extends errors.AccessDenied {}

/** Sends the engineer to the provider's own sign-in, once: who comes back from there as before is refused. */
function signIn(ctx: Context, { provider, options }: SessionService, session: SignedIn | undefined): void {
  const { state, error } = ctx.query
  if (state !== undefined || error !== undefined)
    throw sessionRefused({ private: 'not signed in, or not as is required' })
  const { door, maxAge, acrValues } = options.sessions
  const address = new URL(provider.urlFor('authorization'))
  address.search = new URLSearchParams({
    client_id: DOOR_CLIENT,
    response_type: 'none',
    scope: 'openid',
    redirect_uri: door.href,
    state: 'signed-in',
    max_age: String(maxAge),
    ...(acrValues.length > 0 && { acr_values: acrValues.join(' ') }),
    ...(session && { prompt: 'login' }),
  }).toString()
  redirect(ctx, address.href)
}

/** The button: of that page, by that person. The browser is armed for one application, for a minute. */
async function arm(ctx: Context, service: SessionService): Promise<void> {
  if (!isOfThisOrigin(ctx)) throw sessionRefused({ private: 'sent by another site' })
  assertNoToken(ctx)
  const agreed = await service.seal.open('asked', (await readMembers(ctx, LIMIT)).get('sealed'))
  const session = await signedIn(ctx, service)
  if (!agreed || !session || agreed.session !== session.uid)
    throw sessionRefused({ private: 'not what this person was asked' })
  if (!isFresh(service, session)) throw sessionRefused({ private: 'signed in too long ago' })
  const { client } = await admit(ctx, service, { brought: agreed, session })
  const { id, hash, target } = agreed
  const { clientId } = client
  if (clientId !== agreed.client) throw sessionRefused({ private: 'asked for another application' })
  const kept = await service.seal.open('kept', readCookie(ctx, service, keptCookie(clientId)))
  if (kept && kept.id !== id) return showBusy(ctx)
  const { uid, loginTs } = session
  const arrival: Sealed = { id, hash, client: clientId, session: uid, loginTs }
  const sealed = await service.seal.seal('armed', arrival, TO_ARRIVE)
  const keep = await service.seal.seal('kept', { id, hash, client: clientId }, TO_ARRIVE)
  writeDoorCookie(ctx, service, { name: BROUGHT, value: null, life: 0 })
  writeDoorCookie(ctx, service, { name: keptCookie(clientId), value: keep, life: TO_ARRIVE })
  writeArmedCookie(ctx, service, { name: armedCookie(clientId, id), value: sealed, life: TO_BE_REFUSED })
  showWayTo(ctx, nameOfClient(client), startOf(client, service.provider.issuer, target))
}

function redirect(ctx: Context, address: string): void {
  ctx.status = 303
  ctx.redirect(address)
}
