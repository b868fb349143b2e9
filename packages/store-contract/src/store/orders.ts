/** The order of a spend and its stops: judged by what each call answered, and by what is found afterwards. */

import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import type {
  KillFilter,
  Revocation,
  Revoked,
  RevokedToken,
  SpentSubjectToken,
  StoredSubjectToken,
  SubjectToken,
  SubjectTokenStore,
  SubjectTokenUse,
} from 'oidc-provider-impersonation'
import { isLive } from 'oidc-provider-impersonation/inside'
import { type Call, isBefore } from './meet.ts'
import { all, BY_API, chainOf, NOW, tokensIn, total } from './tokens.ts'

/** A spend: the use that it was to record, and whether it won. */
export interface Spend {
  readonly use: SubjectTokenUse
  readonly won: boolean
}

/** A stop: how it was to be recorded, and what it returned of the token. */
export interface Stop {
  readonly why: Revocation
  readonly returned: readonly Revoked[]
}

export const BY_KILL: Revocation = { cause: 'api', client: 'backend', by: 'carol', reason: 'a leak' }

/** Tokens with names of their own, and the calls that meet. Each begins in the turn in which it is made. */
export function callsIn(store: SubjectTokenStore) {
  const tokens = tokensIn(store)
  const { issuer, newToken, newUse, insert } = tokens
  const useOf = ({ id }: SubjectToken): SubjectTokenUse =>
    newUse({
      actor: chainOf([`newest ${id}`, `middle ${id}`, `oldest ${id}`]),
      accessToken: { format: 'opaque', expiresAt: NOW + 300 },
      grantId: `grant ${id}`,
    })
  const named = async (): Promise<StoredSubjectToken> => {
    const { id } = newToken()
    return insert({ id, userId: `user ${id}`, actorId: `newest ${id}`, createdBy: `backend ${id}` })
  }
  const spent = async () => {
    const token = await named()
    assert.equal(await store.consume(token, NOW, useOf(token)), true, 'an active token was not spent')
    return tokens.spent(token.id)
  }
  /** Spent without an actor. */
  const spentAlone = async () => {
    const { id } = newToken()
    return tokens.spend(
      { accessToken: { format: 'opaque', expiresAt: NOW + 300 }, grantId: `grant ${id}` },
      { id, userId: `user ${id}` },
    )
  }
  const spend =
    (changes: Partial<SubjectTokenUse> = {}) =>
    async (token: SubjectToken): Promise<Spend> => {
      const use = { ...useOf(token), ...changes }
      return { use, won: await store.consume(token, NOW, use) }
    }
  const revoke =
    (why = BY_API) =>
    async ({ id }: SubjectToken): Promise<Stop> => {
      const revoked = await store.revoke(issuer, id, NOW, why)
      return { why, returned: [revoked ?? assert.fail('a revocation did not return a token that is there')] }
    }
  const kill =
    (filterOf: (token: SubjectToken) => KillFilter, why = BY_KILL) =>
    async (token: SubjectToken): Promise<Stop> => {
      const yielded = await all(store.revokeWhere(issuer, filterOf(token), NOW, why))
      return { why, returned: yielded.filter((one) => one.token.id === token.id) }
    }
  /** What lists, counts and status lists show of all tokens of the issuer agrees with the records. */
  const assertShown = async (): Promise<void> => {
    const { tokens: found } = await store.list(issuer, {}, { limit: 100, now: NOW })
    const live = found.filter((token) => isLive(token, NOW)).map(({ id }) => id)
    assert.deepEqual(
      await tokens.listed({ live: true }),
      live,
      'the list of what lives differs from the records',
    )
    assert.equal(await total(store.countLive(issuer, NOW)), live.length, 'the count of what lives differs')
    const stopped = found.filter(({ revokedAt }) => revokedAt !== undefined)
    const ids = await tokens.listed({ state: 'revoked' })
    assert.deepEqual(
      ids,
      stopped.map(({ id }) => id),
      'the list of what was stopped differs from the records',
    )
    const shown = stopped.flatMap(({ statusIndex, use }) =>
      use ? [{ statusIndex, expiresAt: use.accessToken.expiresAt }] : [],
    )
    const byIndex = (one: { statusIndex: number }, other: { statusIndex: number }) =>
      one.statusIndex - other.statusIndex
    assert.deepEqual(
      [...(await store.findStopped(issuer, NOW))].sort(byIndex),
      shown.sort(byIndex),
      'status lists show something else than the records',
    )
  }
  return { ...tokens, useOf, named, spent, spentAlone, spend, revoke, kill, assertShown }
}

/**
 * Either the spend was first: it won, and every stop returned its use. Or a stop was first: no spend won, and no stop
 * returned a use. `found` is the token after all of them.
 */
export function assertOrder(
  found: SubjectToken,
  spends: readonly Call<Spend>[],
  stops: readonly Call<Stop>[],
): void {
  const [winner, ...others] = spends.filter(({ answer }) => answer.won)
  assert.equal(others.length, 0, 'one token was spent more than once')
  for (const stop of stops)
    for (const { token } of stop.answer.returned) {
      assertUse(stop, token, winner)
      assert.deepEqual(
        token.revocation,
        found.revocation,
        'a stop returned another cause than the record has',
      )
    }
  if (!winner)
    for (const spend of spends)
      assert.ok(
        stops.some((stop) => !isBefore(spend, stop)),
        'an active token was not spent, although no stop had begun',
      )
  assert.deepEqual(
    found.use,
    winner?.answer.use,
    'the record has another use than that of the spend that won',
  )
  const reasons = stops.filter(({ answer }) => answer.returned.length > 0).map(({ answer }) => answer.why)
  if (reasons.length === 0) return
  // A kill switch may take its time.
  assert.ok(Number(found.revokedAt) >= NOW, 'a stop has returned a token, and the record is not stopped')
  assert.ok(
    reasons.some((why) => isDeepStrictEqual(why, found.revocation)),
    'the record was stopped for a reason that no one gave',
  )
}

function assertUse(stop: Call<Stop>, { use }: RevokedToken, winner: Call<Spend> | undefined): void {
  if (!winner) {
    assert.equal(use, undefined, 'a stop returned a use, and no spend was told that it won')
    return
  }
  if (!use && isBefore(stop, winner))
    assert.fail('a stop returned without a use, and the token was spent after it')
  if (!use && isBefore(winner, stop)) assert.fail('a stop that began after the spend did not return its use')
  if (!use) assert.fail('a spend won beside a stop that did not return its use: neither of them was first')
  assert.deepEqual(endOf(use), endOf(winner.answer.use), 'a stop returned another use than that of the spend')
}

/** What a stop returns of a use. */
const endOf = ({ clientId, accessToken, grantId, actor }: NonNullable<RevokedToken['use']>) => ({
  clientId,
  accessToken,
  grantId,
  actor: actor?.sub,
})

/** The spend that was before all of a meeting. */
export const spendOf = ({ use }: SpentSubjectToken): Call<Spend> => ({
  answer: { use, won: true },
  began: 0,
  ended: 0,
})
