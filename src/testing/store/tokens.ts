/** Tokens and uses for the tests of a store, each test with an issuer of its own. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { earliestId, mintId } from '../../subject-tokens/id.ts'
import { hashSecret, mintSecret } from '../../subject-tokens/secret.ts'
import type { SubjectTokenFilter, SubjectTokenStore } from '../../subject-tokens/store.ts'
import type {
  ActClaim,
  NewSubjectToken,
  Revocation,
  SubjectToken,
  SubjectTokenUse,
} from '../../subject-tokens/subject-token.ts'

/** A store under test. */
export interface StoreSubject {
  readonly store: SubjectTokenStore
  /** Called after each test. */
  close?(): Promise<void> | void
}

export type Test = (title: string, body: (subject: StoreSubject) => Promise<void>) => void

export const NOW = Math.floor(Date.now() / 1000)

export const BY_API: Revocation = { cause: 'api', client: 'backend' }

let minted = 0

/** An id as it would have been minted then; later calls sort after earlier ones of the same second. */
function idAt(at: number): string {
  minted += 1
  return earliestId(at).slice(0, 12) + (minted % 0x1_0000).toString(16).padStart(4, '0') + mintId().slice(16)
}

/** Inserts tokens of one issuer that no other test knows. */
export function tokensIn(store: SubjectTokenStore) {
  const issuer = `https://${randomUUID()}.example.com`

  const newToken = (changes: Partial<NewSubjectToken> = {}): NewSubjectToken => ({
    id: idAt(changes.createdAt ?? NOW),
    tokenHash: hashSecret(mintSecret()),
    issuer,
    userId: 'alice',
    context: {},
    createdBy: 'backend',
    createdAt: NOW,
    expiresAt: NOW + 600,
    ...changes,
  })
  const newUse = (changes: Partial<SubjectTokenUse> = {}): SubjectTokenUse => ({
    at: NOW,
    clientId: 'spa',
    resource: 'https://api.example.com',
    accessToken: { format: 'jwt', expiresAt: NOW + 600 },
    ...changes,
  })
  const insert = async (changes?: Partial<NewSubjectToken>): Promise<NewSubjectToken> => {
    const token = newToken(changes)
    await store.insert(token)
    return token
  }
  const spend = async (use?: Partial<SubjectTokenUse>, changes?: Partial<NewSubjectToken>) => {
    const token = await insert(changes)
    await store.consume(issuer, token.tokenHash, NOW, newUse(use))
    return token
  }
  /** The token of this id, which must be there. */
  const stored = async (id: string): Promise<SubjectToken> =>
    (await store.get(issuer, id)) ?? assert.fail('not found')
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
  return { issuer, newToken, newUse, insert, spend, stored, listed }
}

/** A chain of actors, newest first. */
export function chainOf([sub = '', ...further]: readonly string[]): ActClaim {
  return { sub, ...(further.length > 0 && { act: chainOf(further) }) }
}
