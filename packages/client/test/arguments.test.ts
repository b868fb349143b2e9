/** What the methods of the client do with arguments that cannot be sent. */
import { expect } from 'chai'
import { type StandIn, startStandIn } from '../../../fixtures/stand-in.ts'
import { createImpersonationClient, type ImpersonationClient } from '../src/index.ts'

const cyclic: Record<string, unknown> = { secret: 'in the context' }
cyclic.self = cyclic

const throwing = {
  toJSON() {
    throw new Error('in the context')
  },
}

type Try = (client: ImpersonationClient) => Promise<unknown>

const first = (request: unknown): Try => {
  return (client) =>
    client
      .list(request as never)
      [Symbol.asyncIterator]()
      .next()
}

const ID = '0'.repeat(32)
const SAYS = { by: 'dora', note: 'a double click' }
const SESSION = { userId: 'alice', actorId: 'sam', clientId: 'shop' }
const EXCHANGE = { subjectToken: 'sub_x', resource: 'https://api.example.com' }
const NO_ID = 'id must be the id of a record: 32 lower-case hexadecimal digits'
const TOKEN = `sub_${'a'.repeat(65)}`

/** Each method, with a member that it does not know. */
const withMember: Readonly<Record<string, (member: object) => Try>> = {
  issue: (member) => (client) => client.issue({ userId: 'alice', ...member }),
  issueSession: (member) => (client) => client.issueSession({ ...SESSION, ...member }),
  list: (member) => first({ userId: 'alice', ...member }),
  listPage: (member) => (client) => client.listPage({ userId: 'alice', ...member }),
  stop: (member) => (client) => client.stop({ id: ID, ...member }),
  acknowledge: (member) => (client) => client.acknowledge(ID, { ...SAYS, ...member }),
  exchange: (member) => (client) => client.exchange({ ...EXCHANGE, ...member }),
  onBehalfOf: (member) => (client) => client.onBehalfOf({ ...EXCHANGE, ...member }),
}

const withTimeout: Readonly<Record<string, (options: object) => Try>> = {
  issue: (options) => (client) => client.issue({ userId: 'alice' }, options),
  issueSession: (options) => (client) => client.issueSession(SESSION, options),
  get: (options) => (client) => client.get(ID, options),
  list: (options) => (client) => client.list({}, options)[Symbol.asyncIterator]().next(),
  listPage: (options) => (client) => client.listPage({}, options),
  stop: (options) => (client) => client.stop({ id: ID }, options),
  acknowledge: (options) => (client) => client.acknowledge(ID, SAYS, options),
  exchange: (options) => (client) => client.exchange(EXCHANGE, options),
  onBehalfOf: (options) => (client) => client.onBehalfOf(EXCHANGE, options),
}

const unknown: [title: string, call: Try, message: string][] = [
  ...Object.entries(withMember).flatMap(([method, call]): [string, Try, string][] => [
    [`${method} with a member that it does not know`, call({ user: 'alice' }), 'unknown member: user'],
    [`${method} with one that objects inherit`, call({ toString: 'alice' }), 'unknown member: toString'],
    [`${method} with a token as a member, which is not repeated`, call({ [TOKEN]: 1 }), 'unknown member'],
  ]),
  ...Object.entries(withTimeout).map(([method, call]): [string, Try, string] => [
    `${method} with an option that it does not know`,
    call({ timeout: 1 }),
    'unknown option: timeout',
  ]),
]

const stopOf = (id: unknown): [string, Try, string] => [
  `stop of ${JSON.stringify(id)}`,
  (client) => client.stop({ id } as never),
  NO_ID,
]

