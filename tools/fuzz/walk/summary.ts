/** The summary (docs/protocol.md §2.2), of a walk that knows of every record. */
import { expect } from 'chai'
import { now } from '../../../fixtures/clock.ts'
import { expectResponse } from '../oracles.ts'
import { isViewed, type Token } from './model.ts'
import type { Walk } from './walk.ts'

const DAY = 86_400
/** Seconds that a count may be old: those of recent days, of which alone the walk has records. */
const AGE = 60

/** Returns what reads the summary of both issuers, and compares it. */
export function summaries(walk: Walk): (days: number) => Promise<void> {
  const remembered = new Map<string, { readonly value: unknown; readonly at: number }>()
  /** It may be the one that was shown before, as long as that is not too old: what is as it is now may be counted anew. */
  const expectCount = (name: string, shown: unknown, current: unknown) => {
    const known = remembered.get(name)
    const isOld = known && now() - known.at <= AGE && isSame(shown, known.value)
    if (isOld && !isSame(shown, current)) return
    expect(shown, `the summary of ${name}`).to.deep.equal(current)
    remembered.set(name, { value: shown, at: now() })
  }
  return async (days) => {
    const [lane] = walk.lanes
    if (!lane) return
    for (const issuer of [0, 1] as const) {
      const response = await walk.manage(lane, issuer, { method: 'GET', path: `/summary?days=${days}` })
      expectResponse(walk.world.secrets, response, [200])
      const tokens = walk.lanes
        .flatMap((one) => one.tokens)
        .filter((token) => token.issuer === issuer && !token.purged)
      const { live, days: shown, ...rest } = response.body
      expect(rest).to.deep.equal({})
      expect(shown).to.have.lengthOf(days)
      for (const [index, one] of shown.entries()) {
        const date = dateOf(now() - (days - 1 - index) * DAY)
        const created = tokens.filter(({ createdAt }) => dateOf(createdAt) === date)
        expectCount(`${issuer} ${date}`, one, { date, ...countsOf(created) })
      }
      const lives = tokens.filter((token) => isViewed(token, now()))
      expectCount(`${issuer} live`, live, lives.length)
    }
  }
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

const dateOf = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 10)

function countsOf(tokens: readonly Token[]): object {
  const count = (passes: (token: Token) => boolean) => tokens.filter(passes).length
  return {
    issued: tokens.length,
    exchanged: count(({ use }) => use !== undefined),
    withoutActor: count(({ use }) => use !== undefined && !use.actor),
    revoked: count(({ revokedAt }) => revokedAt !== undefined),
    ended: 0,
    replayed: count(({ replay }) => replay !== undefined),
  }
}
