/** Access tokens that people act with, and that APIs receive: JWTs and opaque ones, with changes that mean the same in both. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { actorJwt, actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import type { Parameters } from '../../fixtures/http.ts'
import type { Signing } from '../../fixtures/jwts.ts'
import { viewed } from '../../fixtures/on-behalf-of.ts'
import { statusOf } from '../../fixtures/status-lists.ts'
import type { ActClaim } from '../../src/index.ts'
import { type Of, type Sender, sent } from './exchanging.ts'
import { invalidRequest } from './expectations.ts'
import { rewrite } from './given.ts'
import {
  answer,
  type Cell,
  each,
  first,
  type Rule,
  record,
  rowsOf,
  type Step,
  type Steps,
  stepsOf,
} from './rule.ts'
import type { Scene } from './scene.ts'
import { settingOf } from './settings.ts'

const PLACES = ['an actor token', 'a received token'] as const
const FORMATS = ['JWT', 'opaque'] as const
type Place = (typeof PLACES)[number]
type Format = (typeof FORMATS)[number]

/** Where a token is sent, and in which format. */
const BEARERS = [
  'an actor token, JWT',
  'an actor token, opaque',
  'a received token, JWT',
  'a received token, opaque',
] as const
type Bearer = (typeof BEARERS)[number]

/** What a token says. Members that are `undefined` are left out. */
interface Token {
  readonly sub?: string
  readonly client_id?: string
  readonly scope?: string | undefined
  readonly aud?: string
  readonly act?: unknown
  readonly cnf?: Readonly<Record<string, string>> | undefined
  readonly status?: unknown
  readonly exp?: number | undefined
  readonly nbf?: number
  readonly iss?: string
}

const formatOf = (bearer: Bearer): Format => (bearer.endsWith('JWT') ? 'JWT' : 'opaque')
const placeOf = (bearer: Bearer): Place =>
  bearer.startsWith('an actor') ? 'an actor token' : 'a received token'

export const bearers = rowsOf(BEARERS)
/** The same for each place and format. */
export const everyBearer = (title: string, steps: Steps): Rule =>
  bearers(
    title,
    each(BEARERS, (bearer) => [borneAs(bearer), steps]),
  )
/** The same in one format alone, and why there is none in the other. */
export const jwtOnly = (title: string, reason: string, steps: Steps): Rule =>
  bearers(title, { ...inJwt(steps), ...inOpaque(reason) })
export const opaqueOnly = (title: string, reason: string, steps: Steps): Rule =>
  bearers(title, { ...inJwt(reason), ...inOpaque(steps) })

const both =
  <const Some extends Bearer>(...some: readonly Some[]) =>
  (cell: Cell) =>
    each(some, (bearer) => first(borneAs(bearer), cell))
const inJwt = both('an actor token, JWT', 'a received token, JWT')
const inOpaque = both('an actor token, opaque', 'a received token, opaque')
export const actors = both('an actor token, JWT', 'an actor token, opaque')
export const receivedTokens = both('a received token, JWT', 'a received token, opaque')

export const borneAs =
  (bearer: Bearer): Step =>
  (scene) => {
    scene.kept.place = placeOf(bearer)
    scene.kept.format = formatOf(bearer)
    if (placeOf(bearer) === 'a received token')
      scene.door = formatOf(bearer) === 'JWT' ? 'a JWT' : 'an opaque token'
  }

export const isReceived = ({ kept }: Scene): boolean => kept.place === 'a received token'
const isJwt = ({ kept }: Scene): boolean => kept.format === 'JWT'

/** Bob's token to act with, or alice's for the orders API. */
const usual = (scene: Scene) => ({
  sub: isReceived(scene) ? 'alice' : 'bob',
  scope: isReceived(scene) ? 'orders:read' : 'openid',
  aud: isJwt(scene) ? API : OPAQUE_API,
  client_id: 'spa',
})

/** Makes the token of the cell. */
export const token =
  (given: Of<Token> = {}, signing?: Signing): Step =>
  async (scene) => {
    const changes = typeof given === 'function' ? await given(scene) : given
    const claims = { ...usual(scene), ...changes }
    scene.kept.token = isJwt(scene)
      ? await actorJwt(scene.setting, claims, signing)
      : await opaque(scene, claims)
  }

async function opaque({ setting }: Scene, { sub, client_id, scope, aud, ...others }: Token): Promise<string> {
  const value = await actorToken(setting, {
    ...(sub !== undefined && { accountId: sub }),
    ...(client_id !== undefined && { clientId: client_id }),
    ...(aud !== undefined && { audience: aud }),
    scope: scope ?? '',
  })
  const { act, status, cnf = {}, exp } = others
  const extra = { ...(act !== undefined && { act }), ...(status !== undefined && { status }) }
  await rewrite(setting, value, {
    ...(Object.keys(extra).length > 0 && { extra }),
    ...cnf,
    ...(exp !== undefined && { exp }),
  })
  return value
}

