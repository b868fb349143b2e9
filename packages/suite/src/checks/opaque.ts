/** Opaque tokens: RFC 6749 §10.10, and what introspection says of them (RFC 7662). */
import type { Check } from '../check.ts'
import { audiencesOf, equal, granted, holds, scopesOf } from '../expect.ts'
import { readJwt } from '../jwt.ts'
import type { Session } from '../session.ts'

export const opaqueChecks: readonly Check[] = [
  {
    id: 'opaque.issued',
    says: 'The opaque target is served, and its token type is issued.',
    source: 'RFC 8693 §2.2.1',
    level: 'MUST',
    profiles: ['opaque'],
    async run(session) {
      const { token } = granted(await session.exchange({}, { target: session.targetOf('opaque') }))
      holds(readJwt(token) === undefined, 'the token is a JWT')
    },
  },
  {
    id: 'opaque.unguessable',
    says: 'An opaque token has at least 128 bits that change from token to token.',
    source: 'RFC 6749 §10.10',
    level: 'MUST',
    profiles: ['opaque'],
    async run(session) {
      const target = session.targetOf('opaque')
      const one = granted(await session.exchange({}, { target })).token
      const other = granted(await session.exchange({}, { target })).token
      const different = [...one].filter((character, index) => character !== other[index]).length
      holds(different >= 18, `only ${different} characters differ`)
    },
  },
]

const INTROSPECTION = { level: 'MUST', profiles: ['introspection', 'opaque'] } as const

async function opaqueToken(session: Session): Promise<string> {
  return granted(await session.exchange({}, { target: session.targetOf('opaque') })).token
}

export const introspectionChecks: readonly Check[] = [
  {
    ...INTROSPECTION,
    id: 'introspection.active',
    says: 'A token that was issued is active, with its subject, client, audience, scope and expiry.',
    source: 'RFC 7662 §2.2',
    async run(session) {
      const target = session.targetOf('opaque')
      const claims = await session.introspect(await opaqueToken(session))
      equal('active', claims.active, true)
      equal('sub', claims.sub, session.driver.subject)
      equal('client_id', claims.client_id, session.client('main').id)
      equal('scope', scopesOf(claims.scope).join(' '), target.scopes[0])
      equal('aud', audiencesOf(claims)[0], target.audience)
      holds(typeof claims.exp === 'number' && claims.exp > Date.now() / 1000, 'exp does not lie ahead')
    },
  },
  {
    ...INTROSPECTION,
    id: 'introspection.act',
    says: 'The actor is shown at introspection, too.',
    source: 'RFC 8693 §4.1',
    profiles: ['introspection', 'opaque', 'delegation'],
    after: 'delegation.accepted',
    async run(session) {
      const target = session.targetOf('opaque')
      const actor = await session.actorParameters('valid')
      const given = granted(await session.exchange(actor, { target }))
      const { act } = await session.introspect(given.token)
      equal('act.sub', (act as { sub?: unknown } | undefined)?.sub, session.driver.actor)
    },
  },
  {
    ...INTROSPECTION,
    id: 'introspection.unknown',
    says: 'Of a token that is not active introspection says nothing but that.',
    source: 'RFC 7662 §2.2',
    level: 'SHOULD',
    async run(session) {
      const claims = await session.introspect('token-exchange-suite-unknown')
      equal('the response', JSON.stringify(claims), '{"active":false}')
    },
  },
  {
    ...INTROSPECTION,
    id: 'introspection.unauthenticated',
    says: 'Introspection requires authorization, so that no one can try tokens.',
    source: 'RFC 7662 §2.1',
    async run(session) {
      const { status } = await session.introspectionRequest({ token: await opaqueToken(session) }, {})
      holds(status === 401 || status === 400 || status === 403, `the status is ${status}`)
    },
  },
  {
    ...INTROSPECTION,
    id: 'introspection.no-store',
    says: 'What introspection says is not cached by accident.',
    source: 'RFC 7662 §4',
    level: 'BCP',
    async run(session) {
      const { headers } = await session.introspection(await opaqueToken(session))
      holds(
        /no-store|max-age|no-cache/i.test(headers.get('cache-control') ?? ''),
        'there is no Cache-Control',
      )
    },
  },
  {
    ...INTROSPECTION,
    id: 'introspection.subject-token',
    says: 'A permission to exchange is not an access token.',
    source: 'RFC 7662 §2.2',
    profiles: ['introspection', 'management-token'],
    async run(session) {
      const { token } = await session.subject('valid')
      equal('active', (await session.introspect(token)).active, false)
    },
  },
]
