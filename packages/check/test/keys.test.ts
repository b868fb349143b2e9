/** The second provider, in which `check` tries an example, has no key of the deployment. */
import { createHmac } from 'node:crypto'
import { expect } from 'chai'
import { decodeProtectedHeader } from 'jose'
import { API, RESOURCES, withDeployment } from '../../../fixtures/deployment.ts'
import { SIGNING_KEY } from '../../../fixtures/keys.ts'
import { insideOf } from '../../../src/impersonation.ts'
import type { Service } from '../../../src/provider/settings.ts'
import { exchange, issue } from '../src/rehearsal.ts'
import { metadataOf, setStage } from '../src/stage.ts'

const cookieKeysOf = ({ provider: { keys } }: Pick<Service, 'provider'>) => (Array.isArray(keys) ? keys : [])

describe('check: the provider of an example', () => {
  it('signs and seals with fresh keys, which have the algorithms and ids of the own ones', () =>
    withDeployment(
      { configuration: { jwks: { keys: [{ ...SIGNING_KEY, kid: 'the-first', alg: 'ES256' }] } } },
      async ({ impersonation, issuer }) => {
        const own = insideOf(impersonation)
        const stage = await setStage(own, own.options, [])
        try {
          const [key, ...others] = JSON.parse((await stage.send(`${issuer}/jwks`)).text).keys
          expect(others).to.deep.equal([])
          expect(key).to.include({ kid: 'the-first', alg: 'ES256', crv: SIGNING_KEY.crv })
          expect(key.x).not.to.equal(SIGNING_KEY.x)
          expect(cookieKeysOf(stage)).to.have.length(1)
          expect(cookieKeysOf(own)).not.to.include(cookieKeysOf(stage)[0])
        } finally {
          stage.close()
        }
      },
    ))

  it('signs no access token with the shared key of a resource', async () => {
    const key = Buffer.alloc(32, 1)
    const resources = {
      [API]: { ...RESOURCES[API], scope: 'orders:read', jwt: { sign: { alg: 'HS256', key } } } as const,
    }
    await withDeployment({ resources }, async ({ impersonation }) => {
      const own = insideOf(impersonation)
      const clients = ['spa', 'backend'].map((id) => metadataOf(own, id))
      const stage = await setStage(own, own.options, await Promise.all(clients))
      try {
        const example = { userId: 'alice', createdBy: 'backend', clientId: 'spa', resource: API, context: {} }
        const token = await exchange(stage, example, await issue(stage, example, {}))
        const [header = '', payload = '', signature] = token.split('.')
        expect(decodeProtectedHeader(token)).to.include({ alg: 'HS256' })
        const signed = createHmac('sha256', key).update(`${header}.${payload}`).digest('base64url')
        expect(signature).not.to.equal(signed)
      } finally {
        stage.close()
      }
    })
  })
})
