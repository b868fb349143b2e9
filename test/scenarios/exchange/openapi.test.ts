/** What openapi.json says of the exchange beside its responses, each of which the rows of test/spec compare with it. */
import { expect } from 'chai'
import type { KoaContextWithOIDC } from 'oidc-provider'
import { API, useDeployment } from '../../../fixtures/deployment.ts'
import { readPage } from '../../../fixtures/markdown.ts'
import { description, type Json } from '../../../fixtures/openapi.ts'
import { errorsOf, namesOf, rulesOf, sectionOf } from '../../../fixtures/page.ts'
import { exchange, issue } from '../../../fixtures/requests.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE } from '../../../src/base/constants.ts'
import { textsFor } from './probes.ts'

const { document, flat, schemaFaults } = description()
const { TokenExchangeRequest, TokenExchangeResponse } = document.components.schemas
const { post } = document.paths['/token']
const POINTER = '#/components/schemas/TokenExchangeRequest'
/** Who sends it, and what is spent, have no limit of their own: these are known or not. */
const { client_id: _, subject_token: __, ...limited } = TokenExchangeRequest.properties

describe('token exchange: openapi.json', () => {
  const deployment = useDeployment({
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

  for (const [name, schema] of Object.entries(limited)) {
    it(`has the limits of ${name}`, async () => {
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

  it('names the parameters and the members that docs/protocol.md names', () => {
    const page = readPage('docs/protocol.md')
    const [taken = ''] = sectionOf(page, '3. Token exchange').split('- Refused:')
    expect(Object.keys(TokenExchangeRequest.properties)).to.have.members([
      ...namesOf(rulesOf(taken)),
      'client_id',
    ])
    const members = rulesOf(sectionOf(page, '3.5 Response'))
    expect(Object.keys(TokenExchangeResponse.properties)).to.have.members(namesOf(members))
    const always = members.filter(([, text = '']) => !text.startsWith(', if'))
    expect(TokenExchangeResponse.required).to.have.members(namesOf(always))
  })

  it('has the texts of docs/protocol.md as its examples', () => {
    const rows = errorsOf(sectionOf(readPage('docs/protocol.md'), '3.2 Errors'))
    // The provider's own is in no page of ours.
    const { client, ...examples } = Object.assign(
      {},
      ...Object.values<Json>(post.responses).map(({ content }) => content?.['application/json'].examples),
    )
    expect(client).to.be.an('object')
    const told = Object.values<Json>(examples).flatMap(({ value }) => value.error_description ?? [])
    expect(rows.map(({ text }) => text)).to.include.members(told)
    expect(told).to.have.length(9)
  })

  it('has an example that a deployment of that name would take', () => {
    const { schema, examples } = post.requestBody.content['application/x-www-form-urlencoded']
    expect(schema.$ref).to.equal(POINTER)
    expect(schemaFaults(POINTER, examples.delegation.value)).to.deep.equal([])
    const { actor_token_type: _, ...incomplete } = examples.delegation.value
    expect(schemaFaults(POINTER, incomplete)).not.to.deep.equal([])
  })
})
