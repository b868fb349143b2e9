/** `POST /api/subject-tokens/{id}/acknowledgement` (protocol.md §2.2): someone has looked into the alarms of a record. */
import { expect } from 'chai'
import { actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { now, stopClock } from '../../fixtures/clock.ts'
import type { Deployment } from '../../fixtures/deployment.ts'
import { onEachDatabase, onSqlite } from '../../fixtures/each-database.ts'
import { acknowledge, idsOf, list, manage, show } from '../../fixtures/management.ts'
import { exchange, issue, managementToken } from '../../fixtures/requests.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

const SAYS = { by: 'dora', note: 'a double click, says sam' }
const AN_ID = '0'.repeat(32)

describe('management: an acknowledgement', () => {
  onEachDatabase({}, (on) => {
    let clock: ReturnType<typeof stopClock>
    beforeEach(() => {
      clock = stopClock()
    })
    afterEach(() => clock.restore())

    /** Exchanged, with an actor if one is named, and used again where that is said. */
    const used = async ({ actor = false, again = false } = {}) => {
      const { id, subjectToken } = await issue(on.deployment)
      const acting = actor ? withActor(await actorToken(on.deployment)) : {}
      const { status, text } = await exchange(on.deployment, { subject_token: subjectToken, ...acting })
      expect(status, text).to.equal(200)
      const useAgain = () => exchange(on.deployment, { subject_token: subjectToken })
      if (again) await useAgain()
      return { id, useAgain }
    }
    const expectTaken = async (id: string, body: unknown) => {
      const response = await acknowledge(on.deployment, id, body)
      expect([response.status, response.text]).to.deep.equal([204, ''])
      expect(response.headers.get('cache-control')).to.equal('no-store')
    }
    const expectConflict = async (id: string, body: unknown, error_description: string) => {
      const response = await acknowledge(on.deployment, id, body)
      expect([response.status, response.body], response.text).to.deep.equal([
        409,
        { error: 'invalid_request', error_description },
      ])
      expect(response.headers.get('cache-control')).to.equal('no-store')
    }
    const acknowledged = async (id: string) => (await show(on.deployment, id)).body.acknowledged
    const isOpen = async (id: string) => {
      const { body } = await list(on.deployment, { unacknowledged: 'true', limit: '100' })
      return body.items.some((item: { id: string }) => item.id === id)
    }

    it('of a replay is on the record, alone and in the list, and the record is not unacknowledged any more', async () => {
      const { id } = await used({ actor: true, again: true })
      expect(await isOpen(id)).to.equal(true)
      clock.tick(30)
      await expectTaken(id, SAYS)
      expect(await acknowledged(id)).to.deep.equal([{ at: now(), ...SAYS }])
      const { body } = await list(on.deployment, { jti: id })
      expect(body.items[0].acknowledged).to.deep.equal([{ at: now(), ...SAYS }])
      expect(await isOpen(id)).to.equal(false)
    })

    it('of an exchange without actor covers no replay that comes after it', async () => {
      const { id, useAgain } = await used()
      await expectTaken(id, SAYS)
      expect(await isOpen(id)).to.equal(false)
      clock.tick(1)
      await useAgain()
      expect(await isOpen(id)).to.equal(true)
      clock.tick(1)
      await expectTaken(id, { by: 'erin', note: 'stolen' })
      expect(await isOpen(id)).to.equal(false)
      expect(await acknowledged(id)).to.deep.equal([
        { at: now() - 2, ...SAYS },
        { at: now(), by: 'erin', note: 'stolen' },
      ])
    })

    for (const again of [false, true]) {
      it(`that is repeated writes nothing where everything is covered, ${again ? 'the replay included' : 'without a replay'}`, async () => {
        const { id } = await used({ again })
        await expectTaken(id, SAYS)
        const before = await acknowledged(id)
        clock.tick(5)
        await expectTaken(id, SAYS)
        await expectTaken(id, { by: 'erin', note: 'another' })
        expect(await acknowledged(id)).to.deep.equal(before)
      })
    }

    it('of many requests at the same time is written once', async () => {
      const { id } = await used({ again: true })
      const responses = await Promise.all(
        Array.from({ length: 8 }, () => acknowledge(on.deployment, id, SAYS)),
      )
      expect(responses.map(({ status }) => status)).to.deep.equal(Array(8).fill(204))
      expect(await acknowledged(id)).to.deep.equal([{ at: now(), ...SAYS }])
    })

    it('of the replay that the caller saw is taken, and of another one is 409', async () => {
      const { id } = await used({ again: true })
      const { at } = (await show(on.deployment, id)).body.replay
      for (const replayedAt of [at - 1, at + 1, 0, null])
        await expectConflict(id, { ...SAYS, replayedAt }, 'replayedAt is not the replay of the subject token')
      expect(await acknowledged(id)).to.equal(undefined)
      await expectTaken(id, { ...SAYS, replayedAt: at })
      expect(await acknowledged(id)).to.have.length(1)
    })

    it('of no replay is 409 once there is one, and taken while there is none', async () => {
      const { id, useAgain } = await used()
      await expectConflict(
        id,
        { ...SAYS, replayedAt: now() },
        'replayedAt is not the replay of the subject token',
      )
      await expectTaken(id, { ...SAYS, replayedAt: null })
      await useAgain()
      await expectConflict(
        id,
        { ...SAYS, replayedAt: null },
        'replayedAt is not the replay of the subject token',
      )
      expect(await isOpen(id)).to.equal(true)
    })

    it('covers no replay that comes while it is written', async () => {
      const real = createSubjectTokenStore(on.database.sequelize)
      const state: { meanwhile?: () => Promise<unknown> } = {}
      const acknowledging: typeof real.acknowledge = async (...call) => {
        await state.meanwhile?.()
        return real.acknowledge(...call)
      }
      const racing = await on.start({
        issuer: on.deployment.issuer,
        options: { store: { ...real, acknowledge: acknowledging } },
      })
      const { id, useAgain } = await used()
      state.meanwhile = useAgain
      const token = await managementToken(on.deployment)
      expect((await acknowledge(racing, id, SAYS, { token })).status).to.equal(204)
      expect(await isOpen(id)).to.equal(true)
      expect(await acknowledged(id)).to.have.length(1)
    })

    it('is 409 where there is no alarm', async () => {
      const unspent = await issue(on.deployment)
      const { id } = await used({ actor: true })
      for (const one of [unspent.id, id]) {
        await expectConflict(one, SAYS, 'the subject token has no alarm')
        expect(await acknowledged(one)).to.equal(undefined)
      }
    })

    it('keeps the longest and strangest texts', async () => {
      const { id } = await used()
      const says = { by: '🎫'.repeat(255), note: ` ${'🎫'.repeat(998)}\n` }
      await expectTaken(id, says)
      expect(await acknowledged(id)).to.deep.equal([{ at: now(), ...says }])
    })

    it('is of this issuer only', async () => {
      const { id } = await used()
      const other = await on.start({ issuer: 'https://other.example.com/oidc' })
      const token = await managementToken(other, { resource: 'https://other.example.com/api' })
      expect((await acknowledge(other, id, SAYS, { token })).status).to.equal(404)
      expect(await acknowledged(id)).to.equal(undefined)
      expect(idsOf(await manage(other, 'GET', '?unacknowledged=true', { token }))).to.deep.equal([])
    })
  })
})

describe('management: a refused acknowledgement', () => {
  onSqlite({}, (on) => {
    const alarming = async (deployment: Deployment) => {
      const { id, subjectToken } = await issue(deployment)
      await exchange(deployment, { subject_token: subjectToken })
      return id
    }
    const NOTE = 'note must be a string of 1 to 1000 characters, and must not be blank'
    const BY = 'by must be a string of 1 to 255 characters'
    const AT = 'replayedAt must be whole seconds since the epoch, or null'
    const refused: [body: unknown, description: string][] = [
      [{}, 'by is required'],
      [{ note: 'x' }, 'by is required'],
      [{ by: 'dora' }, 'note is required'],
      [{ ...SAYS, by: '' }, BY],
      [{ ...SAYS, by: null }, BY],
      [{ ...SAYS, by: 'x'.repeat(256) }, BY],
      [{ ...SAYS, note: ' \n' }, NOTE],
      [{ ...SAYS, note: 7 }, NOTE],
      [{ ...SAYS, note: 'a\0' }, NOTE],
      [{ ...SAYS, note: '🎫'.repeat(1001) }, NOTE],
      [{ ...SAYS, replayedAt: '1795429830' }, AT],
      [{ ...SAYS, replayedAt: 1.5 }, AT],
      [{ ...SAYS, replayedAt: -1 }, AT],
      [{ ...SAYS, replayedAt: 1e300 }, AT],
      [{ ...SAYS, replayedAt: true }, AT],
      [{ ...SAYS, id: AN_ID }, 'unknown member: id'],
      [{ ...SAYS, '<b>': 1 }, 'unknown member'],
      [[], 'the body must be a JSON object'],
      ['{', 'the body must be JSON'],
    ]
    for (const [body, error_description] of refused) {
      it(`refuses ${JSON.stringify(body).slice(0, 60)}, and writes nothing`, async () => {
        const id = await alarming(on.deployment)
        const response = await acknowledge(on.deployment, id, body)
        expect([response.status, response.body], response.text).to.deep.equal([
          400,
          { error: 'invalid_request', error_description },
        ])
        expect((await show(on.deployment, id)).body).not.to.have.property('acknowledged')
      })
    }

    for (const id of [AN_ID, 'x', 'summary', 'revocations', `${AN_ID}.${'a'.repeat(22)}`]) {
      it(`responds with 404 to the unknown id ${id}`, async () => {
        const response = await acknowledge(on.deployment, id, SAYS)
        expect([response.status, response.body], response.text).to.deep.equal([
          404,
          { error: 'not_found', error_description: 'subject token not found' },
        ])
      })
    }

    it('takes no query, and JSON only', async () => {
      const id = await alarming(on.deployment)
      const query = await acknowledge(on.deployment, `${id}`, SAYS, { query: '?dryRun=true' })
      expect([query.status, query.body.error_description]).to.deep.equal([400, 'unknown parameter: dryRun'])
      const response = await manage(on.deployment, 'POST', `/${id}/acknowledgement`)
      expect([response.status, response.body.error]).to.deep.equal([415, 'invalid_request'])
    })

    it('needs the scope subject-tokens:revoke, before it looks at the body', async () => {
      for (const scope of ['subject-tokens:create', 'subject-tokens:read']) {
        const response = await acknowledge(on.deployment, AN_ID, '{', { scope })
        expect([response.status, response.body.error]).to.deep.equal([403, 'insufficient_scope'])
      }
      expect((await acknowledge(on.deployment, AN_ID, SAYS, { token: null })).status).to.equal(401)
      const scope = 'subject-tokens:revoke'
      expect(
        (await acknowledge(on.deployment, await alarming(on.deployment), SAYS, { scope })).status,
      ).to.equal(204)
    })

    for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      it(`responds to ${method} with 405, with and without a token`, async () => {
        for (const token of [undefined, null]) {
          const response = await manage(on.deployment, method, `/${AN_ID}/acknowledgement`, { token })
          expect([response.status, response.headers.get('allow')]).to.deep.equal([405, 'POST'])
          expect(response.headers.get('cache-control')).to.equal('no-store')
        }
      })
    }

    it('is no path with a trailing slash, or of another case', async () => {
      for (const path of [`/${AN_ID}/acknowledgement/`, `/${AN_ID}/Acknowledgement`, '/acknowledgement'])
        expect(
          (await manage(on.deployment, 'POST', path, { token: null })).headers.get('allow'),
        ).not.to.equal('POST')
    })

    it('responds with 503 when storage fails', async () => {
      const store = createSubjectTokenStore(on.database.sequelize)
      const id = await alarming(on.deployment)
      for (const method of ['list', 'acknowledge'] as const) {
        const failing = { ...store, [method]: () => Promise.reject(new Error('private: down')) }
        const deployment = await on.start({ issuer: on.deployment.issuer, options: { store: failing } })
        const token = await managementToken(on.deployment)
        const response = await acknowledge(deployment, id, SAYS, { token })
        expect([response.status, response.body.error]).to.deep.equal([503, 'temporarily_unavailable'])
        expect(response.headers.get('retry-after')).to.equal('5')
      }
    })
  })
})
