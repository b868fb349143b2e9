import { TOKEN_EXCHANGE } from '../../constants.ts'
import { emit } from '../../events.ts'
import { registeredAudiences, registeredResources } from '../../provider/client-metadata.ts'
import { invalidParameter, subjectTokenRefused, targetRefused } from '../../refusals.ts'
import { findActor } from '../actor.ts'
import { consume } from '../consume.ts'
import { findPermission, type Permission } from '../permission.ts'
import { assertExchangeAllowed } from '../policy.ts'
import type { Kind } from './kind.ts'

/** Subject tokens of the management API (protocol.md §3): spent by the exchange. */
export const impersonation: Kind<Permission> = {
  assertAdmitted({ oidc: { client } }, { requireActor }, { actorToken }) {
    if (requireActor && !actorToken)
      throw invalidParameter({ check: 'requireActor', public: 'actor_token is required' })
    // One client on either side only: what it may do as an API must not add up with what it may do as an application.
    if (registeredAudiences(client)) throw subjectTokenRefused({ private: 'the client is an API' })
  },

  findSubject: (ctx, { store }, { subjectToken }) => findPermission(ctx, store, subjectToken),

  findActor: (ctx, service, { actorToken, sender, subject }) =>
    findActor(ctx, service, {
      actorToken,
      sender,
      subject,
      maxDelegationDepth: service.options.maxDelegationDepth,
    }),

  limitsOf({ oidc: { client } }, { maxDelegationDepth }, { subject: { record }, actor }) {
    const allowed = registeredResources(client)
    return {
      assertReaches(resource) {
        if (allowed && !allowed.includes(resource))
          throw targetRefused({ private: 'not among the resources of the client' })
        if (record.resource !== undefined && record.resource !== resource)
          throw subjectTokenRefused({ private: 'bound to another resource' })
      },
      ceilings: record.scope === undefined ? [] : [record.scope],
      mayAct: actor !== undefined && maxDelegationDepth > 1,
    }
  },

  assertAllowed: assertExchangeAllowed,

  grantOf: ({ record }) => ({
    type: TOKEN_EXCHANGE,
    kind: 'impersonation',
    subjectTokenId: record.id,
    subjectTokenContext: record.context,
  }),

  commit: consume,

  emitExchanged(provider, told, { record: { id, createdBy } }) {
    emit(provider, 'subject_token.exchanged', { ...told, id, createdBy })
  },

  emitRefused(provider, told) {
    emit(provider, 'subject_token.refused', { stage: 'exchange', ...told })
  },
}
