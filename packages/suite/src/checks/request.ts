/** The request: RFC 8693 §2.1 on top of RFC 6749 §3.2. */
import type { Check, Level } from '../check.ts'
import { ACCESS_TOKEN, ID_TOKEN, REFRESH_TOKEN, SAML2 } from '../constants.ts'
import { BAD_TOKEN, equal, granted, holds, refused, turnedAway } from '../expect.ts'
import { credentials, form, type Parameters, send } from '../http.ts'

interface Row {
  readonly id: string
  readonly says: string
  readonly source: string
  readonly level?: Level
  readonly changes: Parameters
  readonly codes?: string | readonly string[]
}

/** One thing is wrong with an otherwise valid request. */
const WRONG: readonly Row[] = [
  {
    id: 'request.grant-type-missing',
    says: 'grant_type is required.',
    source: 'RFC 8693 §2.1',
    changes: { grant_type: null },
    codes: ['invalid_request', 'unsupported_grant_type'],
  },
  {
    id: 'request.grant-type-case',
    says: 'The name of the grant is compared exactly.',
    source: 'RFC 6749 §5.2',
    changes: { grant_type: 'URN:IETF:params:oauth:grant-type:token-exchange' },
    codes: ['unsupported_grant_type', 'invalid_request'],
  },
  {
    id: 'request.subject-token-missing',
    says: 'subject_token is required.',
    source: 'RFC 8693 §2.1',
    changes: { subject_token: null },
  },
  {
    id: 'request.subject-token-empty',
    says: 'A parameter without a value counts as omitted.',
    source: 'RFC 6749 §3.2',
    changes: { subject_token: '' },
  },
  {
    id: 'request.subject-type-missing',
    says: 'subject_token_type is required.',
    source: 'RFC 8693 §2.1',
    changes: { subject_token_type: null },
  },
  {
    id: 'request.subject-type-unknown',
    says: 'A subject token of a type that the server does not know is refused.',
    source: 'RFC 8693 §2.2.2',
    changes: { subject_token_type: 'urn:example:token-type:unknown' },
  },
  {
    id: 'request.actor-token-missing',
    says: 'actor_token_type must not be sent without actor_token.',
    source: 'RFC 8693 §2.1',
    changes: { actor_token: null, actor_token_type: ACCESS_TOKEN },
  },
]

const wrong = WRONG.map(
  ({ id, says, source, level = 'MUST', changes, codes = 'invalid_request' }): Check => ({
    id,
    says,
    source,
    level,
    async run(session) {
      refused(session, await session.exchange(changes), codes)
    },
  }),
)

const REPEATED = ['grant_type', 'subject_token', 'subject_token_type', 'scope', 'requested_token_type']

const repeated = REPEATED.map(
  (name): Check => ({
    id: `request.${name.replaceAll('_', '-')}-repeated`,
    says: `${name} must not be sent more than once, not even with the same value.`,
    source: 'RFC 6749 §3.2',
    level: 'MUST',
    async run(session) {
      const parameters = await session.parameters({ requested_token_type: ACCESS_TOKEN })
      const value = parameters[name]
      const twice = typeof value === 'string' ? [value, value] : value
      refused(session, await session.post({ ...parameters, [name]: twice }), 'invalid_request')
    },
  }),
)

/** The token is what it is, whatever the request says. */
const declared = [
  ['id-token', ID_TOKEN],
  ['refresh-token', REFRESH_TOKEN],
  ['saml', SAML2],
].map(
  ([name = '', type]): Check => ({
    id: `request.subject-declared-${name}`,
    says: 'The server validates a token as the type it is declared to be, and refuses it if it is another.',
    source: 'RFC 8693 §2.1',
    level: 'MUST',
    async run(session) {
      refused(session, await session.exchange({ subject_token_type: type }), 'invalid_request', BAD_TOKEN)
    },
  }),
)

