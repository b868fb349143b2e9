/** What `POST /api/subject-tokens` refuses (protocol.md §2.1, §2.4): every field, just beyond every boundary. */
import { expect } from 'chai'
import { QueryTypes } from 'sequelize'
import { API, type Deployment, startDeployment } from '../../fixtures/deployment.ts'
import { type HttpResponse, send } from '../../fixtures/http.ts'
import { managementToken, postSubjectToken } from '../../fixtures/requests.ts'

const ASTRAL = '🎫'
const nested = (levels: number): object => (levels === 1 ? {} : { a: nested(levels - 1) })
const contextOf = (bytes: number) => ({ a: 'x'.repeat(bytes - '{"a":""}'.length) })

/** What every string field refuses. */
const NO_STRING: [title: string, value: unknown][] = [
  ['empty', ''],
  ['of 256 characters', 'a'.repeat(256)],
  ['of 256 characters beyond the basic plane', ASTRAL.repeat(256)],
  ['of 300 characters', 'a'.repeat(300)],
  ['with a NUL', 'urn:a\0b'],
  ['with a lone high surrogate', 'urn:a\ud800'],
  ['with a lone low surrogate', 'urn:\udc00a'],
  ['null', null],
  ['a number', 7],
  ['a boolean', true],
  ['an array', ['alice']],
  ['an object', { id: 'alice' }],
]

const REFUSED: [field: string, title: string, value: unknown][] = [
  ...['userId', 'clientId', 'actorId', 'resource', 'scope'].flatMap((field) =>
    NO_STRING.map(([title, value]): [string, string, unknown] => [field, title, value]),
  ),
  ['context', 'null', null],
  ['context', 'a string', '{}'],
  ['context', 'a number', 1],
  ['context', 'an array', []],
  ['context', 'of 8 KiB and one byte', contextOf(8193)],
  ['context', 'of more than 8 KiB in two-byte characters', { a: 'é'.repeat((8192 - 8) / 2 + 1) }],
  ['context', 'of 17 levels', nested(17)],
  ['context', 'of 17 levels, arrays among them', { a: [[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]] }],
  ['context', 'of 2,000 levels', nested(2000)],
  ['context', 'with a NUL in a value', { a: 'x\0' }],
  ['context', 'with a NUL in a key', { 'x\0': 1 }],
  ['context', 'with a NUL further in', { a: [{ b: ['\0'] }] }],
  ['context', 'with a NUL in a key further in', { a: [{ 'b\0': 1 }] }],
  ['context', 'with a lone surrogate in a value', { a: '\ud800' }],
  ['context', 'with a lone surrogate in a key', { '\ud800': 1 }],
  ['resource', 'relative', '/orders'],
  ['resource', 'without scheme', 'api.example.com'],
  ['resource', 'with a fragment', `${API}#orders`],
  ['resource', 'with an empty fragment', `${API}#`],
  ['resource', 'with a space', `${API}/a b`],
  ['resource', 'with a space before it', ` ${API}`],
  ['resource', 'with a line feed', `${API}\n`],
  ['resource', 'with letters beyond ASCII', 'https://bücher.example.com'],
  ['resource', 'two URIs', `${API} https://other.example.com`],
  ['resource', 'an empty list', []],
  ['resource', 'a list of nine', Array.from({ length: 9 }, (_, index) => `urn:example:${index}`)],
  ['resource', 'a list with one twice', [API, 'urn:example:orders', API]],
  ['resource', 'a list with a relative one', [API, '/orders']],
  ['resource', 'a list with a fragment', [`${API}#orders`]],
  ['resource', 'a list in a list', [[API]]],
  ['resource', 'a list with null', [API, null]],
  ['use', 'session, which is not offered', 'session'],
  ['use', 'another word', 'Exchange'],
  ['use', 'null', null],
  ['use', 'a list', ['exchange']],
  ['scope', 'one space', ' '],
  ['scope', 'with a space before it', ' a'],
  ['scope', 'with a space after it', 'a '],
  ['scope', 'with two spaces', 'a  b'],
  ['scope', 'with a tab', 'a\tb'],
  ['scope', 'with a quotation mark', 'a"b'],
  ['scope', 'with a backslash', 'a\\b'],
  ['scope', 'with letters beyond ASCII', 'ä'],
  ['expiresIn', '0', 0],
  ['expiresIn', 'negative', -1],
  ['expiresIn', 'a fraction', 1.5],
  ['expiresIn', 'more than the maximum', 3601],
  ['expiresIn', 'a string', '600'],
  ['expiresIn', 'null', null],
  ['expiresIn', 'true', true],
  ['expiresIn', 'an array', [600]],
  ['expiresIn', 'beyond every number', 1e308],
]

