import { readToken, sameHash } from './secret.ts'
import type { SubjectTokenStore } from './store.ts'
import type { SubjectToken, SubjectTokenPurpose } from './subject-token.ts'

/**
 * The record of a token that someone presents, in any state. `malformed`: it has not the form of a token, and nothing was
 * looked up; `unknown`: no record has it. A right id proves nothing, nor does a token for another purpose.
 */
export async function findPresented(
  store: Pick<SubjectTokenStore, 'find'>,
  issuer: string,
  presented: string,
  purpose: SubjectTokenPurpose,
): Promise<SubjectToken | 'malformed' | 'unknown'> {
  const token = readToken(presented)
  if (!token) return 'malformed'
  const found = await store.find(issuer, token.id)
  return found?.purpose === purpose && sameHash(found.tokenHash, token.hash) ? found : 'unknown'
}
