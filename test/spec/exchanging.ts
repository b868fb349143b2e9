/** Requests of the token endpoint, at both of its doors: with a subject token, or with a token that an API has received. */
import { expect } from 'chai'
import type { ClientMetadata } from 'oidc-provider'
import { actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { publicClient, webClient } from '../../fixtures/clients.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import type { HttpResponse, Parameters } from '../../fixtures/http.ts'
import { apiClient, BILLING, ownToken } from '../../fixtures/on-behalf-of.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import { expectExchangeDescribed } from './described.ts'
import { rewrite } from './given.ts'
import { type Cell, each, first, type Rule, rowsOf, type Step, type Steps } from './rule.ts'
import type { Scene } from './scene.ts'

const RECEIVED = ['a JWT', 'an opaque token'] as const
/** What is exchanged: a subject token, or an access token of an impersonation that an API has received. */
export const DOORS = ['a subject token', ...RECEIVED] as const
const OWN = ["a user's own JWT", "a user's own opaque token"] as const
/** All that an API may exchange. */
const PASSED = [...RECEIVED, ...OWN] as const
export type Door = (typeof DOORS)[number] | (typeof OWN)[number]

export interface Sender {
  readonly client?: ClientMetadata
  readonly headers?: Readonly<Record<string, string>>
}
/** Fixed, or made from what the scene has become. */
export type Of<Value> = Value | ((scene: Scene) => Value | Promise<Value>)
export const made = <Value extends object>(given: Of<Value>, scene: Scene): Value | Promise<Value> =>
  typeof given === 'function' ? given(scene) : given

export const doors = rowsOf(DOORS)
/** The same at each door. */
export const everyDoor = (title: string, steps: Steps): Rule =>
  doors(
    title,
    each(DOORS, (door) => [at(door), steps]),
  )
/** The same for both kinds of access token that an API has received. */
export const received = (cell: Cell) => each(RECEIVED, (door) => first(at(door), cell))

export const passed = rowsOf(PASSED)
/** The same for everything that an API may exchange. */
export const everyPassed = (title: string, steps: Steps): Rule =>
  passed(title, { ...received(steps), ...own(steps) })
/** The same for both kinds of access token of a user's own. */
export const own = (cell: Cell) => each(OWN, (door) => first(at(door), cell))

export const at =
  (door: Door): Step =>
  (scene) => {
    scene.door = door
  }

const isOwn = ({ door }: Scene): boolean => door.startsWith("a user's own")
export const isJwt = ({ door }: Scene): boolean => door.endsWith('JWT')
export const audience = (scene: Scene): string => (isJwt(scene) ? API : OPAQUE_API)

/** There is something to exchange: of alice, in which bob acts if an API has received it. */
export async function ready(scene: Scene): Promise<void> {
  if (scene.subjectToken !== '' || scene.received !== '') return
  const { setting, issuing } = scene
  if (isOwn(scene)) {
    const format = isJwt(scene) ? 'jwt' : 'opaque'
    const token = { accountId: 'alice', scope: scene.scope, format, audience: audience(scene) } as const
    scene.received = await ownToken(setting, token)
    return
  }
  Object.assign(scene, await issue(setting, issuing))
  if (scene.door !== 'a subject token') await receive(scene)
}

/** The subject token has become the access token that an API has received. */
async function receive(scene: Scene): Promise<void> {
  const { setting, subjectToken, scope, acting, application } = scene
  const { status, body, text } = await exchange(
    setting,
    {
      subject_token: subjectToken,
      resource: audience(scene),
      scope,
      ...(await made(acting, scene)),
    },
    await made(application, scene),
  )
  expect(status, text).to.equal(200)
  scene.received = body.access_token
}

/** What is issued, and what it is issued for. */
export const responsesFor = rowsOf([
  'a subject token, for a JWT',
  'a subject token, for an opaque token',
  ...RECEIVED,
])

/** The same for each, with the parameters that ask for it. */
export const everyResponse = (title: string, stepsFor: (changes: Parameters) => Steps): Rule =>
  responsesFor(title, {
    'a subject token, for a JWT': stepsFor({}),
    'a subject token, for an opaque token': stepsFor({ resource: OPAQUE_API }),
    ...received(stepsFor({})),
  })

/** A client that authenticates, by its door. */
export const confidential = ({ door }: Scene): ClientMetadata =>
  door === 'a subject token' ? webClient() : apiClient()

/** A valid exchange, with `changes` on top. By default a public application or the orders API sends it. */
export const send =
  (changes?: Of<Parameters>, sender?: Of<Sender>): Step =>
  (scene) =>
    sent(scene, changes, sender)

export async function sent(
  scene: Scene,
  changes?: Of<Parameters>,
  sender?: Of<Sender>,
): Promise<HttpResponse> {
  await ready(scene)
  const request = await requestOf(scene, changes, sender)
  return scene.request(request)
}

/** What requests at the same moment are answered. Of these, so many succeed, and one of the successes is kept. */
const allAtOnce = (scene: Scene, requests: readonly (() => Promise<HttpResponse>)[], succeeding: number) =>
  scene.request(async () => {
    const responses = await Promise.all(requests.map((request) => request()))
    const succeeded = responses.filter(({ status }) => status === 200)
    expect(succeeded, responses.map(({ text }) => text).join()).to.have.length(succeeding)
    return succeeded[0] ?? expect.fail()
  })

/** Copies of one request at the same moment. */
export const sendCopies =
  (
    copies: number,
    succeeding: Of<{ readonly count: number }>,
    changes?: Of<Parameters>,
    sender?: Of<Sender>,
  ): Step =>
  async (scene) => {
    await ready(scene)
    const request = await requestOf(scene, changes, sender)
    const { count } = await made(succeeding, scene)
    await allAtOnce(
      scene,
      Array.from({ length: copies }, () => request),
      count,
    )
  }

/** The same twice, one after the other, each with a subject token of its own; the first one succeeds. */
export const sendTwice =
  (changes?: Of<Parameters>, sender?: Of<Sender>): Step =>
  async (scene) => {
    const own = { ...(await made(changes ?? {}, scene)) }
    const same = await made(sender ?? {}, scene)
    const { status, text } = await sent(scene, own, same)
    expect(status, text).to.equal(200)
    if (scene.door === 'a subject token') scene.subjectToken = ''
    await sent(scene, own, same)
  }

/** The same at the same moment, each with a subject token of its own, of which one succeeds. The record is the other's. */
export const sendTwiceAtOnce =
  (changes?: Of<Parameters>, sender?: Of<Sender>): Step =>
  async (scene) => {
    const own = { ...(await made(changes ?? {}, scene)) }
    const same = await made(sender ?? {}, scene)
    const ids: string[] = []
    const requests: (() => Promise<HttpResponse>)[] = []
    for (let copy = 0; copy < 2; copy += 1) {
      if (scene.door === 'a subject token') scene.subjectToken = ''
      await ready(scene)
      ids.push(scene.id)
      requests.push(await requestOf(scene, own, same))
    }
    await allAtOnce(scene, requests, 1)
    const told = scene.events.find(({ name }) => name.endsWith('.exchanged'))
    const winner = told && 'id' in told.payload ? told.payload.id : undefined
    scene.id = ids.find((id) => id !== winner) ?? scene.id
  }

async function requestOf(
  scene: Scene,
  changes: Of<Parameters> = {},
  sender: Of<Sender> = {},
): Promise<() => Promise<HttpResponse>> {
  const isFirst = scene.door === 'a subject token'
  const { client = isFirst ? publicClient() : apiClient(), ...others } = await made(sender, scene)
  const parameters: Parameters = {
    subject_token: isFirst ? scene.subjectToken : scene.received,
    resource: isFirst ? API : BILLING,
    ...(await made(changes, scene)),
  }
  for (const token of [parameters.subject_token, parameters.actor_token])
    if (typeof token === 'string' && token.length > 20 && token !== scene.id) scene.secrets.add(token)
  return async () => {
    const response = await exchange(scene.setting, parameters, { client, ...others })
    expectExchangeDescribed(response)
    return response
  }
}

/** Parameters that name someone who acts, by default bob, by an opaque token of the application. */
export const actedBy =
  (accountId = 'bob') =>
  async ({ setting }: Scene): Promise<Parameters> =>
    withActor(await actorToken(setting, { accountId }))

/** Bob, for whom carol acted before. */
export const actedByTwo = async ({ setting }: Scene): Promise<Parameters> => {
  const value = await actorToken(setting, { accountId: 'bob' })
  await rewrite(setting, value, { extra: { act: { sub: 'carol' } } })
  return withActor(value)
}

/** The exchange succeeds, and what it returned is kept. */
export const exchanged =
  (changes: Of<Parameters> = {}, sender: Of<Sender> = {}): Step =>
  async (scene) => {
    const { status, body, text } = await sent(scene, changes, sender)
    expect(status, text).to.equal(200)
    scene.kept.accessToken = body.access_token
  }
