/** What a status list says (protocol.md §4.1; draft-ietf-oauth-status-list §4, §5.1, §6.2). */
import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import { inflateSync } from 'node:zlib'
import { getListFromStatusListJWT } from '@sd-jwt/jwt-status-list'
import { expect } from 'chai'
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { ExternalSigningKey, type JWK } from 'oidc-provider'
import { now, stopClock } from '../../fixtures/clock.ts'
import { type Deployment, OPAQUE_API, startDeployment, withDeployment } from '../../fixtures/deployment.ts'
import { SIGNING_KEY, signingKey } from '../../fixtures/keys.ts'
import { list, revoke, revokeWhere } from '../../fixtures/management.ts'
import { exchange, introspect, issue } from '../../fixtures/requests.ts'
import {
  fetchList,
  iatOf,
  impersonate,
  type Status,
  statusOf,
  stoppedIndexes,
} from '../../fixtures/status-lists.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

describe('status list', () => {
  let deployment: Deployment
  let clock: ReturnType<typeof stopClock>
  beforeEach(async () => {
    clock = stopClock()
    deployment = await startDeployment()
  })
  afterEach(async () => {
    await deployment.close()
    clock.restore()
  })

  const stopped = () => stoppedIndexes(deployment)

  it('is a JWT of the provider, of type statuslist+jwt, for exactly its issuer and address (draft §5.1)', async () => {
    const { accessToken } = await impersonate(deployment)
    const { uri } = statusOf(accessToken)
    expect(uri).to.equal(`${deployment.baseUrl}/api/status-lists/0`)
    const keys = createRemoteJWKSet(new URL(`${deployment.issuer}/jwks`))
    const { payload, protectedHeader } = await jwtVerify(await fetchList(deployment), keys)
    expect(protectedHeader).to.deep.equal({ alg: 'ES256', kid: SIGNING_KEY.kid, typ: 'statuslist+jwt' })
    const { status_list, ...claims } = payload
    expect(claims).to.deep.equal({ iss: deployment.issuer, sub: uri, iat: now(), exp: now() + 300, ttl: 30 })
    expect(status_list).to.have.all.keys('bits', 'lst').and.include({ bits: 1 })
  })

  it('is a ZLIB-compressed array of 131,072 bits, the least significant first (draft §4.1)', async () => {
    const first = statusOf((await impersonate(deployment)).accessToken)
    const { id, accessToken } = await impersonate(deployment)
    const { idx } = statusOf(accessToken)
    await revoke(deployment, id)
    const { lst } = Object(decodeJwt(await fetchList(deployment)).status_list)
    const bytes = inflateSync(Buffer.from(lst, 'base64url'))
    expect(bytes).to.have.length(131_072 / 8)
    expect(bytes.at(idx >> 3)).to.equal(1 << (idx & 7))
    expect(idx).to.equal(first.idx + 1)
  })

  it('is small while few are stopped', async () => {
    expect((await fetchList(deployment)).length).to.be.lessThan(500)
  })

  it('tells the stopped tokens from the others, to a reader that is not ours', async () => {
    const tokens = []
    for (let count = 0; count < 20; count += 1) tokens.push(await impersonate(deployment))
    for (const [place, { id }] of tokens.entries()) if (place % 3 === 0) await revoke(deployment, id)
    const list = getListFromStatusListJWT(await fetchList(deployment))
    for (const [place, { accessToken }] of tokens.entries())
      expect(list.getStatus(statusOf(accessToken).idx), String(place)).to.equal(place % 3 === 0 ? 1 : 0)
  })

  it('shows what one revocation, the kill switch and a replay stop, whatever the format of the token', async () => {
    const revoked = await impersonate(deployment)
    const killed = await impersonate(deployment, {}, { userId: 'bob' })
    const replayed = await impersonate(deployment)
    const opaque = await impersonate(deployment, { resource: OPAQUE_API })
    await impersonate(deployment)
    const { status } = await introspect(deployment, opaque.accessToken)
    await revoke(deployment, revoked.id)
    await revokeWhere(deployment, { userId: 'bob' })
    await revoke(deployment, opaque.id)
    expect((await exchange(deployment, { subject_token: replayed.subjectToken })).status).to.equal(400)
    const indexes = [revoked, killed, replayed].map(({ accessToken }) => statusOf(accessToken).idx)
    expect(await stopped()).to.have.members([...indexes, status.status_list.idx])
  })

  it('never shows a subject token that was not spent', async () => {
    const { id } = await issue(deployment)
    await revoke(deployment, id)
    expect(await stopped()).to.deep.equal([])
  })

  it('never shows what another issuer on the same database stopped', async () => {
    const other = await startDeployment({ database: deployment.database })
    const { id, accessToken } = await impersonate(other)
    await revoke(other, id)
    expect(await stopped()).to.deep.equal([])
    expect(await stoppedIndexes(other)).to.deep.equal([statusOf(accessToken).idx])
    await other.close()
  })

  describe('over time', () => {
    it('shows a stop within a second', async () => {
      const { id, accessToken } = await impersonate(deployment)
      expect(await stopped()).to.deep.equal([])
      await revoke(deployment, id)
      clock.tick(1)
      expect(await stopped()).to.deep.equal([statusOf(accessToken).idx])
    })

    it('shows it until 300 seconds after the access token expired, and not longer', async () => {
      const { id, accessToken } = await impersonate(deployment)
      await revoke(deployment, id)
      for (let passed = 0; passed < 600 + 299; passed += 31) {
        expect(await stopped(), String(passed)).to.deep.equal([statusOf(accessToken).idx])
        clock.tick(Math.min(31, 600 + 299 - passed))
      }
      expect(await stopped()).to.deep.equal([statusOf(accessToken).idx])
      clock.tick(1)
      expect(await stopped()).to.deep.equal([])
    })

    it('is the same for half of its ttl, and signed anew after that', async () => {
      const { id } = await impersonate(deployment)
      await revoke(deployment, id)
      const first = await fetchList(deployment)
      clock.tick(14)
      expect(await fetchList(deployment)).to.equal(first)
      clock.tick(1)
      const next = await fetchList(deployment)
      expect(iatOf(next)).to.equal(iatOf(first) + 15)
    })

    it('is signed anew at once when a bit has changed', async () => {
      const first = await fetchList(deployment)
      const { id } = await impersonate(deployment)
      await revoke(deployment, id)
      clock.tick(1)
      expect(iatOf(await fetchList(deployment))).to.equal(iatOf(first) + 1)
    })

    it('is never older than what it says: its iat is when the database was asked', async () => {
      const real = createSubjectTokenStore(deployment.database.sequelize)
      const findStopped: typeof real.findStopped = async (...call) => {
        const found = await real.findStopped(...call)
        clock.tick(7)
        return found
      }
      const { database } = deployment
      await withDeployment({ database, options: { store: { ...real, findStopped } } }, async (slow) => {
        const asked = now()
        expect(iatOf(await fetchList(slow))).to.equal(asked)
      })
    })

    it('follows a clock that was set back', async () => {
      await fetchList(deployment)
      clock.setBack(3600)
      expect(iatOf(await fetchList(deployment))).to.equal(now())
      const { id, accessToken } = await impersonate(deployment)
      await revoke(deployment, id)
      clock.tick(1)
      expect(await stopped()).to.deep.equal([statusOf(accessToken).idx])
    })

    it('shows a stop that another process recorded up to two minutes late, and any within five minutes', async () => {
      const { id, accessToken } = await impersonate(deployment)
      const { idx } = statusOf(accessToken)
      const store = createSubjectTokenStore(deployment.database.sequelize)
      await fetchList(deployment)
      const stop = (late: number, what: string) =>
        store.revoke(deployment.issuer, what, now() - late, { cause: 'api' })
      clock.tick(30)
      await fetchList(deployment)
      await stop(119, id)
      clock.tick(1)
      expect(await stopped()).to.deep.equal([idx])

      const later = await impersonate(deployment)
      clock.tick(240)
      await stop(200, later.id)
      await fetchList(deployment)
      clock.tick(60)
      expect(await stopped()).to.include(statusOf(later.accessToken).idx)
    })
  })

  describe('costs the database', () => {
    const during = async (work: () => Promise<unknown>): Promise<string[]> => {
      const { statements } = deployment.database
      const before = statements.length
      await work()
      return statements.slice(before).filter((statement) => statement.includes('subject_token'))
    }
    const many = (path?: string) => Promise.all(Array.from({ length: 30 }, () => fetchList(deployment, path)))

    it('two reads a second, however many ask: which lists there are, and what was stopped', async () => {
      expect(await during(() => many())).to.have.length(2)
      expect(await during(() => many('/1'))).to.have.length(0)
      clock.tick(1)
      expect(await during(() => many())).to.have.length(2)
    })

    it('after the first time only what is new', async () => {
      const since: number[] = []
      const real = createSubjectTokenStore(deployment.database.sequelize)
      const findStopped: typeof real.findStopped = (issuer, from) => {
        since.push(now() - from)
        return real.findStopped(issuer, from)
      }
      const { database } = deployment
      await withDeployment({ database, options: { store: { ...real, findStopped } } }, async (own) => {
        for (let second = 0; second <= 301; second += 7) {
          await fetchList(own)
          clock.tick(7)
        }
      })
      const everything = since.filter((span) => span > 86_400 + 300)
      expect(everything).to.have.length(2)
      expect(since.filter((span) => span === 127)).to.have.length(since.length - 2)
    })

    it('nothing at issuance and exchange', async () => {
      const statements = await during(() => impersonate(deployment))
      expect(statements).to.have.length(3)
    })
  })

  it('has a place for every subject token, and for two none of it', async () => {
    const others = await startDeployment({ database: deployment.database })
    const tokens = await Promise.all(
      Array.from({ length: 60 }, (_, place) => impersonate(place % 2 === 0 ? deployment : others)),
    )
    const places = tokens.map(({ accessToken }) => statusOf(accessToken).idx)
    expect(new Set(places).size).to.equal(60)
    await others.close()
  })

  it('is the next one once all places are taken', async () => {
    const statuses: Status[] = []
    await move(deployment, 131_071)
    for (let count = 0; count < 3; count += 1)
      statuses.push(statusOf((await impersonate(deployment)).accessToken))
    const base = `${deployment.baseUrl}/api/status-lists`
    expect(statuses).to.deep.equal([
      { idx: 131_071, uri: `${base}/0` },
      { idx: 0, uri: `${base}/1` },
      { idx: 1, uri: `${base}/1` },
    ])
    expect(decodeJwt(await fetchList(deployment, '/1')).sub).to.equal(`${base}/1`)
    const [last] = (await list(deployment)).body.items
    await revoke(deployment, last.id)
    clock.tick(1)
    expect(await stopped()).to.deep.equal([])
    expect(getListFromStatusListJWT(await fetchList(deployment, '/1')).getStatus(1)).to.equal(1)
  })
})

