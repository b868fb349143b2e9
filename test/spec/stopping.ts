/** The ways to stop: one record, or all of a user, an actor or a backend; by the management API, the console, a call in the process or a replay. */
import { expect } from 'chai'
import { actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { machineClient } from '../../fixtures/clients.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import type { HttpResponse } from '../../fixtures/http.ts'
import { postRevocation, revoke, revokeWhere } from '../../fixtures/management.ts'
import { inProcess } from '../../fixtures/records.ts'
import { storeClient } from '../../fixtures/registration.ts'
import { exchange, issue, managementToken } from '../../fixtures/requests.ts'
import { unique } from '../../fixtures/unique.ts'
import { exchanged } from './exchanging.ts'
import { answer, type Cell, each, type Rule, rowsOf, type Step, type Steps } from './rule.ts'
import type { Scene } from './scene.ts'

const REASON = 'wrong customer'
const BY = { by: 'dora', reason: REASON }

/** Sends the request that stops the record of the scene, or all of its people. */
type Stop = (scene: Scene) => Promise<HttpResponse>

const killing =
  (by: 'userId' | 'actorId' | 'createdBy'): Stop =>
  ({ setting, people }) =>
    revokeWhere(setting, { [by]: people[by] })
const posting =
  (by: 'userId' | 'actorId' | 'createdBy'): Stop =>
  ({ setting, people }) =>
    postRevocation(setting, { [by]: people[by], ...BY })
const stoppingAll =
  (by: 'userId' | 'actorId'): Stop =>
  ({ setting, people }) =>
    setting.post('/stop-all', { [by]: people[by], confirm: people[by], reason: REASON })

const calling =
  (by: 'userId' | 'actorId' | 'createdBy'): Stop =>
  ({ setting, people }) =>
    inProcess(setting, (records) => records.stopAll({ [by]: people[by], ...BY }))

const WAYS = {
  'DELETE one': ({ setting, id }) => revoke(setting, id),
  'DELETE by userId': killing('userId'),
  'DELETE by actorId': killing('actorId'),
  'DELETE by createdBy': killing('createdBy'),
  'POST by id': ({ setting, id }) => postRevocation(setting, { id, ...BY }),
  'POST by userId': posting('userId'),
  'POST by actorId': posting('actorId'),
  'POST by createdBy': posting('createdBy'),
  'console, stop': ({ setting, id }) => setting.post('/stop', { id, reason: REASON }),
  'console, stop all by userId': stoppingAll('userId'),
  'console, stop all by actorId': stoppingAll('actorId'),
  'call, stop': ({ setting, id }) => inProcess(setting, (records) => records.stop({ id, ...BY })),
  'call, stop all by userId': calling('userId'),
  'call, stop all by actorId': calling('actorId'),
  'call, stop all by createdBy': calling('createdBy'),
  replay: ({ setting, subjectToken }) => exchange(setting, { subject_token: subjectToken }),
} as const satisfies Readonly<Record<string, Stop>>
type Way = keyof typeof WAYS
const NAMES = Object.keys(WAYS) as Way[]
const isOfOne = (way: Way): boolean =>
  ['DELETE one', 'POST by id', 'console, stop', 'call, stop'].includes(way)

/** Sends the request, whatever is answered. */
export const sendStop = (way: Way, scene: Scene): Promise<HttpResponse> => WAYS[way](scene)

/** A request that fails is told (V9). A call in the process is none, and throws what failed. */
export const tellsFailure =
  (way: Way): Step =>
  ({ events }) =>
    expect(events.map(({ name }) => name)).to.deep.equal(
      way.startsWith('call') ? [] : ['impersonation.failed'],
    )

/** The record says how it was stopped. */
const revocationBy = (way: Way): object => {
  if (way === 'replay') return { cause: 'replay' }
  if (way.startsWith('console')) return { cause: 'console', ...BY }
  if (way.startsWith('call')) return { cause: 'host', ...BY }
  return { cause: 'api', client: 'backend', ...(way.startsWith('POST') && BY) }
}

/** One way to stop, as a cell uses it. */
interface Stopping {
  readonly way: Way
  /** It stops so many records, by default the one. */
  readonly stop: (count?: number, kept?: number) => Step
  readonly revocation: object
}
const stoppingBy = (way: Way): Stopping => ({
  way,
  revocation: revocationBy(way),
  stop: (count = 1, kept = 0) =>
    answer(async (scene) => {
      const { status, body, text } = await scene.request(() => WAYS[way](scene))
      if (way === 'replay') expect([status, body.error], text).to.deep.equal([400, 'invalid_request'])
      else if (way.startsWith('console')) expect(status, text).to.equal(303)
      else if (way === 'DELETE one') expect([status, text]).to.deep.equal([204, ''])
      else {
        const answered = { revoked: count, ...(kept > 0 && !way.startsWith('DELETE') && { kept }) }
        expect([status, body], text).to.deep.equal([200, answered])
      }
    }),
})

const stopping = rowsOf(NAMES)
/** The same by every way. */
export const everyWay = (title: string, cell: (by: Stopping) => Cell): Rule =>
  stopping(
    title,
    each(NAMES, (way) => cell(stoppingBy(way))),
  )
/** The same by every way but a replay. */
export const everyStop = (title: string, replay: string, steps: (by: Stopping) => Steps): Rule =>
  everyWay(title, (by) => (by.way === 'replay' ? replay : steps(by)))
/** The same by every way that stops one record. */
export const everyStopOfOne = (title: string, others: string, steps: (by: Stopping) => Steps): Rule =>
  everyWay(title, (by) => (isOfOne(by.way) ? steps(by) : others))

/** The same by every way that stops all of someone. */
export const everyStopOfAll = (title: string, others: string, steps: (by: Stopping) => Cell): Rule =>
  everyWay(title, (by) => (isOfOne(by.way) || by.way === 'replay' ? others : steps(by)))

/** A subject token whose user, actor and backend have no other. */
export const issuedAlone: Step = async (scene) => {
  const people = { userId: unique('user'), actorId: unique('actor'), createdBy: unique('backend') }
  await storeClient(scene.setting, machineClient({ client_id: people.createdBy }))
  scene.people = people
  await issuedAgain(scene)
}

/** One more of the same user, actor and backend. */
export const issuedAgain: Step = async (scene) => {
  const { setting, issuing } = scene
  const { userId, actorId, createdBy } = scene.people
  const token = await managementToken(setting, { client: machineClient({ client_id: createdBy }) })
  Object.assign(scene, await issue(setting, { userId, actorId, ...issuing }, token))
}

/** It is exchanged for a JWT or for an opaque token, in which its actor acts. */
export const used = (format: 'a JWT' | 'an opaque token'): Step =>
  exchanged(async ({ setting, people: { actorId } }) => ({
    resource: format === 'a JWT' ? API : OPAQUE_API,
    ...withActor(await actorToken(setting, { accountId: actorId })),
  }))

/** The statement with which a stop begins. */
const MARKS = /INSERT INTO subject_token_stops/

/** The connection is lost once the next stop has marked its record, before it is read. */
export const cutShort: Step = ({ setting }) => {
  setting.overtake(MARKS, async () => {
    setting.overtake(/FROM subject_tokens/, () => Promise.reject(new Error('private: lost')))
  })
}

/** The subject token is exchanged just before the next stop marks its record. */
export const exchangedMeanwhile =
  (format: 'a JWT' | 'an opaque token'): Step =>
  (scene) =>
    scene.setting.overtake(MARKS, async () => void (await used(format)(scene)))
