/** Proofs with one thing wrong: RFC 9449 §4.3. */
import type { Check, Level } from '../check.ts'
import type { DpopKey, ProofChanges } from '../dpop.ts'
import { BAD_PROOF, refused } from '../expect.ts'
import type { Session } from '../session.ts'

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

export const wrongProofs: readonly Check[] = WRONG.map(
  ({ id, says, source, changes }): Check => ({
    level: 'MUST',
    profiles: ['dpop'],
    id: `dpop.${id}`,
    says,
    source,
    after: 'dpop.binds',
    async run(session) {
      const key = await session.key()
      const headers = await session.proof(key, await changes(key, session))
      refused(session, await session.exchange({}, { headers }), 'invalid_dpop_proof', BAD_PROOF)
    },
  }),
)
