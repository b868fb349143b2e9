/** How the provider understands what the adapter reports about the record of a client assertion or a DPoP proof. */
import { expect } from 'chai'
import { type AdapterFactory, errors } from 'oidc-provider'
import { storedModels } from '../../../fixtures/clients.ts'
import { useDeployment } from '../../../fixtures/deployment.ts'

describe('replay detection', () => {
  let upsert: () => Promise<void>
  const { adapter } = storedModels()
  const answering: AdapterFactory = (model) =>
    model === 'ReplayDetection' ? { ...adapter(model), upsert: () => upsert() } : adapter(model)
  const deployment = useDeployment({ configuration: { adapter: answering } })

  const unique = () =>
    deployment.provider.ReplayDetection.unique('client', 'jti', Math.floor(Date.now() / 1000) + 60)

  it('accepts what is recorded for the first time', async () => {
    upsert = async () => {}
    expect(await unique()).to.equal(true)
  })

  it('treats InvalidGrant as a replay', async () => {
    upsert = async () => {
      throw new errors.InvalidGrant('recorded already')
    }
    expect(await unique()).to.equal(false)
  })

  for (const failure of [
    new Error('the disk is full'),
    new errors.InvalidClientAuth('exp is out of range'),
  ]) {
    it(`treats ${failure.name} as a failure, never as a replay`, async () => {
      upsert = async () => {
        throw failure
      }
      expect(await unique().catch((error: unknown) => error)).to.equal(failure)
    })
  }
})