const other: readonly Check[] = [
  {
    id: 'request.actor-type-missing',
    says: 'actor_token_type is required when actor_token is present.',
    source: 'RFC 8693 §2.1',
    level: 'MUST',
    async run(session) {
      const token = session.profiles.has('delegation')
        ? (await session.actor('valid')).token
        : 'an-actor-token'
      const answer = await session.exchange({ actor_token: token, actor_token_type: null })
      refused(session, answer, 'invalid_request')
    },
  },
  {
    id: 'request.by-get',
    says: 'The token endpoint is used by POST: a GET issues nothing.',
    source: 'RFC 6749 §3.2',
    level: 'MUST',
    async run(session) {
      const proof = await credentials(session.client('main'))
      const query = form({ ...proof.parameters, ...(await session.parameters()) })
      const url = `${session.driver.tokenEndpoint}?${query}`
      turnedAway(await send(session.driver.fetch ?? fetch, url, { headers: proof.headers }))
    },
  },
  {
    id: 'request.token-in-query',
    says: 'Tokens are taken from the body only, because addresses end up in logs.',
    source: 'RFC 6749 §3.2, RFC 9700 §4.3.2',
    level: 'BCP',
    async run(session) {
      const proof = await credentials(session.client('main'))
      const { subject_token: token, ...parameters } = await session.parameters()
      const url = `${session.driver.tokenEndpoint}?${form({ subject_token: token })}`
      const body = form({ ...proof.parameters, ...parameters })
      turnedAway(
        await send(session.driver.fetch ?? fetch, url, { method: 'POST', headers: proof.headers, body }),
      )
    },
  },
  {
    id: 'request.unknown-parameter',
    says: 'Parameters that the server does not know are ignored.',
    source: 'RFC 6749 §3.2',
    level: 'MUST',
    async run(session) {
      granted(await session.exchange({ token_exchange_suite: 'anything' }))
    },
  },
  {
    id: 'request.requested-type',
    says: 'requested_token_type may name the access token, which is then issued.',
    source: 'RFC 8693 §2.1',
    level: 'MUST',
    async run(session) {
      const { answer } = granted(await session.exchange({ requested_token_type: ACCESS_TOKEN }))
      equal('issued_token_type', answer.body?.issued_token_type, ACCESS_TOKEN)
    },
  },
  {
    id: 'request.requested-type-unknown',
    says: 'A requested token type that the server cannot issue is refused, or issued_token_type names another.',
    source: 'RFC 8693 §2.1, §2.2.1',
    level: 'MUST',
    async run(session) {
      const type = 'urn:example:token-type:unknown'
      const answer = await session.exchange({ requested_token_type: type })
      if (answer.status !== 200) return refused(session, answer, 'invalid_request')
      const issued = answer.body?.issued_token_type
      holds(typeof issued === 'string' && issued !== type, 'issued_token_type does not name what was issued')
      session.deviates('requested-type-not-honoured')
    },
  },
  {
    id: 'request.oversized-token',
    says: 'A token of 100 kB is refused, and is not a failure of the server.',
    source: 'RFC 6749 §5.2',
    level: 'BCP',
    async run(session) {
      turnedAway(await session.exchange({ subject_token: 'x'.repeat(100_000) }))
    },
  },
  {
    id: 'request.odd-characters',
    says: 'Control characters and other scripts in a token are refused, and are not a failure of the server.',
    source: 'RFC 6749 §5.2',
    level: 'BCP',
    async run(session) {
      for (const subject_token of ['a\u0000b', 'a\r\nb', '\u{1F600}', '%00', '{"a":1}', "' OR 1=1 --"])
        turnedAway(await session.exchange({ subject_token }))
    },
  },
]

const accepted: Check = {
  id: 'request.accepted',
  says: 'A valid request is granted.',
  source: 'RFC 8693 §2.2.1',
  level: 'MUST',
  async run(session) {
    await session.sample()
  },
}

export const requestChecks: readonly Check[] = [accepted, ...wrong, ...repeated, ...declared, ...other]
