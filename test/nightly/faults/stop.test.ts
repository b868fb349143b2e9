/**
 * The kill switch by actor, and replays, with several processes of one provider and several APIs (protocol.md §4.1). Real
 * time: no one clock reaches all of them. `npm run race -- stop` stops two thirds of 9,999 tokens at 8 processes;
 * `npm run faults` of 42 at 3.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { machineClient, publicClient } from '../../../fixtures/clients.ts'
import { now } from '../../../fixtures/clock.ts'
import { type Cluster, ISSUER, startCluster } from '../../../fixtures/cluster.ts'
import { DATABASES, type Database, type DatabaseKind, openDatabase } from '../../../fixtures/databases.ts'
import { API } from '../../../fixtures/deployment.ts'
import { credentials, form, type HttpResponse, type Parameters, send } from '../../../fixtures/http.ts'
import { signJwt } from '../../../fixtures/jwts.ts'
import { beforeOn } from '../../../fixtures/on-database.ts'
import { createVerifier, type Verifier } from '../../../packages/resource-server/src/index.ts'
import { withBearer } from '../../../packages/resource-server/test/issuer.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../../src/base/constants.ts'
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

      const [address = ''] = cluster.addresses()
      const management = await managementToken(address)
      const stopped = await send(`${address}/api/subject-tokens?actorId=bob`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${management}` },
      })
      expect(stopped.body).to.deep.equal({ revoked: share })
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
    const addresses = cluster.addresses()
    const address = addresses[Math.floor(Math.random() * addresses.length)] ?? ''
    const { pathname } = new URL(String(input))
    return fetch(address + pathname, init)
  }
}

function postToken(address: string, parameters: Parameters, client = publicClient()): Promise<HttpResponse> {
  const { headers, body } = credentials(client)
  return send(`${address}/oidc/token`, { method: 'POST', headers, body: form({ ...body, ...parameters }) })
}

async function managementToken(address: string): Promise<string> {
  const scope = 'subject-tokens:create subject-tokens:revoke'
  const resource = ISSUER.replace(/oidc$/, 'api')
  const parameters = { grant_type: 'client_credentials', scope, resource }
  return (await postToken(address, parameters, machineClient())).body.access_token
}

interface Impersonated {
  readonly subjectToken: string
  readonly accessToken: string
}

const exchangeOf = (subjectToken: string): Parameters => ({
  grant_type: TOKEN_EXCHANGE,
  subject_token: subjectToken,
  subject_token_type: ACCESS_TOKEN_TYPE,
  resource: API,
})

/** Uses each subject token once more, at all processes. */
async function replay(cluster: Cluster, tokens: readonly Impersonated[]): Promise<void> {
  const addresses = cluster.addresses()
  await inLanes(tokens.length, async (index) => {
    const { subjectToken = '' } = tokens[index] ?? {}
    const { status } = await postToken(addresses[index % addresses.length] ?? '', exchangeOf(subjectToken))
    expect(status).to.equal(400)
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
  const actor = await signJwt(claims, { key: cluster.key })
  const addresses = cluster.addresses()
  const management = await managementToken(addresses[0] ?? '')
  const tokens: Impersonated[] = []
  await inLanes(amount, async (index) => {
    const address = addresses[index % addresses.length] ?? ''
    const issued = await send(`${address}/api/subject-tokens`, {
      method: 'POST',
      headers: { authorization: `Bearer ${management}`, 'content-type': 'application/json' },
      body: JSON.stringify({ userId: 'alice' }),
    })
    const { subjectToken } = issued.body
    const acting = { actor_token: actor, actor_token_type: ACCESS_TOKEN_TYPE }
    const { body, status } = await postToken(address, { ...exchangeOf(subjectToken), ...acting })
    expect(status).to.equal(200)
    tokens.push({ subjectToken, accessToken: body.access_token })
  })
  return tokens
}
