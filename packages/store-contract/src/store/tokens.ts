/** Tokens and uses for the tests of a store, each test with an issuer of its own. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type {
  Acknowledgement,
  ActClaim,
  NewSubjectToken,
  Replay,
  Revocation,
  Revoked,
  SpentSubjectToken,
  StoredSubjectToken,
  SubjectTokenFilter,
  SubjectTokenStore,
  SubjectTokenUse,
} from 'oidc-provider-impersonation'
import { hashToken, mintId, mintToken } from 'oidc-provider-impersonation/inside'

/** A store under test. */
export interface StoreSubject {
  readonly store: SubjectTokenStore
  /** Called after each test. */
  close?(): Promise<void> | void
}

export type Test = (title: string, body: (subject: StoreSubject) => Promise<void>) => void

export const NOW = Math.floor(Date.now() / 1000)

/** The end of a session of these tests, unless they say another. */
export const ENDS_AT = NOW + 600
/** After the end of each. */
export const LATER = NOW + 100_000

export const BY_API: Revocation = { cause: 'api', client: 'backend' }
export const BY_KILL: Revocation = { cause: 'api', client: 'backend', by: 'carol', reason: 'a leak' }
export const THIEF: Replay = { at: NOW, clientId: 'thief' }

let minted = 0
/** Ids of one millisecond. */
const SEQUENCES = 0x1_0000

/** An id as it would have been minted then; later calls sort after earlier ones of the same second. */
function idAt(at: number): string {
  minted += 1
  const millisecond = at * 1000 + (Math.floor(minted / SEQUENCES) % 1000)
  const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0')
  return hex(millisecond, 12) + hex(minted % SEQUENCES, 4) + mintId().slice(16)
}

export type Tokens = ReturnType<typeof tokensIn>

export const newUse = (changes: Partial<SubjectTokenUse> = {}): SubjectTokenUse => ({
  at: NOW,
  clientId: 'spa',
  resource: 'https://api.example.com',
  accessToken: { format: 'jwt', expiresAt: NOW + 600 },
  ...changes,
})

/** A use that no other token has: by a chain of three actors, for an opaque access token of a grant. */
export const useOf = ({ id }: { readonly id: string }): SubjectTokenUse =>
  newUse({
    actor: chainOf([`newest ${id}`, `middle ${id}`, `oldest ${id}`]),
    accessToken: { format: 'opaque', expiresAt: NOW + 300 },
    grantId: `grant ${id}`,
  })

/** Inserts tokens of one issuer, which no other test knows. */
export function tokensIn(store: SubjectTokenStore, issuer = `https://${randomUUID()}.example.com`) {
  const newToken = (changes: Partial<NewSubjectToken> = {}): NewSubjectToken => {
    const id = changes.id ?? idAt(changes.createdAt ?? NOW)
    return {
      id,
      tokenHash: hashToken(mintToken(id)),
      issuer,
      purpose: 'exchange',
      userId: 'alice',
      context: {},
      createdBy: 'backend',
      createdAt: NOW,
      expiresAt: NOW + 600,
      ...changes,
    }
  }
  /** The token of this id, which must be there. */
  const stored = async (id: string): Promise<StoredSubjectToken> =>
    (await store.find(issuer, id)) ?? assert.fail('a token that was inserted is not found')
  /** The acknowledgements in its record. */
  const acknowledgementsOf = async (id: string): Promise<readonly Acknowledgement[] | undefined> => {
    const { tokens } = await store.list(issuer, { id }, { limit: 1, now: NOW })
    return (tokens[0] ?? assert.fail('a token that was inserted is not listed by its id')).acknowledged
  }
  /** The token of this id, which must have been spent. */
  const spent = async (id: string): Promise<SpentSubjectToken> => {
    const { use, ...token } = await stored(id)
    return { ...token, use: use ?? assert.fail('a token that was spent shows no use') }
  }
  /** Inserted, and found. */
  const insert = async (changes?: Partial<NewSubjectToken>): Promise<StoredSubjectToken> => {
    const token = newToken(changes)
    await store.insert(token)
    return stored(token.id)
  }
  /** Inserted, spent, and found. */
  const spend = async (use?: Partial<SubjectTokenUse>, changes?: Partial<NewSubjectToken>) => {
    const token = await insert(changes)
    assert.equal(await store.consume(token, NOW, newUse(use)), true, 'an active token was not spent')
    return spent(token.id)
  }
  /** Inserted, with names of its own. */
  const named = (changes?: Partial<NewSubjectToken>): Promise<StoredSubjectToken> => {
    const { id } = newToken()
    const names = { userId: `user ${id}`, actorId: `newest ${id}`, createdBy: `backend ${id}` }
    return insert({ id, ...names, ...changes })
  }
  /** Inserted, with names of its own, and spent with a use of its own. */
  const acted = async (): Promise<StoredSubjectToken> => {
    const token = await named()
    assert.equal(await store.consume(token, NOW, useOf(token)), true, 'an active token was not spent')
    return stored(token.id)
  }
  /** Page by page, of two. */
  const listed = async (filter: SubjectTokenFilter, now = NOW): Promise<string[]> => {
    const ids: string[] = []
    for (let cursor: string | undefined; ; ) {
      const page = await store.list(issuer, filter, {
        limit: 2,
        now,
        ...(cursor !== undefined && { cursor }),
      })
      ids.push(...page.tokens.map(({ id }) => id))
      if (page.next === undefined) return ids
      assert.notEqual(page.next, cursor, 'a cursor must move')
      cursor = page.next
    }
  }
  /** Asserts that exactly these are listed, in this order. */
  const assertListed = async (
    filter: SubjectTokenFilter,
    ids: readonly string[],
    now = NOW,
  ): Promise<void> => {
    const found = await listed(filter, now)
    const fault = found.some((id) => !ids.includes(id))
      ? 'has a token that does not fit'
      : ids.some((id) => !found.includes(id))
        ? 'misses a token that fits'
        : 'has a token twice, or in another place'
    assert.deepEqual(found, ids, `the list by ${JSON.stringify(filter)} ${fault}`)
  }
  return {
    store,
    issuer,
    newToken,
    insert,
    spend,
    named,
    acted,
    stored,
    acknowledgementsOf,
    spent,
    listed,
    assertListed,
  }
}

/** A chain of actors, newest first. */
export function chainOf([sub = '', ...further]: readonly string[]): ActClaim {
  return { sub, ...(further.length > 0 && { act: chainOf(further) }) }
}

/** All that a kill switch yields. */
export async function all(batches: AsyncIterable<readonly Revoked[]>): Promise<Revoked[]> {
  const revoked: Revoked[] = []
  for await (const batch of batches) revoked.push(...batch)
  return revoked
}

/** In their order. */
export const idsIn = (found: readonly { readonly id: string }[]): string[] => found.map(({ id }) => id)

export const idsOf = (revoked: readonly Revoked[]): string[] => revoked.map(({ token }) => token.id).sort()

export async function total(slices: AsyncIterable<number>): Promise<number> {
  let sum = 0
  for await (const slice of slices) sum += slice
  return sum
}

/** Asserts that a call rejects with an error, and that no member of it quotes one of these. */
export async function assertRejects(call: Promise<unknown>, hashes: readonly string[]): Promise<void> {
  const error: unknown = await call.then(
    (answer) => assert.fail(`storage cannot have done it, and answered ${JSON.stringify(answer)}`),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof Error, 'what it rejects with is no Error')
  const text = JSON.stringify(error, Object.getOwnPropertyNames(error))
  for (const hash of hashes) assert.ok(!text.includes(hash), 'an error must not contain a hash')
}
