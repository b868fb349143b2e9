import type { Provider } from 'oidc-provider'
import { endAccessToken } from '../provider/access-token.ts'
import type { SubjectToken } from '../subject-tokens/subject-token.ts'

/** A spent subject token was used again. Internal: the outcome turns it into the refusal that the client reads. */
export class ReplayedSubjectToken extends Error {
  readonly token: SubjectToken
  constructor(token: SubjectToken) {
    super('used before')
    this.token = token
  }
}

/**
 * Ends the access token of the first use, because a copy of the subject token is in circulation. Returns whether it
 * did: a JWT cannot be ended, and a failure here must not turn the refusal into something else.
 */
export async function endFirstUse(provider: Provider, { use }: SubjectToken): Promise<boolean> {
  if (use?.grantId === undefined) return false
  return endAccessToken(provider, use.grantId).then(
    () => true,
    () => false,
  )
}
