/** Subject and actor tokens that must be refused: the same rules for both. */
import { type Check, Failed, type Level, Skipped } from '../check.ts'
import type { Profile, TokenKind } from '../driver.ts'
import { BAD_TOKEN, refused } from '../expect.ts'
import type { Answer } from '../http.ts'
import { readJwt } from '../jwt.ts'
import type { Session } from '../session.ts'
import { FORGERIES, type ForgeryRow } from './forgeries.ts'

type Role = 'subject' | 'actor'

/** Sends a token in the given role, with everything else valid. */
function present(session: Session, role: Role, token: string, type: string): Promise<Answer> {
  return session.exchange({ [`${role}_token`]: token, [`${role}_token_type`]: type })
}

const of = (session: Session, role: Role, kind: TokenKind) =>
  role === 'subject' ? session.subject(kind) : session.actor(kind)

interface KindRow {
  readonly kind: TokenKind
  readonly says: string
  readonly source: string
  readonly level?: Level
  readonly roles?: readonly Role[]
  readonly profiles?: readonly Profile[]
}

const KINDS: readonly KindRow[] = [
  { kind: 'expired', says: 'An expired token is refused.', source: 'RFC 8693 §2.2.2' },
  {
    kind: 'just-expired',
    says: 'A server needs no leeway for its own tokens: one that ended a moment ago is refused.',
    source: 'RFC 8693 §2.2.2, RFC 7662 §2.2',
    level: 'SHOULD',
  },
  {
    kind: 'revoked',
    says: 'A revoked token is refused.',
    source: 'RFC 8693 §2.2.2, RFC 7009 §2.1; CVE-2026-9097',
  },
  {
    kind: 'other-issuer',
    says: 'A token of another issuer is refused, also if it looks alike.',
    source: 'RFC 8693 §2.1, RFC 9068 §4; CVE-2025-55241',
  },
  { kind: 'id-token', says: 'An ID token is not an access token.', source: 'RFC 8693 §2.1, RFC 9068 §2.1' },
  { kind: 'refresh-token', says: 'A refresh token is not an access token.', source: 'RFC 8693 §2.1' },
  {
    kind: 'client',
    says: "A client's own token does not speak for a user.",
    source: 'RFC 9068 §5, RFC 9700 §4.15',
    level: 'BCP',
  },
  {
    kind: 'user-gone',
    says: 'A token of an account that was deleted or disabled is refused.',
    source: 'RFC 8693 §2.2.2, CWE-613',
    level: 'BCP',
  },
  {
    kind: 'other-client',
    says: 'A subject token that was issued for another client is refused.',
    source: 'RFC 9700 §2.3; CVE-2026-56668',
    level: 'BCP',
    roles: ['subject'],
  },
  {
    kind: 'other-audience',
    says: 'An API may exchange only tokens that were meant for itself.',
    source: 'RFC 9700 §2.3, RFC 9068 §4; CVE-2026-56668',
    level: 'BCP',
    roles: ['subject'],
    profiles: ['on-behalf-of'],
  },
  {
    kind: 'other-resource',
    says: 'A subject token that is limited to another resource is refused.',
    source: 'RFC 8707 §2',
    roles: ['subject'],
  },
]

const kindCheck = (role: Role, { kind, says, source, level = 'MUST', profiles = [] }: KindRow): Check => ({
  id: `${role}.${kind}`,
  says,
  source,
  level,
  profiles: role === 'actor' ? ['delegation', ...profiles] : profiles,
  ...(role === 'actor' && { after: 'delegation.accepted' }),
  async run(session) {
    const { token, type } = await of(session, role, kind)
    const codes = kind === 'other-resource' ? ['invalid_request', 'invalid_target'] : 'invalid_request'
    refused(session, await present(session, role, token, type), codes, BAD_TOKEN)
  },
})

/** Strings that are not tokens of the server, made from one that is. */
function altered(token: string): string[] {
  const middle = Math.floor(token.length * 0.6)
  const flipped = token[middle] === 'A' ? 'B' : 'A'
  const swapped = token.replaceAll(/[a-z]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  )
  return [
    `${token.slice(0, middle)}${flipped}${token.slice(middle + 1)}`,
    token.slice(0, -8),
    `${token}AAAA`,
    swapped,
  ]
}

const alteredCheck = (role: Role): Check => ({
  id: `${role}.altered`,
  says: 'A token with a character changed, cut or added is refused, and so is one in other letters.',
  source: 'RFC 8693 §2.2.2',
  level: 'MUST',
  ...(role === 'actor' && { profiles: ['delegation'], after: 'delegation.accepted' }),
  async run(session) {
    const { token, type } = await of(session, role, 'valid')
    for (const text of altered(token))
      refused(session, await present(session, role, text, type), 'invalid_request', BAD_TOKEN)
  },
})

const unknownCheck = (role: Role): Check => ({
  id: `${role}.unknown`,
  says: 'A token that the server never issued is refused with invalid_request.',
  source: 'RFC 8693 §2.2.2; keycloak#52691',
  level: 'MUST',
  ...(role === 'actor' && { profiles: ['delegation'] }),
  async run(session) {
    const { type } = await of(session, role, 'valid')
    for (const text of ['unknown', 'e30.e30.e30', '.', '..', 'null', 'undefined', '0'])
      refused(session, await present(session, role, text, type), 'invalid_request', BAD_TOKEN)
  },
})

const forgeryCheck = (role: Role, { id, says, source, level, forgery }: ForgeryRow): Check => ({
  id: `${role}.${id}`,
  says,
  source,
  level,
  ...(role === 'actor' && { profiles: ['delegation'], after: 'delegation.accepted' }),
  async run(session) {
    const { token, type } = await of(session, role, 'valid')
    const jwt = readJwt(token)
    if (!jwt) throw new Skipped(`the ${role} token is opaque`)
    const forged = forgery(jwt, await session.keys())
    if (forged.length === 0) throw new Skipped(`does not apply to ${String(jwt.header.alg)}`)
    for (const text of forged) {
      const answer = await present(session, role, text, type)
      if (answer.body?.access_token !== undefined) throw new Failed('a forged token was accepted')
      refused(session, answer, 'invalid_request', BAD_TOKEN)
    }
  },
})

const checksOf = (role: Role): Check[] => [
  unknownCheck(role),
  alteredCheck(role),
  ...KINDS.filter(({ roles }) => !roles || roles.includes(role)).map((row) => kindCheck(role, row)),
  ...FORGERIES.map((row) => forgeryCheck(role, row)),
]

export const subjectChecks: readonly Check[] = checksOf('subject')
export const actorChecks: readonly Check[] = checksOf('actor')
