/** Steps that create something: subject tokens, tokens of people who act, and accounts that come and go. */
import { expect } from 'chai'
import { actorJwt, actorToken } from '../../../fixtures/actor-tokens.ts'
import { now } from '../../../fixtures/clock.ts'
import { API, OPAQUE_API } from '../../../fixtures/deployment.ts'
import { BILLING, LEDGER } from '../../../fixtures/on-behalf-of.ts'
import { idFrom } from '../../../fixtures/requests.ts'
import { unique } from '../../../fixtures/unique.ts'
import { expectNoSecret } from '../oracles.ts'
import { APPLICATIONS } from '../setting.ts'
import { nameOf } from './granting.ts'
import { defined, type Lane, type Token } from './model.ts'
import type { AccountChange, Issue, Login } from './steps.ts'
import { expectRefused, personOf, type Walk } from './walk.ts'

/** What a subject token may be limited to. */
const REACHES = [API, OPAQUE_API, [API, BILLING], [LEDGER, OPAQUE_API, BILLING]]
/** Life of a subject token where the request names none. */
const DEFAULT_LIFE = 600

export async function issue(walk: Walk, lane: Lane, step: Issue): Promise<void> {
  const { world } = walk
  const userId = personOf(lane, step.user)
  const body = bodyOf(lane, step, userId)
  const response = await walk.manage(lane, step.issuer, { method: 'POST', body })
  const refused = refusalOf(walk, step, userId, body)
  if (refused) return expectRefused(walk, response, refused)

  expect(response.status, response.text).to.equal(201)
  expectNoSecret(world.secrets, response)
  const life = step.expiresIn ?? DEFAULT_LIFE
  expect(response.body).to.deep.equal({ subjectToken: response.body.subjectToken, expiresIn: life })
  const id = idFrom(response)
  const { baseUrl } = walk.issuer(step.issuer).deployment
  expect(response.headers.get('location')).to.equal(`${baseUrl}/api/subject-tokens/${id}`)
  const { context, ...constraints } = body
  const token: Token = {
    ...constraints,
    issuer: step.issuer,
    id,
    secret: response.body.subjectToken,
    userId,
    context: JSON.parse(JSON.stringify(context)),
    createdBy: lane.backend.client_id,
    createdAt: now(),
    expiresAt: now() + life,
  }
  expect(token.secret).to.match(/^sub_[\w-]{65}$/)
  world.secrets.keep(token.secret)
  lane.tokens.push(token)
  const { createdBy, actorId, clientId, resource, scope, expiresAt } = token
  const payload = { id, userId, createdBy, actorId, clientId, resource, scope, expiresAt }
  walk.expectEvent({ issuer: step.issuer, name: 'subject_token.issued', payload })
}

interface Body {
  readonly userId: string
  readonly context: Issue['context']
  readonly actorId?: string
  readonly clientId?: string
  readonly resource?: string | readonly string[]
  readonly scope?: string
  readonly expiresIn?: number
}

const bodyOf = (lane: Lane, step: Issue, userId: string): Body =>
  defined({
    userId: step.alias ? `alias:${userId}` : userId,
    context: step.context,
    actorId: step.actor === undefined ? undefined : personOf(lane, step.actor),
    clientId: step.client === undefined ? undefined : APPLICATIONS[step.client % 2]?.client_id,
    resource: step.resource === undefined ? undefined : REACHES[step.resource % REACHES.length],
    scope: step.scope,
    expiresIn: step.expiresIn,
  })

function refusalOf(walk: Walk, { issuer, context }: Issue, userId: string, body: Body) {
  const { requiredContext } = walk.issuer(issuer).rules
  const isBlank = (value: unknown) => value == null || (typeof value === 'string' && value.trim() === '')
  if (requiredContext.some((key) => isBlank(Reflect.get(context ?? {}, key))))
    return {
      status: 400,
      error: 'invalid_request',
      text: 'context.reason is required, and must not be blank',
    }
  if (walk.world.people.accountOf(userId) === undefined)
    return { status: 404, error: 'not_found', text: 'user not found' }
  const isDenied = body.actorId === userId || context.issuance === 'deny'
  if (isDenied) {
    const payload = { stage: 'issuance', error: 'access_denied', clientId: `backend-${userId.slice(2)}` }
    walk.expectEvent({ issuer, name: 'subject_token.refused', payload })
    return { status: 403, error: 'access_denied', text: 'the request was denied by policy' }
  }
  if (context.issuance === 'throw') {
    const payload = {
      door: 'management',
      status: 500,
      check: 'isAllowed',
      clientId: `backend-${userId.slice(2)}`,
    }
    walk.expectEvent({ issuer, name: 'impersonation.failed', payload })
    return { status: 500, error: 'server_error', text: 'something went wrong' }
  }
  return undefined
}

/** Made by the provider's own models, because a login takes many requests that are not under test. */
export async function login(walk: Walk, lane: Lane, step: Login): Promise<void> {
  const { deployment } = walk.issuer(step.issuer)
  const client = APPLICATIONS[LOGINS[step.client % LOGINS.length] ?? 0]
  if (!client) throw new Error('no application')
  const sub = personOf(lane, step.person)
  const { issuer, format, scope, received } = step
  const { client_id: clientId } = client
  const jti = format === 'jwt' ? unique('jti') : undefined
  const audience = jti !== undefined ? API : received ? OPAQUE_API : undefined
  const value =
    jti !== undefined
      ? await actorJwt(deployment, { sub: nameOf(client, sub), client_id: clientId, scope, jti })
      : await actorToken(deployment, { accountId: sub, clientId, scope, audience })
  walk.world.secrets.keep(value)
  const expiresAt = now() + (format === 'jwt' ? 600 : 3600)
  lane.held.push({
    issuer,
    value,
    format,
    sub,
    client,
    audience,
    scope,
    expiresAt,
    jti,
    through: [],
    told: {},
  })
}

/** Mostly clients that know accounts by their ids. */
const LOGINS = [0, 1, 0, 1, 3]

export function changeAccount({ world }: Walk, lane: Lane, { person }: AccountChange): void {
  const { disabled } = world.people
  const id = personOf(lane, person)
  if (!disabled.delete(id)) disabled.add(id)
}
