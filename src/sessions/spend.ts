/**
 * The one conditional write, by the last call of the provider before it saves the code: everything that can refuse has run,
 * and of any number of requests, browsers and processes one gets in.
 */
import type { AuthorizationCode, KoaContextWithOIDC } from 'oidc-provider'
import { epochTime } from '../base/clock.ts'
import { sessionRefused } from '../base/errors.ts'
import { withoutUndefined } from '../base/json.ts'
import { emit } from '../events.ts'
import { countSession } from '../metrics/metrics.ts'
import { requestOf } from '../provider/failures.ts'
import type { SubjectTokenUse } from '../tokens/subject-token.ts'
import { telling } from './arrival.ts'
import { canBeTold } from './client-opt-in.ts'
import { assertCarried, saveHeadlessGrant } from './provider.ts'
import type { Arrival } from './request.ts'
import type { SessionService } from './service.ts'

export const spend = (
  ctx: KoaContextWithOIDC,
  service: SessionService,
  arrival: Arrival,
  code: AuthorizationCode,
): Promise<void> => telling(ctx, () => spendRecord(ctx, service, arrival, code))

async function spendRecord(
  ctx: KoaContextWithOIDC,
  { provider, store, watch }: SessionService,
  arrival: Arrival,
  code: AuthorizationCode,
): Promise<void> {
  const { record, actorId, clientId, grant, session, scope, resources, endsAt } = arrival
  assertCarried(ctx, arrival, code)
  assertTtl(code)
  const now = epochTime()
  if (endsAt <= now) throw sessionRefused({ private: 'the session would have ended before it began' })
  if (!(await store.consume(record, now, useOf(ctx, now, arrival))))
    throw sessionRefused({ private: 'used or stopped meanwhile' })
  // Only now: who has lost must not overwrite what the winner keeps under the same names.
  grant.iat = now
  grant.exp = endsAt
  await saveHeadlessGrant(grant)
  await session.save(endsAt - now)
  watch.opened(endsAt)
  countSession('done')
  emit(provider, 'subject_token.exchanged', {
    kind: 'session',
    id: record.id,
    userId: record.userId,
    createdBy: record.createdBy,
    clientId,
    resources,
    actor: { sub: actorId },
    scope: scope === '' ? undefined : scope,
    readOnly: record.readOnly,
    accessToken: { format: 'session', expiresAt: endsAt },
    request: requestOf(ctx),
  })
}

/** Asks the deployment's `ttl`, which may throw, and after the spend must not. */
const assertTtl = (code: AuthorizationCode): void => void Reflect.get(code, 'expiration')

function useOf({ oidc }: KoaContextWithOIDC, at: number, arrival: Arrival): SubjectTokenUse {
  const { actorId, clientId, grant, scope, resources, endsAt } = arrival
  return withoutUndefined<SubjectTokenUse>({
    at,
    clientId,
    actor: { sub: actorId },
    resource: resources.length > 0 ? resources : undefined,
    scope: scope === '' ? undefined : scope,
    accessToken: { format: 'session', expiresAt: endsAt },
    grantId: grant.jti,
    session: { logout: oidc.client && canBeTold(oidc.client) ? 'pending' : 'unsupported' },
  })
}
