/** What requests write to the instruments, and how often: nothing without an SDK. */
import { expect } from 'chai'
import { actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { type CountingMeter, countingMeter, withMeter } from '../../fixtures/counting-meter.ts'
import { type Deployment, OPAQUE_API, startDeployment } from '../../fixtures/deployment.ts'
import { list, revoke, revokeWhere } from '../../fixtures/management.ts'
import { BILLING, downstream, ownToken, passedOn, passOn, viewed } from '../../fixtures/on-behalf-of.ts'
import { exchange, issue, keptToken } from '../../fixtures/requests.ts'
import { askList } from '../../fixtures/status-lists.ts'
import { AccessDenied } from '../../src/index.ts'

/** docs/operate.md promises it. */
const MOST = 12

describe('recordings', () => {
  let deployment: Deployment
  let decide: () => boolean | Promise<boolean>
  let claim: () => object
  before(async () => {
    deployment = await startDeployment(
      downstream({
        onBehalfOf: { hops: 2 },
        maxDelegationDepth: 10,
        customClaimsTimeout: 1,
        isAllowed: () => decide(),
        getCustomJwtClaims: () => claim() as Record<string, never>,
      }),
    )
    // Fetched before anything is counted.
    await keptToken(deployment)
  })
  after(() => deployment.close())
  beforeEach(() => {
    decide = () => true
    claim = () => ({ desk: 'berlin' })
  })

  /** What one request writes. */
  const during = async (work: () => Promise<unknown>): Promise<CountingMeter['recordings']> => {
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
    recordings.filter(([name]) => name === instrument).map(([, attributes]) => attributes)

  const exchanges: Readonly<Record<string, () => Promise<() => Promise<unknown>>>> = {
    'a JWT': async () => {
      const { subjectToken } = await issue(deployment)
      return () => exchange(deployment, { subject_token: subjectToken })
    },
    'an opaque token, by an actor': async () => {
      const { subjectToken } = await issue(deployment)
      const actor = withActor(await actorToken(deployment))
      return () => exchange(deployment, { subject_token: subjectToken, resource: OPAQUE_API, ...actor })
    },
    'a replay': async () => {
      const { subjectToken } = await issue(deployment)
      await exchange(deployment, { subject_token: subjectToken })
      return () => exchange(deployment, { subject_token: subjectToken })
    },
    'on behalf of': async () => {
      const { accessToken } = await viewed(deployment)
      return () => passedOn(deployment, accessToken)
    },
  }
  for (const [title, prepare] of Object.entries(exchanges)) {
    it(`are at most ${MOST} for an exchange: ${title}`, async () => {
      const request = await prepare()
      const recordings = await during(request)
      expect(recordings.length).to.be.within(2, MOST)
      expect(counted(recordings, 'impersonation.exchanges')).to.have.length(1)
      expect(counted(recordings, 'impersonation.exchange.duration')).to.have.length(1)
    })
  }

  it('are none without an SDK, nor is an instrument made', async () => {
    const meter = countingMeter()
    await withMeter(meter, () => askList(deployment, '/999'))
    const made = meter.made.length
    meter.recordings.length = 0
    for (const prepare of Object.values(exchanges)) await (await prepare())()
    await revokeWhere(deployment, { userId: 'alice' })
    expect(made).to.be.greaterThan(10)
    expect([meter.made.length, meter.recordings]).to.deep.equal([made, []])
  })

  const outcomes: Readonly<Record<string, readonly [work: () => Promise<unknown>, attributes: object]>> = {
    'done, by its kind': [
      async () => (await exchanges['a JWT']?.())?.(),
      { 'impersonation.kind': 'impersonation', 'impersonation.outcome': 'done' },
    ],
    'done on behalf of': [
      async () => passedOn(deployment, await ownToken(deployment)),
      { 'impersonation.kind': 'onBehalfOf', 'impersonation.outcome': 'done' },
    ],
    'refused, by the check': [
      () => exchange(deployment, { subject_token: 'sub_unknown' }),
      {
        'impersonation.kind': 'onBehalfOf',
        'impersonation.outcome': 'refused',
        'impersonation.check': 'request',
      },
    ],
    'refused, by the policy': [
      async () => {
        const { subjectToken } = await issue(deployment)
        decide = () => {
          throw new AccessDenied()
        }
        await exchange(deployment, { subject_token: subjectToken })
      },
      {
        'impersonation.kind': 'impersonation',
        'impersonation.outcome': 'refused',
        'impersonation.check': 'isAllowed',
      },
    ],
    'failed, by the function': [
      async () => {
        const { subjectToken } = await issue(deployment)
        claim = () => ({ sub: 'me' })
        await exchange(deployment, { subject_token: subjectToken })
      },
      {
        'impersonation.kind': 'impersonation',
        'impersonation.outcome': 'failed',
        'impersonation.check': 'getCustomJwtClaims',
      },
    ],
    'refused by the provider: not by its code': [
      async () => {
        const { accessToken } = await viewed(deployment)
        await passOn(deployment, accessToken, { resource: 'https://unknown.example.com' })
      },
      {
        'impersonation.kind': 'onBehalfOf',
        'impersonation.outcome': 'refused',
        'impersonation.check': 'other',
      },
    ],
  }
  for (const [title, [work, attributes]] of Object.entries(outcomes)) {
    it(`tell how an exchange ended: ${title}`, async () => {
      const told = counted(await during(work), 'impersonation.exchanges')
      expect(told.at(-1)).to.deep.equal(attributes)
    })
  }

  it('tell what became of a replay', async () => {
    const replay = await exchanges['a replay']?.()
    expect(counted(await during(async () => replay?.()), 'impersonation.replays')).to.deep.equal([
      { 'impersonation.ended': 'now', 'impersonation.client': 'same' },
    ])
  })

  it('tell how long functions took, and how their calls ended', async () => {
    const { subjectToken } = await issue(deployment)
    const told = counted(
      await during(() => exchange(deployment, { subject_token: subjectToken })),
      'impersonation.function.duration',
    )
    expect(told).to.deep.equal(
      ['findAccount', 'isAllowed', 'getCustomJwtClaims'].map((name) => ({
        'impersonation.function': name,
        'impersonation.ending': 'returned',
      })),
    )
    const endings: [decide: () => boolean | Promise<boolean>, ending: string][] = [
      [() => new Promise<boolean>(() => {}), 'too_late'],
      [() => Promise.reject(new AccessDenied()), 'denied'],
      [() => Promise.reject(new Error('private')), 'failed'],
    ]
    for (const [answer, ending] of endings) {
      const another = await issue(deployment)
      decide = answer
      const recordings = await during(() => exchange(deployment, { subject_token: another.subjectToken }))
      decide = () => true
      expect(counted(recordings, 'impersonation.function.duration')).to.deep.include({
        'impersonation.function': 'isAllowed',
        'impersonation.ending': ending,
      })
    }
  })

  it('tell of issues, stops, lists and status lists how they ended', async () => {
    const operation = (name: string, outcome: string) => ({
      'impersonation.operation': name,
      'impersonation.outcome': outcome,
    })
    const { id } = await issue(deployment)
    const told = counted(
      await during(async () => {
        await issue(deployment)
        await issue(deployment, { userId: 'no-one' }).catch(() => {})
        await revoke(deployment, id)
        await revoke(deployment, '0'.repeat(32))
        await list(deployment, { userId: 'alice' })
        await askList(deployment, '/0')
        await askList(deployment, '/7')
        decide = () => Promise.reject(new Error('private'))
        await issue(deployment).catch(() => {})
      }),
      'impersonation.operations',
    )
    expect(told).to.deep.equal([
      operation('issue', 'done'),
      operation('issue', 'refused'),
      operation('stop', 'done'),
      operation('stop', 'refused'),
      operation('list', 'done'),
      operation('status_list', 'done'),
      operation('status_list', 'refused'),
      operation('issue', 'failed'),
    ])
  })

  it('count what impersonation.failed tells', async () => {
    decide = () => Promise.reject(new Error('private'))
    const recordings = await during(() => issue(deployment).catch(() => {}))
    expect(counted(recordings, 'impersonation.failures')).to.deep.equal([
      { 'impersonation.door': 'management', 'http.response.status_code': 500 },
    ])
  })

  it('name no one: neither people nor clients nor resources', async () => {
    const recordings = await during(async () => {
      for (const prepare of Object.values(exchanges)) await (await prepare())()
      await revokeWhere(deployment, { userId: 'alice' })
    })
    const text = JSON.stringify(recordings)
    expect(recordings.length).to.be.greaterThan(20)
    for (const name of ['alice', 'bob', 'spa', 'backend', 'example.com', BILLING])
      expect(text).not.to.include(name)
  })
})