/** The next status index. */
async function move({ database }: Deployment, next: number): Promise<void> {
  const { sequelize } = database
  await sequelize.query(`INSERT INTO subject_tokens (id, secret_hash, issuer, open, purpose, user_id, context, created_by,
    created_at, expires_at, number) VALUES (X'00', X'00', 0, 0, 0, 'x', '{}', 'x', 0, 0, ${next - 1})`)
}

describe('status list: the keys', () => {
  const verified = async (deployment: Deployment) => {
    const keys = createRemoteJWKSet(new URL(`${deployment.issuer}/jwks`))
    const { protectedHeader } = await jwtVerify(await fetchList(deployment), keys)
    return protectedHeader
  }
  const withKeys = (
    keys: readonly (JWK | ExternalSigningKey)[],
    use: (deployment: Deployment) => Promise<void>,
  ) =>
    withDeployment(
      {
        configuration: {
          jwks: { keys: [...keys] } as never,
          features: {
            encryption: { enabled: true },
            externalSigningSupport: { enabled: true, ack: 'experimental-01' },
          } as never,
        },
      },
      use,
    )

  for (const alg of ['ES256', 'ES384', 'RS256', 'EdDSA'] as const) {
    it(`sign with ${alg}, the first of them that signs`, () => {
      const encryption = { ...signingKey('ES256', 'for-encryption'), use: 'enc', alg: 'ECDH-ES' }
      const keys = [encryption, signingKey(alg, 'first'), signingKey('ES256', 'second')]
      return withKeys(keys, async (deployment) => {
        expect(await verified(deployment)).to.deep.equal({ alg, kid: 'first', typ: 'statuslist+jwt' })
      })
    })
  }

  it('are named as the provider names them when they have no name', () => {
    const { kid: _, alg: __, ...unnamed } = signingKey()
    return withKeys([unnamed as JWK], async (deployment) => {
      const { keys } = Object(await (await fetch(`${deployment.issuer}/jwks`)).json())
      expect(await verified(deployment)).to.include({ kid: keys[0].kid, alg: 'ES256' })
    })
  })

  it('may be kept elsewhere (ExternalSigningKey), and then sign lists too', () => {
    class Remote extends ExternalSigningKey {
      readonly key: KeyObject = createPrivateKey({ key: { ...SIGNING_KEY } as never, format: 'jwk' })
      asked = 0
      override keyObject = () => createPublicKey(this.key)
      override async sign(data: Uint8Array) {
        this.asked += 1
        return sign('sha256', data, { key: this.key, dsaEncoding: 'ieee-p1363' })
      }
    }
    const remote = new Remote()
    return withKeys([remote], async (deployment) => {
      await Promise.all(Array.from({ length: 20 }, () => fetchList(deployment)))
      expect(await verified(deployment)).to.include({ alg: 'ES256', typ: 'statuslist+jwt' })
      expect(remote.asked).to.equal(1)
    })
  })

  it('are not changed by it', () => {
    const key = signingKey()
    return withKeys([key], async (deployment) => {
      await fetchList(deployment)
      expect(key).not.to.be.frozen
    })
  })
})
