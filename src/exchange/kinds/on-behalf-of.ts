import { askDeployment } from '../../callbacks/policy.ts'
import { epochTime } from '../../clock.ts'
import { TOKEN_EXCHANGE } from '../../constants.ts'
import { emit } from '../../events.ts'
import type { OnBehalfOfOptions } from '../../options.ts'
import { authenticates, registeredAudiences, registeredResources } from '../../provider/client-metadata.ts'
import { recordProof } from '../../provider/grants.ts'
import { clientNotAdmitted, invalidParameter, subjectTokenRefused, targetRefused } from '../../refusals.ts'
import { assertLives } from '../consume.ts'
import { findPeople } from '../people.ts'
import { findReceivedToken, type ReceivedToken } from '../received-token.ts'
import type { Kind } from './kind.ts'

/** Access tokens that an API received (protocol.md §8): exchanged as often as it needs, until they end. */
export const onBehalfOf = ({ hops, scopes, targets }: OnBehalfOfOptions): Kind<ReceivedToken> => ({
  assertAdmitted({ oidc: { client } }, _options, { actorToken }) {
    if (actorToken) throw invalidParameter({ public: 'actor_token is not supported' })
    if (!registeredAudiences(client)) throw clientNotAdmitted({ private: 'no token_exchange_audiences' })
    if (!authenticates(client)) throw clientNotAdmitted({ private: 'the client does not authenticate' })
  },

  findSubject: (ctx, service, request) => findReceivedToken(ctx, service, request),

  findActor: (ctx, { options: { maxDelegationDepth } }, { subject }) =>
    findPeople(ctx, subject, { maxDelegationDepth, hops }),

  limitsOf({ oidc: { client } }, _options, { subject }) {
    const { audience, record } = subject
    const registered = registeredResources(client)
    return {
      assertReaches(resource, server) {
        if (registered ? !registered.includes(resource) : targets !== 'policy')
          throw targetRefused({ private: 'not among the resources of the client' })
        if (record?.resource !== undefined && targets !== 'policy')
          throw targetRefused({ private: 'the subject token was bound to a resource' })
        if (resource === audience || server.audience === audience)
          throw targetRefused({ private: 'the audience of the received token' })
        // Nothing could tie the end of an opaque token to that of the received one.
        if (server.accessTokenFormat !== 'jwt')
          throw targetRefused({ private: 'its access tokens are opaque' })
      },
      ceilings: [
        ...(record?.scope === undefined ? [] : [record.scope]),
        ...(scopes === 'policy' ? [] : [subject.scope ?? '']),
      ],
      mayAct: false,
    }
  },

  async assertAllowed(ctx, options, { subject, actor, target }) {
    const { userId, account, through, clientId, audience, scope, bound, record } = subject
    await askDeployment(options, {
      stage: 'onBehalfOf',
      userId,
      account,
      ...(actor && { actor: { sub: actor.sub, act: actor.act, clientId: actor.clientId, verified: true } }),
      client: { id: ctx.oidc.client.clientId },
      through,
      subjectToken: { clientId, audience, scope, bound },
      resource: target.resource,
      scope: target.scope,
      ...(record && {
        createdBy: { id: record.createdBy },
        context: record.context,
        subjectTokenId: record.id,
        boundTo: record.resource,
      }),
    })
  },

  grantOf: ({ record, through, claims }) => ({
    type: TOKEN_EXCHANGE,
    kind: 'onBehalfOf',
    ...(record && { subjectTokenId: record.id }),
    subjectTokenContext: record?.context ?? {},
    through,
    subjectTokenClaims: claims,
  }),

  async commit(ctx, _store, { sender, subject, draft }) {
    // Again: the deployment's functions may have outlasted it.
    if (subject.notAfter <= epochTime()) throw subjectTokenRefused({ private: 'expired meanwhile' })
    assertLives(draft)
    await recordProof(ctx, sender)
  },

  emitExchanged(provider, told, { record, through, jti }) {
    const ids = { id: record?.id, createdBy: record?.createdBy, parentJti: jti }
    emit(provider, 'access_token.exchanged', { ...told, ...ids, through })
  },

  emitRefused(provider, told, subject) {
    const { through, jti } = subject ?? {}
    emit(provider, 'access_token.refused', { stage: 'onBehalfOf', ...told, through, parentJti: jti })
  },
})
