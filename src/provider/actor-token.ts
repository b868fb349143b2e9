/** An access token of this provider as an actor token: who acts, and who acted before (protocol.md §3.3). */
import { createHash, X509Certificate } from 'node:crypto'
import { TOKEN_EXCHANGE } from '../base/constants.ts'
import { actorTokenRefused } from '../base/errors.ts'
import { isPlainObject, isStorableName } from '../base/json.ts'
import { chainOf, readAct, subsOf } from '../tokens/actor-chain.ts'
import { type ActClaim, isOfSession } from '../tokens/subject-token.ts'
import type { GrantContext } from './lib-grants.ts'
import { findOwnToken, type OwnToken } from './presented-access-token.ts'
import type { Service } from './settings.ts'

export type ActorToken = Awaited<ReturnType<typeof findActorToken>>

/** The account that acts, with those who acted through it before, and what the token demands of its sender. */
export async function findActorToken(ctx: GrantContext, service: Service, value: string) {
  const token = await findOwnToken({ ...service, ctx, refused: actorTokenRefused }, value)
  const { sub, client, scope, aud, cnf, readOnly, model } = token
  const { clientId } = client
  const { act, namesAccounts } = earlierActors(token)
  assertStorable([sub, clientId, ...subsOf(act)])
  if (client.subjectType === 'pairwise' && !namesAccounts) {
    throw actorTokenRefused({
      private: 'of a client with pairwise subjects, which cannot be mapped to accounts',
    })
  }
  const confirmation = readConfirmation(cnf)
  const actor = { sub, act, clientId, audiences: readAudiences(aud) }
  return { actor, scopes: new Set(scope?.split(' ')), confirmation, readOnly, model }
}

/**
 * Who acted before, and whether the token names people by account ids whatever the subjects of its client are. Of an
 * opaque token that was exchanged, and of a token of a session, only its record says so: the token says it as its client
 * knew these people then, and the subjects of the client may have changed since.
 */
function earlierActors({ model, record, act: claim }: OwnToken): {
  readonly act?: ActClaim
  readonly namesAccounts: boolean
} {
  if (model?.gty === TOKEN_EXCHANGE) {
    return { act: identities(subsOf(record?.use.actor)), namesAccounts: true }
  }
  if (record && isOfSession(record))
    return { act: identities(subsOf(record.use.actor)), namesAccounts: model !== undefined }
  const read = readAct(claim)
  if (!read || read.apis.length > 0) throw actorTokenRefused({ private: 'a malformed act claim' })
  const act = identities(read.people)
  return { act, namesAccounts: model !== undefined && act === undefined }
}

const identities = (people: readonly string[]): ActClaim | undefined =>
  chainOf(people.map((sub) => ({ sub })))

/** The record of the spend holds these names: one that no store can keep would fail every time. */
function assertStorable(names: readonly string[]): void {
  if (!names.every(isStorableName)) throw actorTokenRefused({ private: 'a name that cannot be stored' })
}

/** The key the token is bound to (RFC 7800): a DPoP key, a certificate, or none. */
function readConfirmation(cnf: unknown): { readonly jkt?: string; readonly thumbprint?: string } {
  if (cnf === undefined) return {}
  const { jkt, 'x5t#S256': thumbprint, ...unknown } = isPlainObject(cnf) ? cnf : {}
  // A kind of key that this request cannot prove is a key that was not proven.
  if (
    !isTextOrAbsent(jkt) ||
    !isTextOrAbsent(thumbprint) ||
    (jkt ?? thumbprint) === undefined ||
    !isEmpty(unknown)
  )
    throw actorTokenRefused({ private: 'bound to an unknown kind of key' })
  return { jkt, thumbprint }
}

const isTextOrAbsent = (member: unknown): member is string | undefined =>
  member === undefined || typeof member === 'string'

const isEmpty = (members: object): boolean => Object.keys(members).length === 0

/** All audiences (RFC 7519 §4.1.3), because each of them has seen the token. `[]` for none. */
function readAudiences(value: unknown): readonly string[] {
  const audiences: readonly unknown[] = Array.isArray(value) ? value : value === undefined ? [] : [value]
  const names = audiences.filter((audience) => typeof audience === 'string')
  if (names.length < audiences.length) throw actorTokenRefused({ private: 'a malformed aud claim' })
  return names
}

/**
 * The `x5t#S256` of a client certificate (RFC 8705 §3.1): parsed, as PEM, or as the bare base64 that proxies pass on.
 * Read the way the provider reads it when it binds a token, so that both get the same value.
 */
export function certificateThumbprint(certificate: string | X509Certificate | undefined): string | undefined {
  if (!certificate) return undefined
  const der =
    certificate instanceof X509Certificate
      ? certificate.raw
      : Buffer.from(certificate.replace(/-----(BEGIN|END) CERTIFICATE-----|\s|=/g, ''), 'base64')
  return createHash('sha256').update(der).digest('base64url')
}
