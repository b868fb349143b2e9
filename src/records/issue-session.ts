/** What else is asked of a subject token that opens an application (docs/protocol.md §10.1). */
import type { Account } from 'oidc-provider'
import { invalidRequest } from '../http/errors.ts'
import type { Service } from '../provider/settings.ts'
import type { SubjectTokenPurpose } from '../subject-tokens/secret.ts'
import type { SubjectTokenDraft } from '../subject-tokens/subject-token.ts'
import { required } from './fields.ts'

/** `session` only where the deployment has sessions. */
export function parseUse(
  value: unknown,
  { isOpenToSessions }: Pick<Service, 'isOpenToSessions'>,
): SubjectTokenPurpose {
  if (value === undefined || value === 'exchange') return 'exchange'
  if (value === 'session' && isOpenToSessions) return 'session'
  const uses = isOpenToSessions ? 'exchange or session' : 'exchange'
  throw invalidRequest({ field: 'use', public: `use must be ${uses}` })
}

type Constraints = Pick<SubjectTokenDraft, 'userId' | 'clientId' | 'actorId' | 'resource'>

/** One application, and one other person. Its resources are those that the application asks for. */
export function assertSessionForm({ userId, clientId, actorId, resource }: Constraints): void {
  if (clientId === undefined) throw required('clientId')
  if (actorId === undefined) throw required('actorId')
  if (actorId === userId) throw actsAsSelf()
  if (resource !== undefined)
    throw invalidRequest({ field: 'resource', public: 'resource must not come with use session' })
}

/** Once the account is known, because `userId` may be an alias of the actor's. */
export function assertSomeoneElse({ actorId }: Constraints, { accountId }: Account): void {
  if (actorId === accountId) throw actsAsSelf()
}

const actsAsSelf = () => invalidRequest({ field: 'actorId', public: 'actorId must not be the user' })
