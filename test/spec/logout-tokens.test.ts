/** The application of a session is told of its end, until it confirms (docs/protocol.md §10.6). */
import { expect } from 'chai'
import { now } from '../../fixtures/clock.ts'
import { DATABASES } from '../../fixtures/databases.ts'
import { type Answer, openSession, reachesLoopback } from '../../fixtures/sessions.ts'
import { sessionName } from '../../src/sessions/provider.ts'
import { PAIRWISE, rule } from './arriving.ts'
import { type Given, type Scene, timed } from './ending.ts'
import { declareCells } from './matrix.ts'
import { type Named, type Steps, values } from './rule.ts'

/** How a session ends, what its application answers, and when it is told: seconds since that end. */
interface Course {
  /** Of the session. Default: an hour. */
  readonly ttl?: number
  /** Seconds after the arrival. Absent: it is not stopped, and ends by itself. */
  readonly stopped?: number
  /** The first look comes so many seconds after the stop. */
  readonly looked?: number
  /** After them, 200. */
  readonly answers?: readonly Answer[]
  readonly told: readonly number[]
  /** When it is settled. */
  readonly at: number
  readonly logout?: 'gaveUp'
  readonly given?: Given
}

const LATE = 100
const AN_HOUR = [0, 1, 4, 14, 44, 104, 224, 524, 1124, 1724, 2324, 2924, 3524, 3600]
const COURSES: Named<Named<Course>> = {
  L4: {
    200: { stopped: LATE, answers: [200], told: [0], at: 0 },
    204: { stopped: LATE, answers: [204], told: [0], at: 0 },
  },
  'L4, and nothing else': {
    ...Object.fromEntries(
      [201, 202, 302, 400, 404, 500].map((answer) => [
        answer,
        { stopped: LATE, answers: [answer], told: [0, 1], at: 1 } satisfies Course,
      ]),
    ),
    'no answer': {
      ...{ stopped: LATE, answers: ['hangs'], told: [0, 1], at: 1 },
      given: { configuration: reachesLoopback(1000) },
    },
  },
  L5: {
    'an hour': { stopped: LATE, answers: Array(20).fill(500), told: AN_HOUR, at: 3600, logout: 'gaveUp' },
  },
  L6: {
    'after 70 seconds': { stopped: 70, told: [0, 10], at: 0 },
    'and no later': { stopped: 71, told: [0], at: 0 },
    'at its own end': { ttl: 60, told: [0, 10], at: 0 },
    'where the first came late, because processes had died': {
      ...{ stopped: 0, looked: 60 },
      ...{ told: [60, 70], at: 60 },
    },
    'whatever the first brought': { stopped: 0, answers: [500], told: [0, 1, 10], at: 1 },
    'by the pauses since the stop': { stopped: 0, answers: [500, 500, 200], told: [0, 1, 4, 10], at: 4 },
    'and not where it has confirmed later than that': {
      ...{ stopped: 0, answers: [500, 500, 500] },
      ...{ told: [0, 1, 4, 14], at: 14 },
    },
    'until it confirms that, too': {
      ...{ stopped: 0, answers: [200, 500, 500] },
      ...{ told: [0, 10, 20, 50], at: 0 },
    },
    // The mark of a stopped session that is still its end means that no one has tried.
    'where the next attempt would come at the very end that it had': {
      ...{ ttl: 74, stopped: 70, answers: [500, 500, 500] },
      ...{ told: [0, 1, 5, 15], at: 15 },
    },
  },
  L11: { 'of a failure, and of the end': { stopped: LATE, answers: [500], told: [0, 1], at: 1 } },
  L10: { 'at its own end, and not before': { ttl: 120, told: [0], at: 0 } },
}

const course = ({ ttl = 3600, stopped, looked = 0, answers = [], told, at, logout, given }: Course): Steps =>
  timed(
    async (scene) => {
      const { open, clock, stop, watch, pass, says, application, eventsOf } = scene
      const id = await open({ ttl })
      const { endsAt } = (await says(id)) ?? expect.fail()
      if (stopped === undefined) {
        await pass(ttl - 1)
        expect(application.told).to.deep.equal([])
        expect(await says(id)).to.deep.equal({ endsAt, logout: 'pending' })
      } else {
        clock.tick(stopped)
        await stop(id)
        clock.tick(looked)
        await watch.look()
      }
      const ended = stopped === undefined ? endsAt : endsAt - ttl + stopped
      await pass(told.length > 5 ? 3700 : 700)
      expect(application.told.map(({ iat = 0 }) => iat - ended)).to.deep.equal(told)
      const session = { endsAt, logout: logout ?? 'confirmed', logoutAt: ended + at }
      expect(await says(id)).to.deep.equal(session)
      const whose = { id, userId: 'alice', clientId: 'shop' }
      expect(eventsOf('session.ended')).to.deep.equal([{ ...whose, session }])
      const failures = told.flatMap((_, index) => {
        const answer = answers[index] ?? 200
        if (answer === 200 || answer === 204) return []
        const reason = answer === 'hangs' ? 'TimeoutError' : `HTTP_${answer}`
        const next = told[index + 1]
        return [{ ...whose, reason, ...(next !== undefined && { retryAt: ended + next }) }]
      })
      expect(eventsOf('session.logout_failed')).to.deep.equal(failures)
    },
    { ...given, answers },
  )

