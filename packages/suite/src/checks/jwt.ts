/** The token that was issued, and as a JWT: RFC 9068. */
import type { Check } from '../check.ts'
import { equal, granted, holds } from '../expect.ts'
import { type ReadJwt, readJwt } from '../jwt.ts'
import type { Session } from '../session.ts'

const JWT = { level: 'MUST', profiles: ['jwt'] } as const

async function jwtOf(session: Session): Promise<ReadJwt> {
  const jwt = readJwt((await session.sample()).token)
  holds(jwt !== undefined, 'the token is not a JWT')
  return jwt
}

export const jwtChecks: readonly Check[] = [
  {
    ...JWT,
    id: 'jwt.signature',
    says: "The token is a JWT whose signature the server's published keys verify.",
    source: 'RFC 9068 §2.1, §4',
    async run(session) {
      await session.verify(await session.sample())
    },
  },
  {
    ...JWT,
    id: 'jwt.type',
    says: 'The header has typ at+jwt, so that nothing else passes for an access token.',
    source: 'RFC 9068 §2.1',
    async run(session) {
      const { header } = await jwtOf(session)
      const type = String(header.typ).toLowerCase()
      holds(type === 'at+jwt' || type === 'application/at+jwt', `typ is "${String(header.typ)}"`)
    },
  },
  {
    ...JWT,
    id: 'jwt.algorithm',
    says: 'The algorithm is asymmetric.',
    source: 'RFC 9068 §2.1',
    async run(session) {
      const { header } = await jwtOf(session)
      holds(!/^(none|HS\d+)$/i.test(String(header.alg)), `alg is ${String(header.alg)}`)
    },
  },
  {
    ...JWT,
    id: 'jwt.claims',
    says: 'iss, exp, aud, sub, client_id, iat and jti are required.',
    source: 'RFC 9068 §2.2',
    async run(session) {
      const { payload } = await jwtOf(session)
      const required = ['iss', 'exp', 'aud', 'sub', 'client_id', 'iat', 'jti']
      const missing = required.filter((name) => payload[name] === undefined)
      holds(missing.length === 0, `the token lacks ${missing.join(', ')}`)
    },
  },
  {
    ...JWT,
    id: 'jwt.issuer',
    says: 'iss is the issuer, character by character.',
    source: 'RFC 9068 §2.2, §4',
    async run(session) {
      equal('iss', (await jwtOf(session)).payload.iss, session.driver.issuer)
    },
  },
  {
    ...JWT,
    id: 'jwt.client',
    says: 'client_id is the client that exchanged.',
    source: 'RFC 9068 §2.2, RFC 8693 §4.3',
    async run(session) {
      equal('client_id', (await jwtOf(session)).payload.client_id, session.client('main').id)
    },
  },
  {
    ...JWT,
    id: 'jwt.id-unique',
    says: 'Two tokens have two jti.',
    source: 'RFC 9068 §2.2, RFC 7519 §4.1.7',
    async run(session) {
      const other = readJwt(granted(await session.exchange()).token)
      holds(other?.payload.jti !== (await jwtOf(session)).payload.jti, 'jti is used twice')
    },
  },
  {
    ...JWT,
    id: 'jwt.times',
    says: 'iat is now, exp lies behind it, and both are seconds.',
    source: 'RFC 9068 §2.2, RFC 7519 §2',
    async run(session) {
      const { iat, exp } = (await jwtOf(session)).payload
      const now = Date.now() / 1000
      holds(typeof iat === 'number' && Math.abs(iat - now) < 300, `iat is ${String(iat)}`)
      holds(typeof exp === 'number' && exp > iat && exp - iat < 31_536_000, `exp is ${String(exp)}`)
    },
  },
  {
    id: 'token.subject',
    says: 'sub is the person of the subject token.',
    source: 'RFC 8693 §1.1, RFC 9068 §2.2',
    level: 'MUST',
    async run(session) {
      equal('sub', (await session.claims(await session.sample())).sub, session.driver.subject)
    },
  },
  {
    id: 'token.not-the-client',
    says: 'sub is not the id of the client: an API could not tell the user from the client.',
    source: 'RFC 9068 §5',
    level: 'SHOULD',
    async run(session) {
      const { sub } = await session.claims(await session.sample())
      holds(sub !== session.client('main').id, 'sub is the id of the client')
    },
  },
  {
    id: 'token.no-subject-token',
    says: 'The new token does not carry the subject token.',
    source: 'RFC 8693 §5',
    level: 'BCP',
    async run(session) {
      const subject = await session.subject('valid')
      const given = granted(
        await session.exchange({ subject_token: subject.token, subject_token_type: subject.type }),
      )
      holds(
        !JSON.stringify(await session.claims(given)).includes(subject.token),
        'the subject token is inside',
      )
    },
  },
]
