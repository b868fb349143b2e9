/** The rules of this deployment: who may be impersonated, and what the access token says about it. */
import type { Sequelize } from 'sequelize'
// Yours: 'oidc-provider-impersonation' and 'oidc-provider-impersonation/sequelize'.
import { createImpersonation, type Impersonation } from '../src/index.ts'
import { createSubjectTokenStore } from '../src/sequelize/index.ts'
import { findPerson, isSupport, isViewable } from './accounts.ts'

/** Seconds. The orders API refuses a token that was stopped after this time and two seconds at the latest. */
export const STATUS_LIST_TTL = 5

/** Where engineers bring subject tokens that open an application. */
const doorAt = (baseUrl: string): string => `${baseUrl}/impersonate`

export function impersonationOf(sequelize: Sequelize, baseUrl: string): Impersonation {
  return createImpersonation({
    store: createSubjectTokenStore(sequelize),
    requiredContext: ['reason', 'ticketId'],
    // Every access token names the engineer.
    requireActor: true,
    statusList: { ttl: STATUS_LIST_TTL },
    sessions: {
      door: doorAt(baseUrl),
      // An application stays open for five minutes, even if no one stops it.
      ttl: 300,
      nameOf: (ids) => new Map(ids.map((id) => [id, findPerson(id)?.name ?? id])),
    },
    // The orders API may exchange what it received for a token of the payments: its `token_exchange_resources` says so,
    // and the backend names both APIs as `resource`.
    onBehalfOf: true,
    // Called when the subject token is issued, again when it is exchanged or opens an application, and for each token that an API exchanges.
    isAllowed: (request) => {
      // A customer's own token goes where `token_exchange_resources` of the API says.
      if (request.stage === 'onBehalfOf' && request.subjectTokenId === undefined) return true
      const { userId, actor, readOnly, context } = request
      // To look needs a reason, to change things a second one.
      if (readOnly !== true && typeof context?.writeReason !== 'string') return false
      return isViewable(userId) && actor !== undefined && isSupport(actor.sub)
    },
    getCustomJwtClaims: ({ context }) => {
      const { subjectTokenId, subjectTokenContext } = context.grant
      // The token of a customer that an API passes on: no one views anything.
      if (subjectTokenId === undefined) return {}
      const { reason, ticketId } = subjectTokenContext
      // The id leads from the log of an API to the record.
      return { impersonation: { id: subjectTokenId, reason, ticket_id: ticketId } }
    },
  })
}