/** Past the time in which an application may be redeeming the code. */
async function stopLate({ clock, open, stop, watch }: Scene): Promise<string> {
  const id = await open({ ttl: 3600 })
  clock.tick(LATE)
  await stop(id)
  await watch.look()
  return id
}

/** Why an application cannot be told. */
const UNREACHED: Named<readonly [reason: string, given: Given]> = {
  'an internal address': [
    'SPECIAL_USE_ADDRESS',
    { configuration: { fetch: (url, options) => fetch(url, options) } },
  ],
  'no address any more': ['NO_BACKCHANNEL_LOGOUT', { client: { backchannel_logout_uri: undefined } }],
  'no sid: every session of the user would end': [
    'NO_SESSION_REQUIRED',
    { client: { backchannel_logout_session_required: false } },
  ],
}
const unreached = async (scene: Scene, id: string, reason: string) => {
  expect(scene.application.told).to.deep.equal([])
  expect(scene.eventsOf('session.logout_failed')).to.have.nested.property('[0].reason', reason)
  expect((await scene.says(id))?.logout).to.equal('pending')
  await scene.pass(3601)
  expect((await scene.says(id))?.logout).to.equal('gaveUp')
}

declareCells('L, logout tokens', [
  values(
    'L3',
    {
      alice: {},
      'alice@shop': { client: { subject_type: 'pairwise' }, configuration: PAIRWISE },
    } satisfies Named<Given>,
    (given, sub) =>
      timed(async (scene) => {
        const id = await stopLate(scene)
        const [token] = scene.application.told
        expect(token).to.deep.include({
          ...{ iss: scene.deployment.issuer, aud: 'shop', sub, sid: sessionName(id) },
          events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
        })
      }, given),
  ),
  rule(
    'L3, of each session of a kill switch',
    timed(async ({ open, clock, deployment, watch, application }) => {
      const ids = [await open(), await open(), await open({ userId: 'bob' })]
      clock.tick(LATE)
      await deployment.impersonation.records.stopAll({ userId: 'alice' })
      await watch.look()
      const sids = application.told.map(({ sid }) => sid)
      expect(sids).to.have.members(ids.slice(0, 2).map(sessionName))
    }),
  ),
  ...Object.entries(COURSES).map(([title, courses]) => values(title, courses, course)),
  values(
    'L6, on each database',
    Object.fromEntries(DATABASES.map((database) => [database, { database }])),
    ({ database }) =>
      timed(
        async ({ open, stop, watch, pass, says, application }) => {
          const id = await open()
          const at = now()
          await stop(id)
          await watch.look()
          await pass(11)
          expect(application.told.map(({ iat = 0 }) => iat - at)).to.deep.equal([0, 1, 4, 10])
          expect(await says(id)).to.include({ logout: 'confirmed', logoutAt: at + 4 })
        },
        { database, answers: [500, 500, 200] },
      ),
  ),
  rule(
    'L7',
    timed(
      async ({ open, stop, pass, application, says, eventsOf }) => {
        const id = await open({ logout: 'unsupported' })
        const session = await says(id)
        expect(session?.logout).to.equal('unsupported')
        await stop(id)
        await pass(30)
        expect([application.told, await says(id)]).to.deep.equal([[], session])
        const ended = { id, userId: 'alice', clientId: 'shop', session }
        expect(eventsOf('session.ended')).to.deep.equal([ended])
        expect(eventsOf('session.logout_failed')).to.deep.equal([])
      },
      { uri: null },
    ),
  ),
  values('L7, and', UNREACHED, ([reason, given]) =>
    timed(async (scene) => unreached(scene, await stopLate(scene), reason), given),
  ),
  rule(
    'L7, and a client that is gone',
    timed(async (scene) => {
      const { id } = await openSession(scene.deployment, { clientId: 'gone' })
      scene.clock.tick(LATE)
      await scene.stop(id)
      await scene.watch.look()
      await unreached(scene, id, 'NO_BACKCHANNEL_LOGOUT')
    }),
  ),
  rule(
    'L5, and an application that is down',
    timed(async (scene) => {
      await scene.application.close()
      await unreached(scene, await stopLate(scene), 'ECONNREFUSED')
    }),
  ),
])
