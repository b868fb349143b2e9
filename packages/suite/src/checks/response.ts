/** The response of a granted request: RFC 8693 §2.2.1, and what RFC 6749 §5.1 says of every token response. */
import type { Check } from '../check.ts'
import { ACCESS_TOKEN } from '../constants.ts'
import { equal, granted, holds } from '../expect.ts'

export const responseChecks: readonly Check[] = [
  {
    id: 'response.json',
    says: 'The response is a JSON object, and declared as such.',
    source: 'RFC 6749 §5.1',
    level: 'MUST',
    async run(session) {
      const { answer } = await session.sample()
      holds(
        /^application\/json\b/i.test(answer.headers.get('content-type') ?? ''),
        'it is not application/json',
      )
    },
  },
  {
    id: 'response.no-store',
    says: 'The response carries Cache-Control: no-store.',
    source: 'RFC 6749 §5.1',
    level: 'MUST',
    async run(session) {
      const { answer } = await session.sample()
      holds(/\bno-store\b/i.test(answer.headers.get('cache-control') ?? ''), 'Cache-Control lacks no-store')
    },
  },
  {
    id: 'response.pragma',
    says: 'The response carries Pragma: no-cache.',
    source: 'RFC 6749 §5.1',
    level: 'MUST',
    async run(session) {
      const { answer } = await session.sample()
      if (!/\bno-cache\b/i.test(answer.headers.get('pragma') ?? '')) session.deviates('no-pragma')
    },
  },
  {
    id: 'response.issued-token-type',
    says: 'issued_token_type is required, and names the type of what was issued: here an access token.',
    source: 'RFC 8693 §2.2.1',
    level: 'MUST',
    async run(session) {
      const { answer } = await session.sample()
      equal('issued_token_type', answer.body?.issued_token_type, ACCESS_TOKEN)
    },
  },
  {
    id: 'response.token-type',
    says: 'token_type is required, and Bearer for a token that is bound to no key.',
    source: 'RFC 8693 §2.2.1, RFC 6750 §4',
    level: 'MUST',
    async run(session) {
      const { answer } = await session.sample()
      equal('token_type', String(answer.body?.token_type).toLowerCase(), 'bearer')
    },
  },
  {
    id: 'response.expires-in',
    says: 'expires_in is recommended: a positive number of seconds.',
    source: 'RFC 8693 §2.2.1',
    level: 'SHOULD',
    async run(session) {
      const { answer } = await session.sample()
      const seconds = answer.body?.expires_in
      holds(typeof seconds === 'number' && seconds > 0, 'expires_in is not a positive number')
    },
  },
  {
    id: 'response.expiry-true',
    says: 'expires_in and the expiry of the token agree, to a few seconds.',
    source: 'RFC 6749 §5.1',
    level: 'MUST',
    async run(session) {
      const sample = await session.sample()
      const { exp } = await session.claims(sample)
      const left = Number(exp) - Date.now() / 1000
      const told = Number(sample.answer.body?.expires_in)
      holds(Math.abs(left - told) < 60, `expires_in is ${told}, but ${Math.round(left)} seconds are left`)
    },
  },
  {
    id: 'response.no-refresh-token',
    says: 'A refresh token is not issued where the subject token limits how long access lasts.',
    source: 'RFC 8693 §2.2.1',
    level: 'BCP',
    async run(session) {
      const { answer } = await session.sample()
      holds(answer.body?.refresh_token === undefined, 'there is a refresh_token')
    },
  },
  {
    id: 'response.no-refresh-by-scope',
    says: 'Asking for offline_access does not turn an exchange into lasting access.',
    source: 'RFC 8693 §2.2.1',
    level: 'BCP',
    async run(session) {
      const scope = `${session.target.scopes[0]} offline_access`
      const answer = await session.exchange({ scope })
      holds(answer.body?.refresh_token === undefined, 'there is a refresh_token')
    },
  },
  {
    id: 'response.scope-told',
    says: 'The response names the scope if it differs from the one that was requested.',
    source: 'RFC 8693 §2.2.1',
    level: 'MUST',
    async run(session) {
      const answer = await session.exchange({ scope: `${session.target.scopes[0]} token-exchange-suite` })
      if (answer.status !== 200) return
      const { body } = granted(answer).answer
      holds(body?.scope !== undefined, 'the response does not say which scope was granted')
    },
  },
  {
    id: 'response.tokens-differ',
    says: 'Two exchanges issue two tokens.',
    source: 'RFC 6749 §10.10',
    level: 'MUST',
    async run(session) {
      const { token } = granted(await session.exchange())
      holds(token !== (await session.sample()).token, 'the same token was issued twice')
    },
  },
]
