/** The client that exchanges: RFC 6749 §3.2.1 and §5.2. */
import { type Check, Skipped } from '../check.ts'
import { equal, holds, refused } from '../expect.ts'

export const clientChecks: readonly Check[] = [
  {
    id: 'client.no-credentials',
    says: 'A confidential client that leaves its credentials out is refused with invalid_client.',
    source: 'RFC 6749 §3.2.1, §5.2',
    level: 'MUST',
    async run(session) {
      const { id, secret, authenticate } = session.client('main')
      if (secret === undefined && !authenticate) throw new Skipped('the client is public')
      refused(session, await session.exchange({}, { client: { id } }), 'invalid_client')
    },
  },
  {
    id: 'client.wrong-secret',
    says: 'A client that authenticates by Basic with a wrong secret gets 401 and a Basic challenge.',
    source: 'RFC 6749 §5.2',
    level: 'MUST',
    async run(session) {
      const { id, secret } = session.client('main')
      if (secret === undefined) throw new Skipped('the client does not authenticate by a secret')
      const answer = await session.exchange({}, { client: { id, secret: 'not-the-secret' } })
      refused(session, answer, 'invalid_client')
      equal('the status', answer.status, 401)
      const challenge = answer.headers.get('www-authenticate') ?? ''
      holds(/^basic/i.test(challenge), 'the response lacks WWW-Authenticate: Basic')
    },
  },
  {
    id: 'client.unknown',
    says: 'An unknown client is refused with invalid_client.',
    source: 'RFC 6749 §5.2',
    level: 'MUST',
    async run(session) {
      const unknown = { id: 'token-exchange-suite-unknown', secret: 'token-exchange-suite-unknown' }
      refused(session, await session.exchange({}, { client: unknown }), 'invalid_client')
    },
  },
  {
    id: 'client.without-grant',
    says: 'A client that is not authorized for the grant is refused with unauthorized_client.',
    source: 'RFC 6749 §5.2',
    level: 'MUST',
    async run(session) {
      const answer = await session.exchange({}, { client: session.client('withoutGrant') })
      refused(session, answer, 'unauthorized_client', {
        invalid_request: 'grant-not-allowed',
        invalid_client: 'grant-not-allowed',
      })
    },
  },
]
