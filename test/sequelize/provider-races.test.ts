/** Codes and tokens of the provider itself, used many times at once: one use wins, and the grant ends. */
import { expect } from 'chai'
import type { AdapterFactory } from 'oidc-provider'
import { CALLBACK, publicClient } from '../../fixtures/clients.ts'
import { DATABASES, type Database, openDatabase } from '../../fixtures/databases.ts'
import { type Deployment, startDeployment } from '../../fixtures/deployment.ts'
import type { Parameters } from '../../fixtures/http.ts'
import { beforeOn } from '../../fixtures/on-database.ts'
import { postToken } from '../../fixtures/requests.ts'
import { createAdapter } from '../../src/sequelize/index.ts'

const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code'
const client = publicClient({
  client_id: 'native',
  grant_types: ['authorization_code', 'refresh_token', DEVICE_CODE],
})

const RACERS = 8
const RACED = ['AuthorizationCode', 'RefreshToken', 'DeviceCode']

/** An adapter with which everyone has read what is raced for before anyone writes. */
function gathering(adapter: AdapterFactory): AdapterFactory {
  const waiting: (() => void)[] = []
  return (model) => {
    const target = adapter(model)
    if (!RACED.includes(model)) return target
    const find: typeof target.find = async (id) => {
      const found = await target.find(id)
      await new Promise<void>((resolve) => {
        if (waiting.push(resolve) === RACERS) for (const go of waiting.splice(0)) go()
      })
      return found
    }
    return new Proxy(target, {
      get: (_, name) => {
        if (name === 'find') return find
        const member: unknown = Reflect.get(target, name)
        return typeof member === 'function' ? member.bind(target) : member
      },
    })
  }
}

for (const kind of DATABASES) {
  describe(`raced on ${kind}`, () => {
    let database: Database
    let deployment: Deployment
    beforeOn(kind, async () => {
      database = await openDatabase(kind)
      deployment = await startDeployment({
        database,
        clients: [client],
        configuration: {
          adapter: gathering(createAdapter(database.sequelize)),
          rotateRefreshToken: true,
          pkce: { required: () => false },
          features: { deviceFlow: { enabled: true } },
        },
      })
    })
    after(async () => {
      await deployment?.close()
      await database?.close()
    })

    const grantFor = async () => {
      const { provider } = deployment
      const grant = new provider.Grant({ clientId: 'native', accountId: 'alice' })
      grant.addOIDCScope('openid offline_access')
      return { provider, grantId: await grant.save(), registered: await provider.Client.find('native') }
    }
    const raced = async (grantId: string, parameters: Parameters): Promise<number> => {
      const responses = await Promise.all(
        Array.from({ length: RACERS }, () => postToken(deployment, parameters, { client })),
      )
      const losers = responses.filter(({ status }) => status !== 200)
      for (const { status, body } of losers) {
        expect([status, body.error]).to.deep.equal([400, 'invalid_grant'])
      }
      expect(await deployment.provider.Grant.find(grantId)).to.equal(undefined)
      return responses.length - losers.length
    }

    it('an authorization code wins once', async () => {
      const { provider, grantId, registered } = await grantFor()
      if (!registered) throw new Error('no client')
      const code = await new provider.AuthorizationCode({
        client: registered,
        accountId: 'alice',
        grantId,
        gty: 'authorization_code',
        redirectUri: CALLBACK,
        scope: 'openid',
      }).save()
      const parameters = { grant_type: 'authorization_code', code, redirect_uri: CALLBACK }
      expect(await raced(grantId, parameters)).to.equal(1)
    })

    it('a refresh token wins once', async () => {
      const { provider, grantId, registered } = await grantFor()
      if (!registered) throw new Error('no client')
      const token = await new provider.RefreshToken({
        client: registered,
        accountId: 'alice',
        grantId,
        gty: 'authorization_code',
        scope: 'openid offline_access',
      }).save()
      expect(await raced(grantId, { grant_type: 'refresh_token', refresh_token: token })).to.equal(1)
    })

    // The provider checks the grant only after it has consumed a device code: a loser may end it before that.
    it('a device code wins once, or not at all', async () => {
      const { provider, grantId, registered } = await grantFor()
      if (!registered) throw new Error('no client')
      const code = await new provider.DeviceCode({
        client: registered,
        accountId: 'alice',
        grantId,
        gty: DEVICE_CODE,
        scope: 'openid',
        params: { client_id: 'native', scope: 'openid' },
        userCode: 'ABCD',
        deviceInfo: {},
      }).save()
      expect(await raced(grantId, { grant_type: DEVICE_CODE, device_code: code })).to.be.at.most(1)
    })
  })
}