const rejected: [title: string, call: Try, message: string][] = [
  [
    'issueSession with another use',
    (client) => client.issueSession({ ...SESSION, use: 'exchange' } as never),
    'unknown member: use',
  ],
  [
    'issueSession without a request',
    (client) => client.issueSession(undefined as never),
    'request must be an object',
  ],
  ['issue without a request', (client) => client.issue(undefined as never), 'request must be an object'],
  [
    'issue with a cyclic context',
    (client) => client.issue({ userId: 'alice', context: cyclic }),
    'request must be JSON',
  ],
  [
    'issue with a number that JSON has not',
    (client) => client.issue({ userId: 'alice', context: { ticket: 1n } }),
    'request must be JSON',
  ],
  [
    'issue with a context that throws',
    (client) => client.issue({ userId: 'alice', context: { throwing } }),
    'request must be JSON',
  ],
  ['stop without a request', (client) => client.stop(undefined as never), 'request must be an object'],
  [
    'acknowledge without a request',
    (client) => client.acknowledge(ID, undefined as never),
    'request must be an object',
  ],
  ['stop with an id only', (client) => client.stop('an id' as never), 'request must be an object'],
  ...[undefined, null, '', 'summary', '..', `${ID}0`, `${ID}\n`, 'A'.repeat(32), [ID]].flatMap(
    (id): [string, Try, string][] => [
      [`get of ${JSON.stringify(id)}`, (client) => client.get(id as never), NO_ID],
      [`acknowledge of ${JSON.stringify(id)}`, (client) => client.acknowledge(id as never, SAYS), NO_ID],
      ...(id === undefined ? [] : [stopOf(id)]),
    ],
  ),
  ['list of nothing', first(null), 'request must be an object'],
  ['list by an object', first({ userId: {} }), 'userId must be a string, a number or a boolean'],
  ['listPage of nothing', (client) => client.listPage(null as never), 'request must be an object'],
  [
    'exchange without a request',
    (client) => client.exchange(undefined as never),
    'request must be an object',
  ],
  [
    'exchange without a subject token',
    (client) => client.exchange({ resource: 'https://api.example.com' } as never),
    'subjectToken must be a non-empty string',
  ],
  [
    'exchange with an empty actor token, which would count as none',
    (client) => client.exchange({ subjectToken: 'sub_x', actorToken: '' }),
    'actorToken must be a non-empty string',
  ],
  ...['resource', 'scope'].map((name): [string, Try, string] => [
    `exchange with null as ${name}`,
    (client) => client.exchange({ subjectToken: 'sub_x', [name]: null } as never),
    `${name} must be a string`,
  ]),
  [
    'onBehalfOf without a request',
    (client) => client.onBehalfOf(undefined as never),
    'request must be an object',
  ],
  ...[undefined, '', 7, null].map((subjectToken): [string, Try, string] => [
    `onBehalfOf with ${JSON.stringify(subjectToken)} as subject token`,
    (client) => client.onBehalfOf({ subjectToken, resource: 'https://billing.example.com' } as never),
    'subjectToken must be a non-empty string',
  ]),
  ...[undefined, ''].map((resource): [string, Try, string] => [
    `onBehalfOf with ${JSON.stringify(resource)} as resource: no default is a place to send a user's token`,
    (client) => client.onBehalfOf({ subjectToken: 'a.b.c', resource } as never),
    'resource must be a non-empty string',
  ]),
  ...['resource', 'scope'].map((name): [string, Try, string] => [
    `onBehalfOf with a list as ${name}`,
    (client) =>
      client.onBehalfOf({
        ...{ subjectToken: 'a.b.c', resource: 'https://billing.example.com' },
        [name]: ['https://billing.example.com'],
      } as never),
    `${name} must be a string`,
  ]),
  [
    'onBehalfOf with an actor token, because the actor is the client itself',
    (client) =>
      client.onBehalfOf({
        ...{ subjectToken: 'a.b.c', resource: 'https://billing.example.com' },
        actorToken: 'd.e.f',
      } as never),
    'onBehalfOf takes no actorToken',
  ],
  ...[null, AbortSignal.timeout(1000)].map((options): [string, Try, string] => [
    `${options} in place of options`,
    (client) => client.get(ID, options as never),
    'options must be an object with the member signal',
  ]),
]

describe('client: arguments', () => {
  let standIn: StandIn
  before(async () => {
    standIn = await startStandIn()
  })
  after(() => standIn.close())

  for (const [title, call, message] of [...rejected, ...unknown]) {
    it(`rejects ${title}, and sends nothing`, async () => {
      const client = createImpersonationClient({
        issuer: standIn.issuer,
        clientId: 'backend',
        clientSecret: 'backend-secret',
      })
      let promise: Promise<unknown> | undefined
      expect(() => {
        promise = call(client).catch((thrown: unknown) => thrown)
      }).not.to.throw()
      const error = await promise
      expect(error).to.be.instanceOf(TypeError)
      expect((error as TypeError).message).to.equal(message)
      expect(error).not.to.have.property('cause')
      expect([standIn.tokenRequests, standIn.apiRequests]).to.deep.equal([[], []])
    })
  }
})
