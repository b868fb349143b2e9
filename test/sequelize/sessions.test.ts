/** Sessions in SQL: what the contract of a store cannot know. */
import { expect } from 'chai'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import { onEachKind } from '../../fixtures/on-database.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'
import { SESSION_METHODS, type SubjectTokenStore } from '../../src/subject-tokens/store.ts'
import { ENDS_AT, LATER, sessionsIn } from '../../src/testing/store/sessions.ts'
import { NOW } from '../../src/testing/store/tokens.ts'

onEachKind((kind) => {
  describe('sessions', () => {
    let database: Database
    let store: SubjectTokenStore
    before(async () => {
      database = await openDatabase(kind)
      store = createSubjectTokenStore(database.sequelize)
    })
    beforeEach(() => {
      database.statements.length = 0
    })
    after(() => database?.close())

    const opened = () => sessionsIn(store, store.sessions ?? expect.fail('no sessions'))
    const said = (part: string) => database.statements.filter((sql) => sql.includes(part))

    it('are what the store has', () => {
      expect(store.sessions).to.have.all.keys(...SESSION_METHODS)
    })

    it('cost the spend no statement, and an exchange names none of their columns', async () => {
      const { issue, useOf, spend } = opened()
      await spend()
      expect(said('INSERT INTO subject_token_uses')).to.have.length(1)
      expect(said('INSERT INTO subject_token_uses')[0]).not.to.include('session_')
      const token = await issue()
      database.statements.length = 0
      expect(await store.consume(token, NOW, useOf())).to.equal(true)
      expect(database.statements).to.have.length(1)
      expect(database.statements[0]).to.include('session_due, session_logout')
    })

    it('cost one statement to find, to claim and to settle', async () => {
      const { issuer, open, sessions, due } = opened()
      const { id } = await open()
      for (const call of [
        () => due(LATER),
        () => sessions.claim(issuer, id, ENDS_AT, ENDS_AT + 1),
        () => sessions.settle(issuer, id, { mark: ENDS_AT + 2, at: NOW }),
        () => sessions.settle(issuer, id, { mark: null, logout: 'confirmed', at: NOW }),
      ]) {
        database.statements.length = 0
        await call()
        expect(database.statements).to.have.length(1)
      }
    })

    it('keep the first answer, and what is unsupported', async () => {
      const { issuer, open, sessions, stored } = opened()
      for (const [logout, says] of [
        ['pending', { logout: 'gaveUp', logoutAt: NOW + 1 }],
        ['unsupported', { logout: 'unsupported' }],
      ] as const) {
        const { id } = await open(ENDS_AT, logout)
        await sessions.settle(issuer, id, { mark: ENDS_AT, logout: 'gaveUp', at: NOW + 1 })
        await sessions.settle(issuer, id, { mark: null, logout: 'confirmed', at: NOW + 2 })
        expect((await stored(id)).use?.session).to.deep.equal(says)
      }
    })

    it('are not found, and not written, by what is no id', async () => {
      const { issuer, open, sessions, assertDue } = opened()
      const session = await open()
      for (const id of ['', 'x', session.id.toUpperCase(), `${session.id}0`]) {
        expect(await sessions.claim(issuer, id, ENDS_AT, ENDS_AT + 1)).to.equal(false)
        await sessions.settle(issuer, id, { mark: null, at: NOW })
      }
      await assertDue(ENDS_AT, [session], 'an id that is none was found')
    })

    it('are told apart by what their application said, also where that cannot be read', async () => {
      const { openWith, useOf, stored, due } = opened()
      const { id } = await openWith(useOf({ grantId: 'imp_grant' }))
      await database.sequelize.query('UPDATE subject_token_uses SET session_logout = 9')
      expect((await stored(id)).use).to.deep.include({ session: { logout: 'pending' }, grantId: 'imp_grant' })
      expect((await stored(id)).use?.accessToken.format).to.equal('session')
      expect((await due(ENDS_AT))[0]).to.include({ id, logout: 'pending' })
    })

    it('are claimed and settled by many at once', async () => {
      const { issuer, open, sessions, due } = opened()
      const all = await Promise.all(Array.from({ length: 100 }, () => open()))
      const claimed = await Promise.all(
        all.flatMap(({ id }) => [1, 2].map((next) => sessions.claim(issuer, id, ENDS_AT, ENDS_AT + next))),
      )
      expect(claimed.filter(Boolean)).to.have.length(100)
      const outcome = { mark: null, logout: 'confirmed', at: NOW } as const
      await Promise.all(all.map(({ id }) => sessions.settle(issuer, id, outcome)))
      expect(await due(LATER, 1000)).to.deep.equal([])
    })
  })
})
