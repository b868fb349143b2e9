/** What openapi.json accepts of each parameter of an exchange, compared with what the token endpoint accepts. */
import { expect } from 'chai'
import type { KoaContextWithOIDC } from 'oidc-provider'
import { API, type Deployment, startDeployment } from '../../fixtures/deployment.ts'
import { description } from '../../fixtures/openapi.ts'
import { textsFor } from '../../fixtures/probes.ts'
import { exchange, issue } from '../../fixtures/requests.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../src/index.ts'

const { document, flat, schemaFaults } = description()
const POINTER = '#/components/schemas/TokenExchangeRequest'

/** Who sends it, and what is spent, have no limit of their own: these are known or not. */
const {
  client_id: _,
  subject_token: __,
  ...limited
} = document.components.schemas.TokenExchangeRequest.properties

describe('exchange: limits of openapi.json', () => {
  let deployment: Deployment
  before(async () => {
    deployment = await startDeployment({
      configuration: {
        features: {
          resourceIndicators: {
            defaultResource: async () => API,
            // Every resource is one, and has every scope.
            getResourceServerInfo: async ({ oidc }: KoaContextWithOIDC, audience: string) => ({
              ...{ audience, scope: String(oidc.params?.scope ?? ''), accessTokenFormat: 'jwt' as const },
              jwt: { sign: { alg: 'ES256' as const } },
            }),
          },
        },
      },
    })
  })
  after(() => deployment.close())

  for (const [name, schema] of Object.entries(limited)) {
    it(`are those of ${name}`, async () => {
      const seen = new Set<boolean>()
      for (const text of textsFor(flat(schema))) {
        const { subjectToken } = await issue(deployment)
        const request = {
          grant_type: TOKEN_EXCHANGE,
          subject_token: subjectToken,
          subject_token_type: ACCESS_TOKEN_TYPE,
          resource: API,
          [name]: text,
        }
        // A blank parameter counts as omitted (RFC 6749 §3.2).
        const sent = Object.fromEntries(Object.entries(request).filter(([, value]) => value !== ''))
        const accepted = schemaFaults(POINTER, sent).length === 0
        const response = await exchange(deployment, request)
        expect(response.status, `${JSON.stringify(text).slice(0, 80)}: ${response.text}`).to.equal(
          accepted ? 200 : 400,
        )
        seen.add(accepted)
      }
      expect([...seen]).to.have.members([true, false])
    })
  }
})
