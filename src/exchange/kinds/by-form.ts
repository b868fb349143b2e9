import type { Subject } from '../subject.ts'
import { impersonation } from './impersonation.ts'
import type { Kind } from './kind.ts'

export function byForm<Walk>(
  walk: <Found extends Subject>(kind: Kind<Found>) => Walk,
): (subjectToken: string | undefined) => Walk {
  const subjectTokens = walk(impersonation)
  return () => subjectTokens
}
