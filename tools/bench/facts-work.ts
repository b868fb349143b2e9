/** What is measured: issues, exchanges and stops through the store, as many at once as a busy server has. */
import type { Sequelize } from 'sequelize'
import { type Database, type DatabaseKind, openDatabase } from '../../fixtures/databases.ts'
import { epochTime } from '../../src/base/clock.ts'
import { databaseOf } from '../../src/sequelize/drivers.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { placesOf } from '../../src/sequelize/tokens/place.ts'
import { mintId } from '../../src/tokens/id.ts'
import { hashToken, mintToken } from '../../src/tokens/secret.ts'
import type { SubjectTokenStore } from '../../src/tokens/store.ts'
import type { SubjectTokenDraft } from '../../src/tokens/subject-token.ts'
import { API, ISSUER, SCOPE } from './deployment.ts'
import { APPLICATION, BACKEND, BY_WHO_ACTED, ENGINEER, fill, type Shape } from './facts-fill.ts'

const AT_ONCE = 16

/** What stops many at once outlives the limit of one statement. */
const PATIENCE = 30

/** A database with rows in it. */
export interface Filled {
  readonly database: Database
  readonly sequelize: Sequelize
  readonly store: SubjectTokenStore
  readonly find: ReturnType<typeof databaseOf>['find']
}

export async function withFilled(
  kind: DatabaseKind,
  shape: Shape,
  work: (filled: Filled) => Promise<void>,
): Promise<void> {
  const database = await openDatabase(kind)
  try {
    const { sequelize } = database
    const direct = databaseOf(sequelize, PATIENCE)
    const { number } = await placesOf(direct)(ISSUER)
    await fill(direct, number, shape)
    const store = createSubjectTokenStore(sequelize, { timeout: PATIENCE })
    await work({ database, sequelize, store, find: direct.find })
  } finally {
    await database.close()
  }
}

/** `constrained`: both the client and the actor. */
export async function issueMany(
  { store }: Pick<Filled, 'store'>,
  count: number,
  { constrained = false } = {},
): Promise<readonly SubjectTokenDraft[]> {
  const createdAt = epochTime()
  const drafts = Array.from(
    { length: count },
    (_, index): SubjectTokenDraft => ({
      id: mintId(),
      issuer: ISSUER,
      purpose: 'exchange',
      userId: `user-${(index * 7919) % 100_000}`,
      context: {},
      createdBy: BACKEND,
      ...(constrained && { clientId: APPLICATION, actorId: ENGINEER }),
      scope: SCOPE,
      createdAt,
      expiresAt: createdAt + 600,
    }),
  )
  await together(drafts, (draft) => store.insert({ ...draft, tokenHash: hashToken(mintToken(draft.id)) }))
  return drafts
}

/** Finds and spends. */
export const exchangeMany = ({ store }: Pick<Filled, 'store'>, drafts: readonly SubjectTokenDraft[]) =>
  together(drafts, async ({ id, actorId }) => {
    const token = await store.find(ISSUER, id)
    const at = epochTime()
    const use = {
      at,
      clientId: APPLICATION,
      ...(actorId !== undefined && { actor: { sub: actorId } }),
      resource: API,
      scope: SCOPE,
      accessToken: { format: 'jwt' as const, expiresAt: at + 3600 },
    }
    if (!token || !(await store.consume(token, at, use))) throw new Error('not exchanged')
  })

export const stopMany = (filled: Pick<Filled, 'store'>, drafts: readonly SubjectTokenDraft[]) =>
  together(drafts, ({ id }) => stopOne(filled, id))

/** As an end of an impersonation does. */
export const stopAndReportMany = (filled: Pick<Filled, 'store'>, drafts: readonly SubjectTokenDraft[]) =>
  together(drafts, async ({ id }) => {
    await stopOne(filled, id)
    if ((await filled.store.report(ISSUER, [id])).length !== 1) throw new Error('not reported')
  })

async function stopOne({ store }: Pick<Filled, 'store'>, id: string): Promise<void> {
  const stopped = await store.revoke(ISSUER, id, epochTime(), BY_WHO_ACTED)
  if (!stopped?.unreported) throw new Error('not stopped')
}

async function together<Value>(
  values: readonly Value[],
  work: (value: Value) => Promise<unknown>,
): Promise<void> {
  // In their order, as in life: indexes of ids grow at their end.
  const left = values.values()
  const drive = async () => {
    for (const value of left) await work(value)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, drive))
}

/** Stops all that lives of a backend, as a kill switch does. Returns how many. */
export async function killAll({ store }: Pick<Filled, 'store'>, createdBy: string): Promise<number> {
  let stopped = 0
  const batches = store.revokeWhere(ISSUER, { createdBy }, epochTime(), { cause: 'api', client: BACKEND })
  for await (const batch of batches) {
    stopped += batch.length
    await store.report(
      ISSUER,
      batch.map(({ token }) => token.id),
    )
  }
  return stopped
}

export async function countMonth({ store }: Pick<Filled, 'store'>): Promise<number> {
  const now = epochTime()
  let issued = 0
  for await (const slice of store.summarize(ISSUER, now - 30 * 86_400, now)) issued += slice.issued
  return issued
}

/** Milliseconds of a call, and its result. */
export async function timed<Value>(work: () => Promise<Value>): Promise<readonly [number, Value]> {
  const start = performance.now()
  const value = await work()
  return [performance.now() - start, value]
}
