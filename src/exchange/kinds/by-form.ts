import type { ResolvedOptions } from '../../options.ts'
import { isSecret } from '../../subject-tokens/secret.ts'
import type { Subject } from '../subject.ts'
import { impersonation } from './impersonation.ts'
import type { Kind } from './kind.ts'
import { onBehalfOf } from './on-behalf-of.ts'

/**
 * Which kind of exchange a request is: what its subject token is decides, by its own form, and no parameter. `exchange`
 * makes the exchange of a kind.
 */
export function byForm<Exchange>(
  rules: ResolvedOptions['onBehalfOf'],
  exchange: <Found extends Subject>(kind: Kind<Found>) => Exchange,
): (subjectToken: string | undefined) => Exchange {
  const subjectTokens = exchange(impersonation)
  // While the option is off, a token of any other form is a malformed subject token.
  const accessTokens = rules ? exchange(onBehalfOf(rules)) : subjectTokens
  return (value) => (!value || isSecret(value) ? subjectTokens : accessTokens)
}
