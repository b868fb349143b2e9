/** Tokens that are bound to a key by DPoP: RFC 9449. */
import { type Check, Failed } from '../check.ts'
import type { DpopKey } from '../dpop.ts'
import type { Profile } from '../driver.ts'
import { BAD_PROOF, BAD_TOKEN, equal, granted, refused } from '../expect.ts'
import { encode } from '../jwt.ts'
import type { Session } from '../session.ts'
import { confirmationOf } from './confirmation.ts'
import { wrongProofs } from './dpop-proofs.ts'

const DPOP = { level: 'MUST', profiles: ['dpop'] } as const
const BOUND = 'dpop.binds'

async function boundClaims(session: Session, format: 'jwt' | 'opaque', key: DpopKey) {
  const answer = await session.exchange(
    {},
    { headers: await session.proof(key), target: session.targetOf(format) },
  )
  return session.claims(granted(answer))
}

const dpop: readonly Check[] = [
  {
    ...DPOP,
    id: BOUND,
    says: 'A proof binds the new token to its key: cnf.jkt, and token_type DPoP.',
    source: 'RFC 9449 §5, §6.1',
    async run(session) {
      const key = await session.key()
      const given = granted(await session.exchange({}, { headers: await session.proof(key) }))
      equal('token_type', String(given.answer.body?.token_type).toLowerCase(), 'dpop')
      equal('cnf.jkt', confirmationOf(await session.claims(given)).jkt, key.jkt)
    },
  },
  {
    ...DPOP,
    id: 'dpop.introspection',
    says: 'Introspection shows the key of an opaque token.',
    source: 'RFC 9449 §6.2',
    profiles: ['dpop', 'opaque', 'introspection'],
    after: BOUND,
    async run(session) {
      const key = await session.key()
      equal('cnf.jkt', confirmationOf(await boundClaims(session, 'opaque', key)).jkt, key.jkt)
    },
  },
  ...wrongProofs,
  {
    ...DPOP,
    id: 'dpop.unsigned',
    says: 'A proof with the algorithm none is refused.',
    source: 'RFC 9449 §4.3, check 5',
    after: BOUND,
    async run(session) {
      const key = await session.key()
      const [, body] = (await key.proof('POST', session.driver.tokenEndpoint)).split('.')
      const head = encode({ alg: 'none', typ: 'dpop+jwt', jwk: key.publicJwk })
      const headers = { dpop: `${head}.${body}.` }
      refused(session, await session.exchange({}, { headers }), 'invalid_dpop_proof', BAD_PROOF)
    },
  },
  {
    ...DPOP,
    id: 'dpop.malformed',
    says: 'What is not a proof is refused, not ignored.',
    source: 'RFC 9449 §4.3, checks 1 and 2',
    after: BOUND,
    async run(session) {
      const key = await session.key()
      const one = await key.proof('POST', session.driver.tokenEndpoint)
      for (const text of ['not-a-proof', `${one}, ${one}`])
        refused(
          session,
          await session.exchange({}, { headers: { dpop: text } }),
          'invalid_dpop_proof',
          BAD_PROOF,
        )
    },
  },
  {
    ...DPOP,
    id: 'dpop.replay',
    says: 'A proof is accepted once.',
    source: 'RFC 9449 §11.1',
    level: 'SHOULD',
    after: BOUND,
    async run(session) {
      const headers = await session.proof(await session.key())
      granted(await session.exchange({}, { headers }))
      refused(session, await session.exchange({}, { headers }), 'invalid_dpop_proof', BAD_PROOF)
    },
  },
  {
    ...DPOP,
    id: 'dpop.replay-race',
    says: 'Of eight requests with one proof at the same moment exactly one is granted.',
    source: 'RFC 9449 §11.1, CWE-367',
    level: 'SHOULD',
    after: BOUND,
    load: true,
    async run(session) {
      const headers = await session.proof(await session.key())
      const parameters = await Promise.all(Array.from({ length: 8 }, () => session.parameters()))
      const answers = await Promise.all(parameters.map((one) => session.post(one, { headers })))
      const won = answers.filter(({ body }) => body?.access_token !== undefined).length
      if (won !== 1) throw new Failed(`${won} of 8 requests were granted`)
    },
  },
  {
    ...DPOP,
    id: 'dpop.required',
    says: 'A client that is registered for bound tokens gets none without a proof.',
    source: 'RFC 9449 §5.2',
    after: BOUND,
    async run(session) {
      const answer = await session.exchange({}, { client: session.client('dpop') })
      refused(session, answer, ['invalid_request', 'invalid_grant', 'invalid_dpop_proof'])
    },
  },
]

const boundTokens = (['subject', 'actor'] as const).map((role): Check => {
  const profiles: Profile[] = role === 'actor' ? ['dpop', 'delegation'] : ['dpop', 'access-token']
  return {
    ...DPOP,
    id: `dpop.bound-${role}`,
    says: `A bound ${role} token is taken with a proof of its key only.`,
    source: 'RFC 9449 §7, RFC 7800 §3',
    profiles,
    after: BOUND,
    async run(session) {
      const [key, other] = [await session.key(), await session.key()]
      const bound = () =>
        role === 'subject' ? session.subjectParameters('bound', key) : session.actorParameters('bound', key)
      granted(await session.exchange(await bound(), { headers: await session.proof(key) }))
      const codes = ['invalid_request', 'invalid_dpop_proof']
      refused(session, await session.exchange(await bound()), codes, BAD_TOKEN)
      const headers = await session.proof(other)
      refused(session, await session.exchange(await bound(), { headers }), codes, BAD_TOKEN)
    },
  }
})

export const dpopChecks: readonly Check[] = [...dpop, ...boundTokens]
