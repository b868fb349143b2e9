/** Sender-constrained tokens: RFC 9449 and RFC 8705. */
import { type Check, Failed, type Level } from '../check.ts'
import type { DpopKey, ProofChanges } from '../dpop.ts'
import type { Profile } from '../driver.ts'
import { BAD_PROOF, BAD_TOKEN, equal, granted, holds, refused } from '../expect.ts'
import { encode } from '../jwt.ts'
import type { Session } from '../session.ts'

const DPOP = { level: 'MUST', profiles: ['dpop'] } as const
const BOUND = 'dpop.binds'

const confirmationOf = (claims: Readonly<Record<string, unknown>>) =>
  (typeof claims.cnf === 'object' && claims.cnf !== null ? claims.cnf : {}) as Readonly<
    Record<string, unknown>
  >

interface ProofRow {
  readonly id: string
  readonly says: string
  readonly source: string
  readonly level?: Level
  readonly changes: (key: DpopKey, session: Session) => ProofChanges | Promise<ProofChanges>
}

const now = () => Math.floor(Date.now() / 1000)

const WRONG: readonly ProofRow[] = [
  {
    id: 'url',
    says: 'A proof for another address is refused.',
    source: 'RFC 9449 §4.3, check 9',
    changes: () => ({ claims: { htu: 'https://unknown.token-exchange-suite.example/token' } }),
  },
  {
    id: 'method',
    says: 'A proof for another method is refused.',
    source: 'RFC 9449 §4.3, check 8',
    changes: () => ({ claims: { htm: 'GET' } }),
  },
  {
    id: 'old',
    says: 'A proof of an hour ago is refused.',
    source: 'RFC 9449 §4.3, check 11',
    changes: () => ({ claims: { iat: now() - 3600 } }),
  },
  {
    id: 'future',
    says: 'A proof from the future is refused, or it could be made in advance.',
    source: 'RFC 9449 §4.3, check 11',
    changes: () => ({ claims: { iat: now() + 3600 } }),
  },
  {
    id: 'id-missing',
    says: 'A proof needs a jti.',
    source: 'RFC 9449 §4.2, §4.3',
    changes: () => ({ claims: { jti: undefined } }),
  },
  {
    id: 'type',
    says: 'The proof must be of type dpop+jwt, so that no other JWT passes for it.',
    source: 'RFC 9449 §4.3, check 4',
    changes: () => ({ header: { typ: 'JWT' } }),
  },
  {
    id: 'signature',
    says: 'A proof that another key signed is refused.',
    source: 'RFC 9449 §4.3, check 6',
    changes: async (_key, session) => ({ signWith: (await session.key()).privateKey }),
  },
  {
    id: 'private-key',
    says: 'A proof that shows its private key is refused.',
    source: 'RFC 9449 §4.3, check 7',
    changes: ({ privateJwk }) => ({ header: { jwk: privateJwk } }),
  },
  {
    id: 'symmetric',
    says: 'A proof with a symmetric algorithm is refused.',
    source: 'RFC 9449 §4.3, check 5',
    changes: () => ({
      header: { alg: 'HS256', jwk: { kty: 'oct', k: Buffer.alloc(32).toString('base64url') } },
      signWith: new Uint8Array(32),
    }),
  },
]

const wrongProofs = WRONG.map(
  ({ id, says, source, changes }): Check => ({
    ...DPOP,
    id: `dpop.${id}`,
    says,
    source,
    after: BOUND,
    async run(session) {
      const key = await session.key()
      const headers = await session.proof(key, await changes(key, session))
      refused(session, await session.exchange({}, { headers }), 'invalid_dpop_proof', BAD_PROOF)
    },
  }),
)

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

/** A token that is bound to a key is of no use without the key. */
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

const MTLS = { level: 'MUST', profiles: ['mtls'] } as const

function certificateOf(session: Session) {
  const { certificate } = session.driver
  if (!certificate) throw new Failed('the profile mtls needs a certificate from the driver')
  return certificate
}

const mtls: readonly Check[] = [
  {
    ...MTLS,
    id: 'mtls.binds',
    says: "The new token is bound to the client's certificate: cnf with x5t#S256.",
    source: 'RFC 8705 §3.1',
    async run(session) {
      const { thumbprint, fetch } = certificateOf(session)
      const given = granted(await session.exchange({}, { client: session.client('mtls'), fetch }))
      equal('cnf.x5t#S256', confirmationOf(await session.claims(given))['x5t#S256'], thumbprint)
    },
  },
  {
    ...MTLS,
    id: 'mtls.required',
    says: 'A client that is registered for bound tokens gets none without its certificate.',
    source: 'RFC 8705 §3',
    after: 'mtls.binds',
    async run(session) {
      const answer = await session.exchange({}, { client: session.client('mtls') })
      refused(session, answer, ['invalid_request', 'invalid_grant', 'invalid_client'])
    },
  },
  {
    ...MTLS,
    id: 'mtls.introspection',
    says: 'Introspection shows the certificate of an opaque token.',
    source: 'RFC 8705 §3.2',
    profiles: ['mtls', 'opaque', 'introspection'],
    after: 'mtls.binds',
    async run(session) {
      const { thumbprint, fetch } = certificateOf(session)
      const target = session.targetOf('opaque')
      const given = granted(await session.exchange({}, { client: session.client('mtls'), fetch, target }))
      holds(
        confirmationOf(await session.introspect(given.token))['x5t#S256'] === thumbprint,
        'introspection does not show it',
      )
    },
  },
]

export const senderChecks: readonly Check[] = [...dpop, ...boundTokens, ...mtls]
