/** What the methods of the client do with arguments that cannot be sent. */
import { expect } from 'chai'
import type { ImpersonationClient } from '../src/index.ts'
import { connect, ID } from './calling.ts'

const cyclic: Record<string, unknown> = { secret: 'in the context' }
cyclic.self = cyclic
const throwing = {
  toJSON() {
    throw new Error('in the context')
  },
}

const EXCHANGE = { subjectToken: 'sub_x', resource: 'https://api.example.com' }
/** A request that each method takes. */
const REQUESTS = {
  issue: { userId: 'alice' },
  issueSession: { userId: 'alice', actorId: 'sam', clientId: 'shop' },
  list: { userId: 'alice' },
  listPage: { userId: 'alice' },
  stop: { id: ID },
  acknowledge: { by: 'dora', note: 'a double click' },
  exchange: EXCHANGE,
  onBehalfOf: EXCHANGE,
} as const satisfies Partial<Record<keyof ImpersonationClient, object>>
type Name = keyof typeof REQUESTS
const NAMES = Object.keys(REQUESTS) as Name[]

/** Calls the method; of a list, reads on. */
async function callMethod(client: ImpersonationClient, name: Name, ...given: unknown[]): Promise<unknown> {
  const method = client[name] as (...all: unknown[]) => unknown
  const result = name === 'acknowledge' ? method(ID, ...given) : method(...given)
  return name === 'list' ? (result as AsyncIterable<unknown>)[Symbol.asyncIterator]().next() : result
}

type Row = readonly [title: string, call: (client: ImpersonationClient) => Promise<unknown>, message: string]

/** The request with these changes. */
const changed = (name: Name, title: string, changes: object, message: string): Row => [
  `${name} with ${title}`,
  (client) => callMethod(client, name, { ...REQUESTS[name], ...changes }),
  message,
]
/** Each of these as the value of a member. */
const member = (name: Name, key: string, all: readonly unknown[], message: string): Row[] =>
  all.map((value) =>
    changed(name, `${JSON.stringify(value)} as ${key}`, { [key]: value }, `${key} ${message}`),
  )

const NO_ID = 'id must be the id of a record: 32 lower-case hexadecimal digits'
const NOT_EMPTY = 'must be a non-empty string'
const NO_JSON = 'request must be JSON'
const rows: readonly Row[] = [
  ...NAMES.flatMap((name): Row[] => [
    [`${name} of nothing`, (client) => callMethod(client, name, null), 'request must be an object'],
    [`${name} of a text`, (client) => callMethod(client, name, 'an id'), 'request must be an object'],
    changed(name, 'a member that it does not know', { user: 'alice' }, 'unknown member: user'),
    changed(name, 'one that objects inherit', { toString: 'alice' }, 'unknown member: toString'),
    changed(
      name,
      'a token as a member, which is not repeated',
      { [`sub_${'a'.repeat(65)}`]: 1 },
      'unknown member',
    ),
    [
      `${name} with an option that it does not know`,
      (client) => callMethod(client, name, REQUESTS[name], { timeout: 1 }),
      'unknown option: timeout',
    ],
  ]),
  [
    'get with an option that it does not know',
    (client) => client.get(ID, { timeout: 1 } as never),
    'unknown option: timeout',
  ],
  ...[null, AbortSignal.timeout(1000)].map(
    (options): Row => [
      `get with ${options} in place of options`,
      (client) => client.get(ID, options as never),
      'options must be an object with the member signal',
    ],
  ),
  ...[undefined, null, '', 'summary', '..', `${ID}0`, `${ID}\n`, 'A'.repeat(32), [ID]].flatMap(
    (id): Row[] => {
      const shown = JSON.stringify(id)
      return [
        [`get of ${shown}`, (client) => client.get(id as never), NO_ID],
        [`acknowledge of ${shown}`, (client) => client.acknowledge(id as never, REQUESTS.acknowledge), NO_ID],
        ...(id === undefined ? [] : [changed('stop', shown, { id }, NO_ID)]),
      ]
    },
  ),
  changed('issueSession', 'another use', { use: 'exchange' }, 'unknown member: use'),
  changed('issue', 'a cyclic context', { context: cyclic }, NO_JSON),
  changed('issue', 'a number that JSON has not', { context: { ticket: 1n } }, NO_JSON),
  changed('issue', 'a context that throws', { context: { throwing } }, NO_JSON),
  changed('list', 'an object', { userId: {} }, 'userId must be a string, a number or a boolean'),
  ...member('exchange', 'subjectToken', [undefined, '', 7, null], NOT_EMPTY),
  // It would count as none.
  ...member('exchange', 'actorToken', [''], NOT_EMPTY),
  ...member('exchange', 'resource', [null], 'must be a string'),
  ...member('exchange', 'scope', [null], 'must be a string'),
  ...member('onBehalfOf', 'subjectToken', [undefined, '', 7, null], NOT_EMPTY),
  // No default is a place to send a user's token.
  ...member('onBehalfOf', 'resource', [undefined, ''], NOT_EMPTY),
  ...member('onBehalfOf', 'resource', [['https://billing.example.com']], 'must be a string'),
  ...member('onBehalfOf', 'scope', [['invoices:read']], 'must be a string'),
  // The actor is the client itself.
  changed('onBehalfOf', 'an actor token', { actorToken: 'd.e.f' }, 'onBehalfOf takes no actorToken'),
]

describe('client: arguments', () => {
  for (const [title, call, message] of rows) {
    it(`reject ${title}, and nothing is sent`, async () => {
      const { client, sent } = connect()
      // It does not throw.
      const error = await call(client).catch((thrown: unknown) => thrown)
      expect(error).to.be.instanceOf(TypeError)
      expect((error as TypeError).message).to.equal(message)
      expect(error).not.to.have.property('cause')
      expect(sent).to.deep.equal([])
    })
  }
})