const RULES: Readonly<Record<string, string>> = {
  context: 'must be a JSON object of at most 8192 bytes and 16 levels',
  resource: 'must be an absolute URI without fragment, or a list of 1 to 8 different ones',
  use: 'must be exchange',
  scope: 'must hold scope names',
  expiresIn: 'must be whole seconds from 1 to 3600',
}
/** What every string field says comes before its own rule. A resource may be a list, and is no name then. */
const ruleOf = (field: string, title: string, value: unknown): string => {
  const isName =
    !['context', 'expiresIn', 'use'].includes(field) && NO_STRING.some(([known]) => known === title)
  return isName && (field !== 'resource' || typeof value === 'string')
    ? 'must be a string of 1 to 255 characters'
    : (RULES[field] ?? '')
}

describe('management: what POST /subject-tokens refuses', () => {
  let deployment: Deployment
  let token: string
  before(async () => {
    deployment = await startDeployment()
    token = await managementToken(deployment)
  })
  after(() => deployment.close())

  const post = (body: unknown) => postSubjectToken(deployment, body, token)

  const expectRefused = async (response: HttpResponse, error_description: string) => {
    expect([response.status, response.body], response.text).to.deep.equal([
      400,
      { error: 'invalid_request', error_description },
    ])
    expect(response.headers.get('cache-control')).to.equal('no-store')
    expect(response.headers.get('www-authenticate')).to.equal(null)
    const sql = 'SELECT COUNT(*) AS count FROM subject_tokens'
    const [row] = await deployment.database.sequelize.query<{ count: number }>(sql, {
      type: QueryTypes.SELECT,
    })
    expect(Number(row?.count), 'half-written').to.equal(0)
  }

  for (const [field, title, value] of REFUSED) {
    it(`refuses a ${field} that is ${title}, and names the field`, async () =>
      expectRefused(
        await post({ userId: 'alice', [field]: value }),
        `${field} ${ruleOf(field, title, value)}`,
      ))
  }

  it('refuses a body without userId, and names it', async () =>
    expectRefused(await post({}), 'userId is required'))

  it('refuses a list with a resource of 256 characters', async () => {
    const resource = [API, `urn:${'a'.repeat(252)}`]
    await expectRefused(
      await post({ userId: 'alice', resource }),
      'resource must be a string of 1 to 255 characters',
    )
  })

  it('refuses an infinite expiresIn and an infinite context value', async () => {
    const infinite = '{"userId":"alice","expiresIn":1e999}'
    await expectRefused(await post(infinite), `expiresIn ${RULES.expiresIn}`)
    await expectRefused(await post('{"userId":"alice","context":{"a":1e999}}'), `context ${RULES.context}`)
  })

  for (const [title, body, field] of [
    ['that is unknown', '{"userId":"alice","subject":"bob"}', 'subject'],
    ['that is unknown, even when null', '{"userId":"alice","subject":null}', 'subject'],
    ['that differs in case', '{"userid":"alice"}', 'userid'],
    ['in snake case', '{"userId":"alice","expires_in":60}', 'expires_in'],
    ['named __proto__', '{"userId":"alice","__proto__":{"clientId":"spa"}}', '__proto__'],
    ['named constructor', '{"userId":"alice","constructor":1}', 'constructor'],
    ['named toString', '{"userId":"alice","toString":1}', 'toString'],
  ] as const) {
    it(`refuses a member ${title}, and names it`, async () =>
      expectRefused(await post(body), `unknown member: ${field}`))
  }

  it('does not read the userId from a prototype', async () =>
    expectRefused(await post('{"__proto__":{"userId":"alice"}}'), 'unknown member: __proto__'))

  it('does not repeat a member name that could be markup', async () => {
    const response = await post({ userId: 'alice', '<script>alert(1)</script>': 1 })
    await expectRefused(response, 'unknown member')
    expect(response.text).not.to.include('<script>')
  })

  it('does not repeat a token that was sent as a name', async () => {
    for (const name of [`sub_${'a'.repeat(43)}`, 'b'.repeat(43), token]) {
      const headers = { authorization: `Bearer ${token}` }
      const asMember = await post({ userId: 'alice', [name]: 1 })
      await expectRefused(asMember, 'unknown member')
      const asParameter = await send(`${deployment.subjectTokens}?${name}=1`, { headers })
      await expectRefused(asParameter, 'unknown parameter')
    }
  })

  it('does not repeat a member name of 10,000 characters', async () => {
    const response = await post({ userId: 'alice', ['x'.repeat(10_000)]: 1 })
    await expectRefused(response, 'unknown member')
  })
})
