/** Cases that only one line of the source prevents. */
import { X509Certificate } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { Configuration } from 'oidc-provider'
import { CERTIFICATE, machineClient, OTHER_CERTIFICATE, publicClient } from '../../fixtures/clients.ts'
import { stopClock } from '../../fixtures/clock.ts'
import { API, type Deployment, RESOURCES, startDeployment } from '../../fixtures/deployment.ts'
import { actorToken, exchange, issue, postToken, withActor } from '../../fixtures/requests.ts'
import { certificateThumbprint } from '../../src/provider/certificate.ts'
import { registeredResources } from '../../src/provider/client-metadata.ts'

async function during(
  deployment: Promise<Deployment>,
  work: (deployment: Deployment) => Promise<void>,
): Promise<void> {
  const started = await deployment
  try {
    await work(started)
  } finally {
    await started.close()
  }
}

describe('an actor token', () => {
  for (const format of ['opaque', 'jwt'] as const) {
    it(`that is ${format} acts until the second before it expires, despite the provider's clock tolerance`, async () => {
      // A grant that outlives the token, so that only the token's own expiry matters.
      const configuration: Configuration = {
        clockTolerance: 30,
        ttl: { AccessToken: 3600, ClientCredentials: 7200, Grant: 7200 },
      }
      const clock = stopClock()
      try {
        await during(startDeployment({ configuration }), async (deployment) => {
          const actor = await actorToken(deployment, { format })
          clock.tick(3599)
          const first = await issue(deployment, { userId: 'alice' })
          const inTime = await exchange(deployment, {
            subject_token: first.subjectToken,
            ...withActor(actor),
          })
          expect(inTime.status, inTime.text).to.equal(200)
          const second = await issue(deployment, { userId: 'alice' })
          clock.tick(1)
          const late = await exchange(deployment, { subject_token: second.subjectToken, ...withActor(actor) })
          expect(late.body).to.deep.equal({
            error: 'invalid_request',
            error_description: 'actor_token is invalid',
          })
        })
      } finally {
        clock.restore()
      }
    })
  }

  it('of a client named like an account is not a token of that account', async () => {
    const client = machineClient({ client_id: 'bob', scope: 'openid' })
    await during(startDeployment({ clients: [client] }), async (deployment) => {
      const own = await postToken(
        deployment,
        { grant_type: 'client_credentials', resource: API, scope: 'openid' },
        { client },
      )
      expect(own.body.scope).to.equal('openid')
      const { subjectToken } = await issue(deployment, { userId: 'alice' })
      const answer = await exchange(deployment, {
        subject_token: subjectToken,
        ...withActor(own.body.access_token),
      })
      expect(answer.status).to.equal(400)
      expect(answer.body.error_description).to.equal('actor_token is invalid')
      expect(deployment.events.at(-1)?.payload).to.include({ reason: 'a token of the client itself' })
    })
  })
})

describe('authorization_details', () => {
  it('is refused even where the provider would drop an empty list', async () => {
    const features: Configuration['features'] = {
      richAuthorizationRequests: { enabled: true, types: { payment: { validate() {} } } } as never,
    }
    await during(startDeployment({ configuration: { features } }), async (deployment) => {
      const { subjectToken } = await issue(deployment)
      const answer = await exchange(deployment, { subject_token: subjectToken, authorization_details: '[]' })
      expect(answer.status).to.equal(400)
      expect(answer.body).to.deep.equal({
        error: 'invalid_request',
        error_description: 'authorization_details is not supported',
      })
      expect((await exchange(deployment, { subject_token: subjectToken })).status).to.equal(200)
    })
  })
})

describe('a provider whose resources bypass configure', () => {
  it('gets no token, and spends none', async () => {
    const tampered = startDeployment({
      tamper: (configuration) => ({
        ...configuration,
        features: {
          ...configuration.features,
          resourceIndicators: {
            ...configuration.features?.resourceIndicators,
            enabled: true,
            getResourceServerInfo: (ctx, resource, client) => {
              const info = RESOURCES[resource]
              if (info) return info
              const ours = configuration.features?.resourceIndicators?.getResourceServerInfo
              if (!ours) throw new Error('configure gives one')
              return ours(ctx, resource, client)
            },
          },
        } as typeof configuration.features,
      }),
    })
    await during(tampered, async (deployment) => {
      const { subjectToken } = await issue(deployment)
      const answer = await exchange(deployment, { subject_token: subjectToken })
      expect(answer.status).to.equal(500)
      expect(answer.body.error).to.equal('server_error')
      expect(deployment.database.statements.filter((sql) => sql.includes('UPDATE'))).to.deep.equal([])
    })
  })
})

describe('an access token that ends before it is issued', () => {
  it('is not issued, and its subject token is not spent', async () => {
    let slow = true
    const options = {
      maxAccessTokenTTL: 1,
      getCustomJwtClaims: async () => {
        if (slow) await sleep(1100)
        return {}
      },
    }
    await during(startDeployment({ options }), async (deployment) => {
      const { subjectToken } = await issue(deployment)
      const late = await exchange(deployment, { subject_token: subjectToken })
      expect(late.status).to.equal(500)
      slow = false
      const inTime = await exchange(deployment, { subject_token: subjectToken })
      expect(inTime.status, inTime.text).to.equal(200)
    })
  })
})

describe('a pairwise identifier that is malformed', () => {
  it('fails the exchange before the spend: `act` must name someone', async () => {
    const client = publicClient({ client_id: 'pairwise', subject_type: 'pairwise' })
    let broken = true
    const configuration: Configuration = {
      subjectTypes: ['public', 'pairwise'],
      pairwiseIdentifier: async (_ctx, accountId) =>
        broken && accountId === 'bob' ? '' : `${accountId}@pairwise`,
    }
    await during(startDeployment({ clients: [client], configuration }), async (deployment) => {
      const { subjectToken } = await issue(deployment)
      const request = { subject_token: subjectToken, ...withActor(await actorToken(deployment)) }
      const unnamed = await exchange(deployment, request, { client })
      expect(unnamed.status).to.equal(500)
      broken = false
      const named = await exchange(deployment, request, { client })
      expect(named.status, named.text).to.equal(200)
    })
  })
})

describe('the thumbprint of a client certificate', () => {
  it('is the same for PEM, bare base64 and a parsed certificate', () => {
    const thumbprint = certificateThumbprint(CERTIFICATE)
    const bare = CERTIFICATE.replace(/-----[A-Z ]+-----|\n/g, '')
    expect(certificateThumbprint(bare)).to.equal(thumbprint)
    expect(certificateThumbprint(new X509Certificate(CERTIFICATE))).to.equal(thumbprint)
    expect(certificateThumbprint(OTHER_CERTIFICATE)).not.to.equal(thumbprint)
    expect(certificateThumbprint(undefined)).to.equal(undefined)
  })
})

describe('token_exchange_resources', () => {
  it('that are malformed allow nothing', () => {
    expect(registeredResources({})).to.equal(undefined)
    expect(registeredResources({ token_exchange_resources: [API] })).to.deep.equal([API])
    for (const unreadable of [API, null, [1], ['/relative'], {}]) {
      expect(registeredResources({ token_exchange_resources: unreadable })).to.deep.equal([])
    }
  })
})
