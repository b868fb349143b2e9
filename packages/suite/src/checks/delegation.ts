/** Who acts: RFC 8693 §1.1 and §4.1. */
import { type Check, Skipped } from '../check.ts'
import { ID_TOKEN } from '../constants.ts'
import { actOf, BAD_TOKEN, equal, granted, holds, refused } from '../expect.ts'
import type { Session } from '../session.ts'

function told<Value>(value: Value | undefined, name: string): Value {
  if (value === undefined) throw new Skipped(`the driver does not name ${name}`)
  return value
}

/** Claims that say something about a token, and nothing about who acts. */
const NOT_IDENTITY = ['exp', 'nbf', 'iat', 'aud', 'jti', 'scope']

const claimsOf = async (session: Session) => session.claims(granted(await session.delegated()))

export const delegationChecks: readonly Check[] = [
  {
    id: 'delegation.accepted',
    says: 'A valid request with an actor token is granted.',
    source: 'RFC 8693 §2.1',
    level: 'MUST',
    profiles: ['delegation'],
    async run(session) {
      granted(await session.delegated())
    },
  },
  {
    id: 'delegation.act',
    says: 'act names the person of the actor token, and no one else.',
    source: 'RFC 8693 §4.1',
    level: 'MUST',
    profiles: ['delegation'],
    after: 'delegation.accepted',
    async run(session) {
      const act = actOf(await claimsOf(session))
      holds(act !== undefined, 'the token has no act')
      equal('act.sub', act.sub, told(session.driver.actor, 'actor'))
    },
  },
  {
    id: 'delegation.subject',
    says: 'sub stays the person of the subject token.',
    source: 'RFC 8693 §4.1',
    level: 'MUST',
    profiles: ['delegation'],
    after: 'delegation.accepted',
    async run(session) {
      equal('sub', (await claimsOf(session)).sub, session.driver.subject)
    },
  },
  {
    id: 'delegation.act-identity',
    says: 'act has claims about the identity of the actor only.',
    source: 'RFC 8693 §4.1',
    level: 'SHOULD',
    profiles: ['delegation'],
    after: 'delegation.accepted',
    async run(session) {
      const act = actOf(await claimsOf(session)) ?? {}
      const found = NOT_IDENTITY.filter((name) => act[name] !== undefined)
      holds(found.length === 0, `act has ${found.join(', ')}`)
    },
  },
  {
    id: 'delegation.impersonation',
    says: 'Without an actor token there is no act: the token is that of the user (impersonation).',
    source: 'RFC 8693 §1.1',
    level: 'MUST',
    profiles: ['delegation'],
    async run(session) {
      if (session.driver.actorRequired) throw new Skipped('the server requires an actor token')
      const { act } = await session.claims(await session.sample())
      holds(act === undefined, 'the token has an act that no actor token asked for')
    },
  },
  {
    id: 'delegation.act-not-sent',
    says: 'A client cannot name an actor by sending claims as parameters.',
    source: 'RFC 8693 §2.1',
    level: 'MUST',
    profiles: ['delegation'],
    after: 'delegation.accepted',
    async run(session) {
      const sent = { act: '{"sub":"someone-else"}', 'act.sub': 'someone-else', sub: 'someone-else' }
      const actor = await session.actorParameters('valid')
      const answer = await session.exchange({ ...actor, ...sent })
      if (answer.status === 400) return
      const claims = await session.claims(granted(answer))
      equal('act.sub', actOf(claims)?.sub, told(session.driver.actor, 'actor'))
      equal('sub', claims.sub, session.driver.subject)
    },
  },
  {
    id: 'delegation.actor-repeated',
    says: 'actor_token must not be sent more than once.',
    source: 'RFC 6749 §3.2',
    level: 'MUST',
    profiles: ['delegation'],
    after: 'delegation.accepted',
    async run(session) {
      const { token, type } = await session.actor('valid')
      const actor = { actor_token: [token, token], actor_token_type: type }
      refused(session, await session.exchange(actor), 'invalid_request')
    },
  },
  {
    id: 'delegation.actor-declared-id-token',
    says: 'An actor token is validated as the type it is declared to be.',
    source: 'RFC 8693 §2.1',
    level: 'MUST',
    profiles: ['delegation'],
    after: 'delegation.accepted',
    async run(session) {
      const { token } = await session.actor('valid')
      const answer = await session.exchange({ actor_token: token, actor_token_type: ID_TOKEN })
      refused(session, answer, 'invalid_request', BAD_TOKEN)
    },
  },
  {
    id: 'delegation.may-act',
    says: 'A subject token that names who may act is refused with another actor, and without any.',
    source: 'RFC 8693 §4.4',
    level: 'MUST',
    profiles: ['delegation'],
    after: 'delegation.accepted',
    async run(session) {
      const actors = [await session.actorParameters('valid'), ...(session.driver.actorRequired ? [] : [{}])]
      for (const actor of actors) {
        const subject = await session.subjectParameters('other-actor')
        refused(session, await session.exchange({ ...subject, ...actor }), 'invalid_request', BAD_TOKEN)
      }
    },
  },
  {
    id: 'delegation.bad-actor-never-ignored',
    says: 'An actor token that is not valid is never left aside: the result would be an impersonation.',
    source: 'RFC 8693 §2.2.2',
    level: 'MUST',
    profiles: ['delegation'],
    async run(session) {
      const { type } = await session.actor('valid')
      const answer = await session.exchange({ actor_token: 'unknown', actor_token_type: type })
      holds(answer.body?.access_token === undefined, 'the exchange was granted as if no actor had been sent')
    },
  },
]

export const chainChecks: readonly Check[] = [
  {
    id: 'chains.nested',
    says: 'A chain nests: the newest actor outermost, the earlier one in its act.',
    source: 'RFC 8693 §4.1',
    level: 'MUST',
    profiles: ['delegation', 'chains'],
    after: 'delegation.accepted',
    async run(session) {
      const claims = await session.claims(granted(await session.delegated('chain')))
      const act = actOf(claims)
      holds(act !== undefined, 'the token has no act')
      const earlier = told(session.driver.earlierActor, 'earlierActor')
      equal('act.sub', act.sub, told(session.driver.actor, 'actor'))
      equal('act.act.sub', actOf(act)?.sub, earlier)
      equal('act.act.act', actOf(act)?.act, undefined)
    },
  },
]
