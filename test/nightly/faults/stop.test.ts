/**
 * The kill switch by actor, and replays, with several processes of one provider and several APIs (protocol.md §4.1). Real
 * time: no one clock reaches all of them. `npm run race -- stop` stops two thirds of 9,999 tokens at 8 processes;
 * `npm run faults` of 42 at 3.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { withActor } from '../../../fixtures/actor-tokens.ts'
import { now } from '../../../fixtures/clock.ts'
import { type Cluster, ISSUER, startCluster } from '../../../fixtures/cluster.ts'
import { DATABASES, type Database, type DatabaseKind, openDatabase } from '../../../fixtures/databases.ts'
import { type Addresses, API } from '../../../fixtures/deployment.ts'
import { signJwt } from '../../../fixtures/jwts.ts'
import { revokeWhere } from '../../../fixtures/management.ts'
import { beforeOn } from '../../../fixtures/on-database.ts'
import { exchange, issue } from '../../../fixtures/requests.ts'
import { createVerifier, type Verifier } from '../../../packages/resource-server/src/index.ts'
import { withBearer } from '../../../packages/resource-server/test/issuer.ts'
import { LONG } from '../race/race.ts'

const [PROCESSES, VERIFIERS, TOKENS] = LONG ? [8, 4, 9999] : [3, 2, 42]
const KINDS: readonly DatabaseKind[] = LONG ? DATABASES : ['postgres']
const TTL = 5

for (const kind of KINDS) {
  describe(`a stop at many processes on ${kind}`, function () {
    this.timeout(LONG ? 600_000 : 60_000)
    let database: Database
    let cluster: Cluster
    let verifiers: readonly Verifier[]
    beforeOn(kind, async () => {
      database = await openDatabase(kind)
      const urls = Array.from({ length: PROCESSES }, () => database.url)
      cluster = await startCluster(urls, { statusList: { ttl: TTL } })
      verifiers = Array.from({ length: VERIFIERS }, () =>
        createVerifier({ issuer: ISSUER, audience: API, requireStatus: true, fetch: toAny(cluster) }),
      )
    })
    after(async () => {
      await cluster?.close()
      await database?.close()
    })

    const seen = (token: string, place: number) =>
      (verifiers[place % VERIFIERS] as Verifier)(withBearer(token)).then(
        () => 'accepted',
        ({ name, reason }) => (name === 'Unauthorized' ? reason : name),
      )
    const count = async (tokens: readonly Impersonated[]) => {
      const counts: Record<string, number> = {}
      for (const [place, { accessToken }] of tokens.entries()) {
        const verdict = await seen(accessToken, place)
        counts[verdict] = (counts[verdict] ?? 0) + 1
      }
      return counts
    }

    it('reaches every token of the actor within ttl + 2 s, and those that were replayed, and no other, though a process dies', async () => {
      const share = TOKENS / 3
      const killed = await impersonations(cluster, 'bob', share)
      const replayed = await impersonations(cluster, 'dave', share)
      const spared = await impersonations(cluster, 'carol', share)
      for (const tokens of [killed, replayed, spared])
        expect(await count(tokens)).to.deep.equal({ accepted: share })

      expect((await revokeWhere(serviceOf(cluster, 0), { actorId: 'bob' })).body).to.deep.equal({
        revoked: share,
      })
      await replay(cluster, replayed)
      await cluster.kill()
      // As APIs in use do, each sees a token now and then.
      const until = Date.now() + (TTL + 2) * 1000
      while (Date.now() < until) {
        for (let place = 0; place < VERIFIERS; place += 1) await seen(spared[0]?.accessToken ?? '', place)
        await sleep(200)
      }
      expect(await count(killed)).to.deep.equal({ stopped: share })
      expect(await count(replayed)).to.deep.equal({ stopped: share })
      expect(await count(spared)).to.deep.equal({ accepted: share })
    })
  })
}

/** Whatever of the issuer is fetched comes from any of its processes, as behind a load balancer. */
function toAny(cluster: Cluster): typeof fetch {
  return (input, init) => {
    const { baseUrl } = serviceOf(cluster, Math.floor(Math.random() * PROCESSES))
    return fetch(baseUrl + new URL(String(input)).pathname, init)
  }
}

/** Any of its processes, by its place among those that are left. */
function serviceOf(cluster: Cluster, place: number): Addresses {
  const services = cluster.services()
  return services[place % services.length] ?? expect.fail('no process is left')
}

interface Impersonated {
  readonly subjectToken: string
  readonly accessToken: string
}

/** Uses each subject token once more, at all processes. */
async function replay(cluster: Cluster, tokens: readonly Impersonated[]): Promise<void> {
  await inLanes(tokens.length, async (index) => {
    const request = { subject_token: tokens[index]?.subjectToken }
    expect((await exchange(serviceOf(cluster, index), request)).status).to.equal(400)
  })
}

async function inLanes(amount: number, work: (index: number) => Promise<void>): Promise<void> {
  let started = 0
  const lane = async () => {
    while (started < amount) {
      started += 1
      await work(started - 1)
    }
  }
  await Promise.all(Array.from({ length: 16 }, lane))
}

/** JWTs of alice in which this actor acts, issued by all processes. */
async function impersonations(cluster: Cluster, sub: string, amount: number): Promise<Impersonated[]> {
  const claims = {
    iss: ISSUER,
    aud: API,
    sub,
    client_id: 'spa',
    scope: 'openid',
    iat: now(),
    exp: now() + 600,
  }
  const actor = withActor(await signJwt(claims, { key: cluster.key }))
  const tokens: Impersonated[] = []
  await inLanes(amount, async (index) => {
    const service = serviceOf(cluster, index)
    const { subjectToken } = await issue(service)
    const { body, status } = await exchange(service, { subject_token: subjectToken, ...actor })
    expect(status).to.equal(200)
    tokens.push({ subjectToken, accessToken: body.access_token })
  })
  return tokens
}
