/** Requests of the management API: each route as a backend sends it, with one thing changed. */
import type { HttpResponse } from '../../fixtures/http.ts'
import { manage, show } from '../../fixtures/management.ts'
import { exchange, idFrom, issue, keptToken } from '../../fixtures/requests.ts'
import { unique } from '../../fixtures/unique.ts'
import type { ManagementScope } from '../../src/base/constants.ts'
import { expectDescribed } from './described.ts'
import { made, type Of } from './exchanging.ts'
import { changesNothing, recordSays } from './expectations.ts'
import { type Cell, each, type Rule, rowsOf, type Step, type Steps } from './rule.ts'
import type { Scene } from './scene.ts'

interface Request {
  readonly method: string
  /** What follows `/api/subject-tokens`. */
  readonly path: string
  readonly body?: unknown
}

interface Route {
  readonly scope: ManagementScope
  readonly status: number
  readonly request: (scene: Scene) => Request
  /** What the request needs to succeed. */
  readonly prepare?: Step
  /** What the record says once the request has succeeded. */
  readonly record: Step
}

const revoked = recordSays({ state: 'revoked' })
const [CREATE, READ, REVOKE] = [
  'subject-tokens:create',
  'subject-tokens:read',
  'subject-tokens:revoke',
] as const

const reading = (method: 'GET' | 'HEAD', pathOf: (scene: Scene) => string): Route => ({
  scope: READ,
  status: 200,
  request: (scene) => ({ method, path: pathOf(scene) }),
  record: changesNothing,
})
const ofUser = ({ people }: Scene) => `?userId=${people.userId}`
const ofId = ({ id }: Scene) => `/${id}`

/** What someone has found out about a record. */
export const FINDING = { by: 'dora', note: 'a double click' }

/** The record was exchanged without an actor. */
async function isAlarming({ setting, subjectToken, kept }: Scene): Promise<void> {
  if (kept.accessToken !== undefined) return
  const { body } = await exchange(setting, { subject_token: subjectToken })
  kept.accessToken = body.access_token ?? ''
}

export const ROUTES = {
  'POST /subject-tokens': {
    scope: CREATE,
    status: 201,
    request: () => ({ method: 'POST', path: '', body: { userId: 'alice' } }),
    record: recordSays({ state: 'active' }),
  },
  'GET /subject-tokens': reading('GET', ofUser),
  'HEAD /subject-tokens': reading('HEAD', ofUser),
  'GET /subject-tokens/{id}': reading('GET', ofId),
  'HEAD /subject-tokens/{id}': reading('HEAD', ofId),
  'GET /subject-tokens/summary': reading('GET', () => '/summary'),
  'HEAD /subject-tokens/summary': reading('HEAD', () => '/summary'),
  'DELETE /subject-tokens/{id}': {
    scope: REVOKE,
    status: 204,
    request: (scene) => ({ method: 'DELETE', path: ofId(scene) }),
    record: revoked,
  },
  'DELETE /subject-tokens': {
    scope: REVOKE,
    status: 200,
    request: (scene) => ({ method: 'DELETE', path: ofUser(scene) }),
    record: revoked,
  },
  'POST /subject-tokens/revocations': {
    scope: REVOKE,
    status: 200,
    request: ({ id }) => ({ method: 'POST', path: '/revocations', body: { id } }),
    record: revoked,
  },
  'POST /subject-tokens/{id}/acknowledgement': {
    scope: REVOKE,
    status: 204,
    prepare: isAlarming,
    request: ({ id }) => ({ method: 'POST', path: `/${id}/acknowledgement`, body: FINDING }),
    record: recordSays({ acknowledged: (all: readonly { by: string }[]) => all[0]?.by === FINDING.by }),
  },
} as const satisfies Readonly<Record<string, Route>>
export type RouteName = keyof typeof ROUTES
const NAMES = Object.keys(ROUTES) as RouteName[]

export const routeOf = (name: RouteName): Route => ROUTES[name]
export const isHead = (name: RouteName): boolean => name.startsWith('HEAD')
export const hasBody = (name: RouteName): boolean => name.startsWith('POST')

const routes = rowsOf(NAMES)
/** The same by every route. */
export const everyRoute = (title: string, cellOf: (name: RouteName, route: Route) => Cell): Rule =>
  routes(
    title,
    each(NAMES, (name) => cellOf(name, routeOf(name))),
  )

/** There is one record, of a user who has no other. */
export const isIssued: Step = async (scene) => {
  const userId = unique('user')
  scene.people = { ...scene.people, userId }
  Object.assign(scene, await issue(scene.setting, { ...scene.issuing, userId }))
}

interface Changes {
  readonly method?: string
  /** Added to the path. */
  readonly query?: string
  readonly path?: string
  readonly body?: unknown
  /** The scopes of the access token, by default all. */
  readonly scope?: string
  /** Another access token. `null`: none. */
  readonly token?: string | null
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends the request of a route. What it issues becomes the record of the scene. */
export const asks =
  (name: RouteName, given: Of<Changes> = {}): Step =>
  async (scene) => {
    const changes = await made(given, scene)
    await routeOf(name).prepare?.(scene)
    const request = { ...routeOf(name).request(scene), ...changes }
    const response = await manages(scene, request)
    if (response.status === 201)
      Object.assign(scene, { id: idFrom(response), subjectToken: response.body.subjectToken })
  }

/** Sends any request of the management API. */
export async function manages(scene: Scene, request: Request & Changes): Promise<HttpResponse> {
  const { method, path, query = '', body, scope, headers, token } = request
  // Before the request: to fetch one is a request of its own.
  const bearer = token === undefined ? await keptToken(scene.setting, scope) : token
  const response = await scene.request(() =>
    manage(scene.setting, method, path + query, { token: bearer, body, ...(headers && { headers }) }),
  )
  // A host that parses bodies may leave another one.
  if (headers?.['x-host-parses'] === undefined)
    expectDescribed({ method, path: path + query, body: await textOf(body) }, response)
  return response
}

const textOf = (body: unknown): unknown => (body instanceof Blob ? body.text() : body)

/** A subject token is asked for, by default one of alice. */
export const issues = (body: Of<Readonly<Record<string, unknown>>> = {}, changes: Changes = {}): Step =>
  asks('POST /subject-tokens', async (scene) => ({
    ...changes,
    body: { userId: 'alice', ...(await made(body, scene)) },
  }))

/** Someone has looked into the alarms of the record. What it needs beside the request has been prepared. */
export const acknowledges =
  (changes: Of<Readonly<Record<string, unknown>>> = {}, given: Changes = {}): Step =>
  async (scene) => {
    const body = { ...FINDING, ...(await made(changes, scene)) }
    await manages(scene, { method: 'POST', path: `/${scene.id}/acknowledgement`, body, ...given })
  }

/** Exchanged without an actor, and used once more. */
export const isUsedAgain: Steps = [
  isIssued,
  isAlarming,
  ({ setting, subjectToken }) => exchange(setting, { subject_token: subjectToken }),
]
/** The time of its replay. */
export const replayOf = async ({ setting, id }: Scene): Promise<number> =>
  (await show(setting, id)).body.replay.at

/** Any request. */
export const requests =
  (request: (scene: Scene) => Promise<HttpResponse>): Step =>
  (scene) =>
    scene.request(() => request(scene))
