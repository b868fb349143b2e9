/** The limits that `openapi.json` gives, compared with those of the server: what one accepts or refuses, the other does too. */
import { expect } from 'chai'
import { type Deployment, startDeployment } from '../../fixtures/deployment.ts'
import { type HttpResponse, send } from '../../fixtures/http.ts'
import { manage } from '../../fixtures/management.ts'
import { description, type Json } from '../../fixtures/openapi.ts'
import { numbersFor, textsFor, valuesFor } from '../../fixtures/probes.ts'
import { exchange, issue, managementToken } from '../../fixtures/requests.ts'
import { LIST_NUMBER } from '../../src/provider/status-reference.ts'
import { LONGEST_LIFE } from '../../src/subject-tokens/subject-token.ts'

const { document, flat, schemaFaults } = description()
const { components, paths } = document
const ALL = '/subject-tokens'
const REVOCATIONS = '/subject-tokens/revocations'
const ACKNOWLEDGEMENT = '/subject-tokens/{id}/acknowledgement'
/** What each body must have. A member that excludes these others stands alone. */
const LEAST: Readonly<Record<string, object>> = {
  [ALL]: { userId: 'alice' },
  [REVOCATIONS]: { userId: 'dave' },
  [ACKNOWLEDGEMENT]: { by: 'dora', note: 'a double click' },
}

/** Those of the management API. Status lists and the exchange are not for management tokens. */
const operations = Object.entries<Json>(paths).flatMap(([route, item]) =>
  Object.entries<Json>(item)
    .filter(([, { security = [] }]) => security.length > 0)
    .map(([method, operation]) => ({
      route,
      method: method.toUpperCase(),
      parameters: [...(item.parameters ?? []), ...(operation.parameters ?? [])] as Json[],
      body: operation.requestBody?.content['application/json'].schema as Json,
      bodyPointer: `#/paths/${route.replaceAll('/', '~1')}/${method}/requestBody/content/application~1json/schema`,
    })),
)

