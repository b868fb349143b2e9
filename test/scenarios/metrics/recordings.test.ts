/** What requests write to the instruments, and how often: nothing without an SDK. */
import { expect } from 'chai'
import { actorToken, withActor } from '../../../fixtures/actor-tokens.ts'
import { type CountingMeter, countingMeter, withMeter } from '../../../fixtures/counting-meter.ts'
import { OPAQUE_API, useDeployment } from '../../../fixtures/deployment.ts'
import { list, revoke, revokeWhere } from '../../../fixtures/management.ts'
import { BILLING, downstream, ownToken, passedOn, passOn, viewed } from '../../../fixtures/on-behalf-of.ts'
import { exchange, issue, keptToken } from '../../../fixtures/requests.ts'
import { askList } from '../../../fixtures/status-lists.ts'
import { AccessDenied } from '../../../src/index.ts'

/** docs/alerts.md promises it. */
const MOST = 12

/** Prepares something, and returns what is to be measured. */
type Work = () => Promise<() => Promise<unknown>>
type Attributes = Readonly<Record<string, string | number>>
const ended = (kind: string, outcome: string, check?: string): Attributes => ({
  'impersonation.kind': kind,
  'impersonation.outcome': outcome,
  ...(check !== undefined && { 'impersonation.check': check }),
})
const returned = (name: string, ending = 'returned'): Attributes => ({
  'impersonation.function': name,
  'impersonation.ending': ending,
})
const did = (operation: string, outcome: string): Attributes => ({
  'impersonation.operation': operation,
  'impersonation.outcome': outcome,
})