/** The token of the cell is of an impersonation: alice's, in which bob acts. */
export const impersonated: Step = async (scene) => {
  const resource = isJwt(scene) ? API : OPAQUE_API
  const { accessToken, id } = await viewed(scene.setting, { resource, scope: 'openid orders:read' })
  scene.kept.token = accessToken
  scene.kept.record = id
  if (isReceived(scene)) scene.id = id
  else scene.issuing = { userId: 'dave' }
}

/** Sends the token of the cell where it belongs, in an exchange that is otherwise valid. */
export const sends =
  (changes: Of<Parameters> = {}, sender?: Of<Sender>): Step =>
  async (scene) => {
    const { token: value = '' } = scene.kept
    if (isReceived(scene)) scene.received = value
    const own = isReceived(scene) ? {} : withActor(value)
    const added = typeof changes === 'function' ? await changes(scene) : changes
    await sent(scene, { ...own, ...added }, sender)
  }

type Reason = string | ((scene: Scene) => string)
export const byFormat =
  (ofJwt: string, ofOpaque: string): Reason =>
  (scene) =>
    isJwt(scene) ? ofJwt : ofOpaque
export const byPlace =
  (ofActor: string, ofReceived: string): Reason =>
  (scene) =>
    isReceived(scene) ? ofReceived : ofActor

/** The text of a bad token at its place. */
export const tokenRefused = (reason: Reason): Step =>
  record(
    answer(async (scene) => {
      const name = isReceived(scene) ? 'subject_token' : 'actor_token'
      for (const step of stepsOf(invalidRequest(`${name} is invalid`, reason))) await step(scene)
    }),
  )

/** A second request may follow, with a subject token of its own where one was spent. */
export const afresh: Step = (scene) => {
  expect(scene.response.status, scene.response.text).to.equal(200)
  if (!isReceived(scene)) Object.assign(scene, { subjectToken: '', id: '' })
}

/** A place in a status list of this deployment. */
export const statusAt = ({ baseUrl }: Scene['setting'], idx: number, list = '0') => ({
  status_list: { idx, uri: `${baseUrl}/api/status-lists/${list}` },
})

const modelOf = async ({ setting, kept }: Scene) =>
  (await setting.provider.AccessToken.find(kept.token ?? '')) ?? expect.fail('no such token')

/** The status index of a token that another issuer of the same database has exchanged. */
export async function indexElsewhere(): Promise<number> {
  const { accessToken } = await viewed(await settingOf('of another issuer'))
  return statusOf(accessToken).idx
}

/** Changes what is stored beside the token of the cell, which is opaque. */
export const rewriteExtra =
  (changes: Of<Readonly<Record<string, unknown>>>): Step =>
  async (scene) => {
    const { extra = {} } = await modelOf(scene)
    const changed = { ...extra, ...(typeof changes === 'function' ? await changes(scene) : changes) }
    await rewrite(scene.setting, scene.kept.token ?? '', { extra: changed })
  }

/** Changes the Grant of the token of the cell. */
export const rewriteGrant =
  (changes: () => Readonly<Record<string, unknown>>): Step =>
  async (scene) => {
    const { adapter } = scene.setting.provider.Grant
    const { grantId = '' } = await modelOf(scene)
    await adapter.upsert(grantId, { ...(await adapter.find(grantId)), ...changes() } as never, 600)
  }

export const destroyed: Step = async (scene) => (await modelOf(scene)).destroy()

export const endGrant: Step = async (scene) => {
  const { grantId = '' } = await modelOf(scene)
  await scene.setting.provider.Grant.adapter.destroy(grantId)
}

/** Binds the token of the cell to a session of its user. */
export const inSession: Step = async (scene) => {
  const { Session } = scene.setting.provider
  const { grantId, accountId } = await modelOf(scene)
  const session = Object.assign(new Session(), { accountId, authorizations: { spa: { grantId } } })
  await session.save(600)
  scene.kept.session = session.uid
  await rewrite(scene.setting, scene.kept.token ?? '', { expiresWithSession: true, sessionUid: session.uid })
}

export const endSession: Step = async ({ setting, kept }) => {
  const session = await setting.provider.Session.findByUid(kept.session ?? '')
  await session?.destroy()
}

/** The token of the cell is of an impersonation in which these act, however that came to be. */
export const peopleAre =
  (actor: ActClaim): Step =>
  async (scene) => {
    await impersonated(scene)
    const { id, setting, kept } = scene
    const { sub, ...earlier } = actor
    const write = `UPDATE subject_token_uses SET actor_id = $sub, actor = $earlier WHERE token_id = X'${id}'`
    const bind = { sub, earlier: JSON.stringify(earlier) }
    await setting.database.sequelize.query(write, { bind })
    if (!isJwt(scene)) return rewriteExtra({ act: actor })(scene)
    const { status } = decodeJwt(kept.token ?? '')
    await token({ act: actor, status })(scene)
  }
