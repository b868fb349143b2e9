/** What is made of the provider's module for custom grants. */
import { expect } from 'chai'
import { errors } from 'oidc-provider'
import { clientMayRequest } from '../../src/provider/grants.ts'

type Context = Parameters<typeof clientMayRequest>[0]

describe('whether a client may request a scope', () => {
  it('is not guessed when the provider cannot tell: its error is passed on', () => {
    const foreign = { oidc: { provider: {}, client: { scope: 'openid' } } } as unknown as Context
    expect(() => clientMayRequest(foreign, 'openid', errors.InvalidScope)).to.throw(TypeError)
  })
})