describe('openapi.json: limits', () => {
  let deployment: Deployment
  let token: string
  /** Of a record that was exchanged without an actor. */
  let id: string
  /** Of another one of the same user. */
  let another: string
  before(async () => {
    deployment = await startDeployment({
      options: { maxSubjectTokenTTL: LONGEST_LIFE },
      configuration: {
        findAccount: async (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
      },
    })
    token = await managementToken(deployment)
    another = (await issue(deployment)).id
    const { subjectToken, ...alarming } = await issue(deployment)
    await exchange(deployment, { subject_token: subjectToken })
    ;({ id } = alarming)
  })
  after(() => deployment.close())

  /** The id of a record, and what is next to it. */
  const idsBeside = () => [id, id.slice(1), `${id}0`, id.toUpperCase(), `${id.slice(0, -1)}g`]

  /** Sends each value, and compares what becomes of it with what the schema says. */
  async function expectAgreement<Value>(
    values: readonly Value[],
    accepts: (value: Value) => boolean,
    send: (value: Value) => Promise<HttpResponse>,
  ): Promise<void> {
    const seen = new Set<boolean>()
    for (const value of values) {
      const accepted = accepts(value)
      const { status, text } = await send(value)
      const said = `${JSON.stringify(value).slice(0, 80)}: ${status} ${text}`
      if (!accepted) expect(status, said).to.be.oneOf([400, 404])
      // A replay that the record does not have is no limit, and neither is a client that is not registered.
      else if (!text.includes('clientId must be a client that'))
        expect(status, said).to.be.oneOf([200, 201, 204, 409])
      seen.add(accepted)
    }
    expect([...seen]).to.have.members([true, false])
  }

  for (const { route, method, parameters, body, bodyPointer } of operations) {
    const path = route.slice(ALL.length)
    for (const { $ref } of parameters) {
      const { name, in: place, schema } = components.parameters[$ref.split('/').at(-1)]
      it(`of ${name}, ${method} ${route}`, async () => {
        const limited = flat(schema)
        const texts = [...textsFor(limited), ...numbersFor(limited).map(String), ...idsBeside()]
        const inPath = place === 'path'
        await expectAgreement(
          texts.filter((text) => !inPath || (text !== '' && !isUnknownId(text))),
          (text) => schemaFaults(`${$ref}/schema`, parsed(text, limited)).length === 0,
          (text) => {
            const encoded = encodeURIComponent(text)
            const target = inPath ? path.replace(`{${name}}`, encoded) : `${path}?${name}=${encoded}`
            return body
              ? post(target, JSON.stringify(LEAST[route]))
              : manage(deployment, method, target, { token })
          },
        )
      })
    }

    if (!body) continue
    const { properties, oneOf = [] } = flat(body)
    for (const [name, schema] of Object.entries<Json>(properties)) {
      it(`of ${name}, ${method} ${route}`, async () => {
        const isChoice = oneOf.some(({ required }: Json) => required.includes(name))
        // Together with what it cannot be without.
        const needed: Json = { cause: { id: another }, continuedBy: { id: another, cause: 'continued' } }
        const withIt = (value: unknown) => ({
          ...(isChoice ? {} : (needed[name] ?? LEAST[route])),
          [name]: value,
        })
        await expectAgreement(
          [...valuesFor(flat(schema)), ...idsBeside()].filter(
            (value) => !['id', 'continuedBy'].includes(name) || !isUnknownId(value),
          ),
          (value) => schemaFaults(bodyPointer, withIt(value)).length === 0,
          (value) => post(pathOf(path), JSON.stringify(withIt(value))),
        )
      })
    }
  }

  const pathOf = (path: string) => path.replace('{id}', id)

  /** What would be 404 like a text that is not an id. */
  const isUnknownId = (value: unknown) => value !== id && /^[0-9a-f]{32}$/.test(String(value))

  it('of the number of a status list', () => {
    const texts = ['0', '1', '01', '-1', '', 'a', '0 ', '9999999999', '10000000000']
    for (const text of texts)
      expect(schemaFaults('#/components/parameters/ListNumber/schema', text).length === 0, text).to.equal(
        LIST_NUMBER.test(text),
      )
  })

  it('of the context, in bytes and levels', async () => {
    const { description: told } = components.schemas.Context
    const [, kibibytes, levels] = /at most (\d+) KiB as UTF-8 JSON and (\d+) levels/.exec(told) ?? []
    const ofBytes = (bytes: number) => ({ a: 'x'.repeat(bytes - '{"a":""}'.length) })
    const ofLevels = (count: number): object => (count === 1 ? {} : { a: ofLevels(count - 1) })
    const statusOf = async (context: object) =>
      (await post('', JSON.stringify({ userId: 'alice', context }))).status
    const bytes = Number(kibibytes) * 1024
    expect([await statusOf(ofBytes(bytes)), await statusOf(ofBytes(bytes + 1))]).to.deep.equal([201, 400])
    const most = Number(levels)
    expect([await statusOf(ofLevels(most)), await statusOf(ofLevels(most + 1))]).to.deep.equal([201, 400])
  })

  for (const [route, least] of Object.entries(LEAST)) {
    it(`of the bytes of a body, POST ${route}`, async () => {
      const [, kibibytes] = /At most (\d+) KiB/.exec(paths[route].post.requestBody.description) ?? []
      const limit = Number(kibibytes) * 1024
      const statusOf = async (bytes: number) =>
        (await post(pathOf(route.slice(ALL.length)), JSON.stringify(least).padEnd(bytes))).status
      expect(await statusOf(limit)).to.be.oneOf([200, 201, 204])
      expect(await statusOf(limit + 1)).to.equal(413)
    })
  }

  const post = (path: string, body: string): Promise<HttpResponse> =>
    send(`${deployment.subjectTokens}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body,
    })
})

/** What a text of a query is: a number where one is expected, and it is spelled as one. */
const parsed = (text: string, { type }: Json): unknown =>
  type === 'integer' && /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text) ? Number(text) : text