describe('recordings', () => {
  let decide: () => boolean | Promise<boolean>
  let claim: () => object
  const deployment = useDeployment(
    downstream({
      onBehalfOf: { hops: 2 },
      maxDelegationDepth: 10,
      customClaimsTimeout: 1,
      isAllowed: () => decide(),
      getCustomJwtClaims: () => claim() as Record<string, never>,
    }),
  )
  // Fetched before anything is counted.
  before(() => keptToken(deployment))
  beforeEach(() => {
    decide = () => true
    claim = () => ({ desk: 'berlin' })
  })

  async function during(work: () => Promise<unknown>): Promise<CountingMeter['recordings']> {
    const meter = countingMeter()
    await withMeter(meter, async () => {
      // The first look makes the instruments, and begins the series.
      await askList(deployment, '/999')
      meter.recordings.length = 0
      await work()
    })
    return [...meter.recordings]
  }
  const counted = (recordings: CountingMeter['recordings'], instrument: string) =>
    recordings.filter(([name]) => name === `impersonation.${instrument}`).map(([, attributes]) => attributes)

  /** An exchange in which the functions of the deployment do this. */
  const exchanging =
    (changes: { decide?: typeof decide; claim?: typeof claim } = {}): Work =>
    async () => {
      const { subjectToken } = await issue(deployment)
      if (changes.decide) decide = changes.decide
      if (changes.claim) claim = changes.claim
      return () => exchange(deployment, { subject_token: subjectToken })
    }
  const replay: Work = async () => {
    const request = await exchanging()()
    await request()
    return request
  }
  const EXCHANGES: Readonly<Record<string, Work>> = {
    'a JWT': exchanging(),
    'an opaque token, by an actor': async () => {
      const { subjectToken } = await issue(deployment)
      const actor = withActor(await actorToken(deployment))
      return () => exchange(deployment, { subject_token: subjectToken, resource: OPAQUE_API, ...actor })
    },
    'a replay': replay,
    'on behalf of': async () => {
      const { accessToken } = await viewed(deployment)
      return () => passedOn(deployment, accessToken)
    },
  }
  const failing = () => Promise.reject(new Error('private'))
  const denying = () => Promise.reject(new AccessDenied())
  const late = () => new Promise<boolean>(() => {})

  for (const [title, prepare] of Object.entries(EXCHANGES))
    it(`are at most ${MOST} for an exchange, and name neither people nor clients nor resources: ${title}`, async () => {
      const recordings = await during(await prepare())
      expect(recordings.length).to.be.within(2, MOST)
      expect(counted(recordings, 'exchanges')).to.have.length(1)
      expect(counted(recordings, 'exchange.duration')).to.have.length(1)
      for (const name of ['alice', 'bob', 'spa', 'backend', 'example.com', BILLING])
        expect(JSON.stringify(recordings)).not.to.include(name)
    })

  it('are none without an SDK, nor is an instrument made', async () => {
    const meter = countingMeter()
    await withMeter(meter, () => askList(deployment, '/999'))
    const made = meter.made.length
    meter.recordings.length = 0
    for (const prepare of Object.values(EXCHANGES)) await (await prepare())()
    await revokeWhere(deployment, { userId: 'alice' })
    expect(made).to.be.greaterThan(10)
    expect([meter.made.length, meter.recordings]).to.deep.equal([made, []])
  })

  const TOLD: Readonly<Record<string, readonly [instrument: string, work: Work, ...told: Attributes[]]>> = {
    'an exchange': ['exchanges', exchanging(), ended('impersonation', 'done')],
    'one on behalf of': [
      'exchanges',
      async () => {
        const token = await ownToken(deployment)
        return () => passedOn(deployment, token)
      },
      ended('onBehalfOf', 'done'),
    ],
    'a refusal, by its check': [
      'exchanges',
      async () => () => exchange(deployment, { subject_token: 'sub_unknown' }),
      ended('onBehalfOf', 'refused', 'request'),
    ],
    'a refusal by the policy': [
      'exchanges',
      exchanging({ decide: denying }),
      ended('impersonation', 'refused', 'isAllowed'),
    ],
    'a failure, by its function': [
      'exchanges',
      exchanging({ claim: () => ({ sub: 'me' }) }),
      ended('impersonation', 'failed', 'getCustomJwtClaims'),
    ],
    'a refusal by the provider, not by its code': [
      'exchanges',
      async () => {
        const { accessToken } = await viewed(deployment)
        return () => passOn(deployment, accessToken, { resource: 'https://unknown.example.com' })
      },
      ended('onBehalfOf', 'refused', 'other'),
    ],
    'a replay': ['replays', replay, { 'impersonation.ended': 'now', 'impersonation.client': 'same' }],
    'how long functions took': [
      'function.duration',
      exchanging(),
      ...['findAccount', 'isAllowed', 'getCustomJwtClaims'].map((name) => returned(name)),
    ],
    ...Object.fromEntries(
      Object.entries({ too_late: late, denied: denying, failed: failing }).map(([ending, decide]) => [
        `a function: ${ending}`,
        ['function.duration', exchanging({ decide }), returned('findAccount'), returned('isAllowed', ending)],
      ]),
    ),
    'a failure of any door': [
      'failures',
      async () => {
        decide = failing
        return () => issue(deployment).catch(() => {})
      },
      { 'impersonation.door': 'management', 'http.response.status_code': 500 },
    ],
    'issues, stops, lists and status lists': [
      'operations',
      async () => {
        const { id } = await issue(deployment)
        return async () => {
          await issue(deployment)
          await issue(deployment, { userId: 'no-one' }).catch(() => {})
          await revoke(deployment, id)
          await revoke(deployment, '0'.repeat(32))
          await list(deployment, { userId: 'alice' })
          await askList(deployment, '/0')
          await askList(deployment, '/7')
          decide = failing
          await issue(deployment).catch(() => {})
        }
      },
      did('issue', 'done'),
      did('issue', 'refused'),
      did('stop', 'done'),
      did('stop', 'refused'),
      did('list', 'done'),
      did('status_list', 'done'),
      did('status_list', 'refused'),
      did('issue', 'failed'),
    ],
  }
  for (const [title, [instrument, prepare, ...told]] of Object.entries(TOLD))
    it(`tell of ${title}`, async () => {
      expect(counted(await during(await prepare()), instrument)).to.deep.equal(told)
    })
})
