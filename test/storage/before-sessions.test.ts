/** The version before sessions, unpacked from its package, on the tables of this one. */
import { expect } from 'chai'
import { DATABASES } from '../../fixtures/databases.ts'
import { useDatabase } from '../../fixtures/on-database.ts'
import { findEntry, importStorage, type Storage } from '../../fixtures/rehearsal/version.ts'
import { unpackRelease } from '../../fixtures/releases.ts'
import { sessionsIn, sessionUse } from '../../packages/store-contract/src/store/sessions.ts'
import {
  all,
  BY_API,
  ENDS_AT,
  NOW,
  newUse,
  tokensIn,
} from '../../packages/store-contract/src/store/tokens.ts'
import { createSubjectTokenStore, migrate } from '../../src/sequelize/index.ts'
import type { SubjectTokenStore } from '../../src/tokens/store.ts'

describe('the version before sessions', () => {
  let version: Storage
  let remove = () => {}
  before(async () => {
    const unpacked = unpackRelease('before-003-sessions')
    const entry = findEntry(unpacked.path)
    remove = () => {
      entry.remove()
      unpacked.remove()
    }
    version = await importStorage(entry.entry)
  })
  after(() => remove())

  for (const kind of DATABASES) {
    describe(`on ${kind}, when this one has made its step`, () => {
      const database = useDatabase(kind, { migrated: false })
      let [old, store]: SubjectTokenStore[] = []
      const both = () => {
        if (!old || !store?.sessions) return expect.fail('no stores')
        return { old, store, sessions: store.sessions }
      }
      /** Its tokens, as the version before inserts and spends them. */
      const ofOld = () => tokensIn(both().old)
      before(async () => {
        await version.migrate(database.sequelize)
        old = version.createSubjectTokenStore(database.connect())
        store = createSubjectTokenStore(database.connect())
      })

      it('goes on, and this one reads what it has written before and since', async () => {
        const { old, store, sessions } = both()
        const refusal: unknown = await store.ready?.().catch((error: unknown) => error)
        expect(refusal).to.have.property('forOperators').that.includes('oidc-impersonation migrate')
        const { issuer, spend, insert } = ofOld()
        const opaque = { accessToken: { format: 'opaque', expiresAt: ENDS_AT }, grantId: 'a-grant' } as const
        const spent = [await spend(), await spend(opaque)]
        const unspent = await insert()
        await migrate(database.sequelize)
        for (const one of [old, store]) await one.ready?.()
        spent.push(await spend(), await spend(opaque))
        for (const { id, use } of spent) expect((await store.find(issuer, id))?.use).to.deep.equal(use)
        expect(await old.consume(unspent, NOW, newUse())).to.equal(true)
        expect(await store.consume(unspent, NOW, newUse())).to.equal(false)
        expect(await sessions.findDue(issuer, Number.MAX_SAFE_INTEGER, 10)).to.deep.equal([])
        for (const { id } of [...spent, unspent])
          expect(await store.find(issuer, id)).not.to.have.property('readOnly')
        const page = { limit: 10, now: NOW }
        const mayWrite = await store.list(issuer, { readOnly: false }, page)
        expect(mayWrite.tokens).to.have.length(spent.length + 1)
        expect((await store.list(issuer, { readOnly: true }, page)).tokens).to.deep.equal([])
      })

      it('stops what this one has opened, which is to be ended at once', async () => {
        const { old, store, sessions } = both()
        const { issuer, open, stored, assertDue } = sessionsIn(store, sessions)
        const opened = [await open(ENDS_AT), await open(ENDS_AT + 1), await open(ENDS_AT + 2)]
        const [revoked, replayed] = opened
        if (!revoked || !replayed) return expect.fail('no sessions')
        for (const token of opened) {
          const { use: _, ...unspent } = token
          expect(await old.consume(unspent, NOW, token.use), 'spent twice').to.equal(false)
        }
        expect(
          (await old.revoke(issuer, revoked.id, NOW, BY_API))?.token.use?.accessToken.expiresAt,
        ).to.equal(ENDS_AT)
        await assertDue(NOW, [revoked], 'what was stopped must be found')
        const found = (await old.find(issuer, replayed.id)) ?? expect.fail('not found')
        const { use = replayed.use } = found
        expect(await old.recordReplay({ ...found, use }, { at: NOW, clientId: 'thief' })).to.equal(true)
        expect(await all(old.revokeWhere(issuer, { actorId: 'bob' }, NOW, BY_API))).to.have.length(2)
        await assertDue(NOW, opened, 'what was stopped must be found')
        const shown = (await old.findStopped(issuer, NOW)).map(({ expiresAt }) => expiresAt)
        expect(shown.toSorted()).to.deep.equal([ENDS_AT, ENDS_AT + 1, ENDS_AT + 2])
        for (const { id, use: first } of opened) expect((await stored(id)).use).to.deep.equal(first)
      })

      it('stops a token before it can open anything', async () => {
        const { old, store, sessions } = both()
        const { issuer, issue, assertDue } = sessionsIn(store, sessions)
        const token = await issue()
        await old.revoke(issuer, token.id, NOW, BY_API)
        expect(await store.consume(token, NOW, sessionUse())).to.equal(false)
        await assertDue(NOW + 100_000, [], 'nothing was opened')
      })
    })
  }
})
