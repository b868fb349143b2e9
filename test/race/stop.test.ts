/**
 * The kill switch by actor, with several processes of one provider and several APIs (protocol.md §4.1). Real time: no one
 * clock reaches all of them. `npm run test:race` stops half of 10,000 tokens at 8 processes; `npm test` half of 40 at 3.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { machineClient, publicClient } from '../../fixtures/clients.ts'
import { now } from '../../fixtures/clock.ts'
import { type Cluster, ISSUER, startCluster } from '../../fixtures/cluster.ts'
import { DATABASES, type Database, type DatabaseKind, openDatabase } from '../../fixtures/databases.ts'
import { API } from '../../fixtures/deployment.ts'
import { type Answer, credentials, form, type Parameters, send } from '../../fixtures/http.ts'
import { signJwt } from '../../fixtures/jwts.ts'
import { beforeOn } from '../../fixtures/on-database.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../src/constants.ts'
import { createVerifier, type Verifier } from '../../src/resource-server/index.ts'
import { withBearer } from '../resource-server/issuer.ts'

const LONG = process.env.RACE === 'long'
const [PROCESSES, VERIFIERS, TOKENS] = LONG ? [8, 4, 10_000] : [3, 2, 40]
const KINDS: readonly DatabaseKind[] = LONG ? DATABASES : ['postgres']
const TTL = 5
const ACTORS = ['bob', 'carol'] as const

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
    const count = async (tokens: readonly string[]) => {
      const counts: Record<string, number> = {}
      for (const [place, token] of tokens.entries()) {
        const verdict = await seen(token, place)
        counts[verdict] = (counts[verdict] ?? 0) + 1
      }
      return counts
    }

    it(`reaches every token of the actor within ttl + 2 s, and none of another, though a process dies`, async () => {
      const half = TOKENS / 2
      const tokens = {
        bob: await impersonations(cluster, 'bob', half),
        carol: await impersonations(cluster, 'carol', half),
      }
      for (const actor of ACTORS) expect(await count(tokens[actor])).to.deep.equal({ accepted: half })

      const [address = ''] = cluster.addresses()
      const management = await managementToken(address)
      const stopped = await send(`${address}/api/subject-tokens?actorId=bob`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${management}` },
      })
      expect(stopped.body).to.deep.equal({ revoked: half })
      await cluster.kill()
      // As APIs in use do, each sees a token now and then.
      const until = Date.now() + (TTL + 2) * 1000
      while (Date.now() < until) {
        for (let place = 0; place < VERIFIERS; place += 1) await seen(tokens.carol[0] ?? '', place)
        await sleep(200)
      }
      expect(await count(tokens.bob)).to.deep.equal({ stopped: half })
      expect(await count(tokens.carol)).to.deep.equal({ accepted: half })
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

async function postToken(address: string, parameters: Parameters, client = publicClient()): Promise<Answer> {
  const { headers, body } = credentials(client)
  const answer = await send(`${address}/oidc/token`, {
    method: 'POST',
    headers,
    body: form({ ...body, ...parameters }),
  })
  expect(answer.status, answer.text).to.equal(200)
  return answer
}

async function managementToken(address: string): Promise<string> {
  const scope = 'subject-tokens:create subject-tokens:revoke'
  const resource = ISSUER.replace(/oidc$/, 'api')
  const parameters = { grant_type: 'client_credentials', scope, resource }
  return (await postToken(address, parameters, machineClient())).body.access_token
}

/** JWTs of alice in which this actor acts, issued by all processes. */
async function impersonations(cluster: Cluster, sub: string, amount: number): Promise<string[]> {
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
  const tokens: string[] = []
  let started = 0
  const lane = async () => {
    while (started < amount) {
      const address = addresses[started % addresses.length] ?? ''
      started += 1
      const issued = await send(`${address}/api/subject-tokens`, {
        method: 'POST',
        headers: { authorization: `Bearer ${management}`, 'content-type': 'application/json' },
        body: JSON.stringify({ userId: 'alice' }),
      })
      const { body } = await postToken(address, {
        grant_type: TOKEN_EXCHANGE,
        subject_token: issued.body.subjectToken,
        subject_token_type: ACCESS_TOKEN_TYPE,
        actor_token: actor,
        actor_token_type: ACCESS_TOKEN_TYPE,
        resource: API,
      })
      tokens.push(body.access_token)
    }
  }
  await Promise.all(Array.from({ length: 16 }, lane))
  return tokens
}
