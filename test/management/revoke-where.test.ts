/** The kill switch: `DELETE /api/subject-tokens?userId=`, `?actorId=` or `?createdBy=` (protocol.md §2.2). */
import { expect } from 'chai'
import { actorJwt, actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { machineClient, webClient } from '../../fixtures/clients.ts'
import { now, stopClock } from '../../fixtures/clock.ts'
import { API, OPAQUE_API } from '../../fixtures/deployment.ts'
import { onEachDatabase, onSqlite } from '../../fixtures/each-database.ts'
import { idsOf, list, manage, revoke, revokeWhere, show } from '../../fixtures/management.ts'
import { exchange, introspect, issue, managementToken } from '../../fixtures/requests.ts'
import { BY_API } from '../../fixtures/subject-tokens.ts'
import { emptyTables } from '../../fixtures/tables.ts'

interface Used {
  readonly id: string
  readonly accessToken: string
}

describe('management: the kill switch', () => {
  const second = machineClient({ client_id: 'second' })
  // With a leeway, the loser of a race revokes nothing.
  onEachDatabase({ options: { maxDelegationDepth: 2, replayLeeway: 60 }, clients: [second] }, (on) => {
    let clock: ReturnType<typeof stopClock>
    beforeEach(async () => {
      clock = stopClock()
      await emptyTables(on.database)
      on.deployment.events.length = 0
    })
    afterEach(() => clock.restore())

    const use = async (
      resource: string,
      body: Readonly<Record<string, unknown>> = {},
      actor?: string,
    ): Promise<Used> => {
      const { id, subjectToken } = await issue(on.deployment, body)
      const parameters = { subject_token: subjectToken, resource, ...(actor && withActor(actor)) }
      const response = await exchange(on.deployment, parameters)
      expect(response.status, response.text).to.equal(200)
      return { id, accessToken: response.body.access_token }
    }
    const isActive = async ({ accessToken }: Used) => (await introspect(on.deployment, accessToken)).active
    const revokedEvents = () =>
      on.deployment.events.flatMap(({ name, payload }) => (name === 'subject_token.revoked' ? [payload] : []))
    const expectRevoked = async (parameters: Readonly<Record<string, string>>, ids: readonly string[]) => {
      const before = revokedEvents().length
      const response = await revokeWhere(on.deployment, parameters)
      expect([response.status, response.body], response.text).to.deep.equal([200, { revoked: ids.length }])
      const told = revokedEvents().slice(before)
      expect(told.map(({ id }) => id).sort()).to.deep.equal([...ids].sort())
    }

    it('ends everything of a user that is active or whose access token lives, and nothing else', async () => {
      const [active, bound] = [await issue(on.deployment), await issue(on.deployment, { actorId: 'bob' })]
      const [jwt, opaque] = [await use(API), await use(OPAQUE_API)]
      const revoked = await issue(on.deployment)
      await revoke(on.deployment, revoked.id)
      const expired = await issue(on.deployment, { expiresIn: 10 })
      const others = [
        await issue(on.deployment, { userId: 'dave' }),
        await issue(on.deployment, { userId: 'bob' }),
      ]
      const ofOther = await use(OPAQUE_API, { userId: 'dave' })
      clock.tick(10)
      await expectRevoked({ userId: 'alice' }, [active.id, bound.id, jwt.id, opaque.id])
      expect(await isActive(opaque)).to.equal(false)
      expect(await isActive(ofOther)).to.equal(true)
      expect((await show(on.deployment, expired.id)).body.state).to.equal('expired')
      expect((await show(on.deployment, revoked.id)).body.revokedAt).to.equal(now() - 10)
      const state = async (one: string) => idsOf(await list(on.deployment, { state: one }))
      expect((await state('active')).sort()).to.deep.equal(others.map(({ id }) => id).sort())
      expect(await state('consumed')).to.deep.equal([ofOther.id])
      for (const { subjectToken } of [active, bound]) {
        const response = await exchange(on.deployment, { subject_token: subjectToken })
        expect(response.body.error_description).to.equal('subject_token is invalid')
      }
    })

    it('ends what an actor is bound to and what the actor did, even without a constraint that names the actor', async () => {
      const bob = await actorToken(on.deployment)
      const [bound, open] = [await issue(on.deployment, { actorId: 'bob' }), await issue(on.deployment)]
      const acted = await use(OPAQUE_API, {}, bob)
      const boundAndActed = await use(API, { userId: 'dave', actorId: 'bob' }, bob)
      const another = await use(OPAQUE_API, {}, await actorToken(on.deployment, { accountId: 'carol' }))
      await expectRevoked({ actorId: 'bob' }, [bound.id, acted.id, boundAndActed.id])
      expect(await isActive(acted)).to.equal(false)
      expect(await isActive(another)).to.equal(true)
      // An unspent token that names no actor is not the actor's.
      expect((await show(on.deployment, open.id)).body.state).to.equal('active')
    })

    it('ends what an actor did through another: every link of the chain counts', async () => {
      const through = await actorJwt(on.deployment, { sub: 'carol', act: { sub: 'bob' } })
      const [opaque, jwt] = [await use(OPAQUE_API, {}, through), await use(API, {}, through)]
      const other = await use(
        OPAQUE_API,
        {},
        await actorJwt(on.deployment, { sub: 'carol', act: { sub: 'dave' } }),
      )
      await expectRevoked({ actorId: 'bob' }, [opaque.id, jwt.id])
      expect([await isActive(opaque), await isActive(other)]).to.deep.equal([false, true])
      const [told] = revokedEvents()
      expect(told).to.include({ userId: 'alice', actorId: 'carol', clientId: 'spa' })
      await expectRevoked({ actorId: 'carol' }, [other.id])
    })

    it("raced by exchanges through different actors ends only the winner's token", async () => {
      const chains = ['bob', 'dave'].map((sub) => actorJwt(on.deployment, { sub: 'carol', act: { sub } }))
      const actors = await Promise.all(chains)
      for (let round = 0; round < 5; round += 1) {
        const { id, subjectToken } = await issue(on.deployment)
        const responses = await Promise.all(
          actors.map((actor) =>
            exchange(
              on.deployment,
              { subject_token: subjectToken, ...withActor(actor) },
              { client: webClient() },
            ),
          ),
        )
        expect(responses.map(({ status }) => status).sort()).to.deep.equal([200, 400])
        const won = responses[0]?.status === 200
        await expectRevoked({ actorId: won ? 'dave' : 'bob' }, [])
        await expectRevoked({ actorId: won ? 'bob' : 'dave' }, [id])
      }
    })

    it('ends what a backend issued, for any user, and nothing of another backend', async () => {
      const [unused, jwt, opaque] = [
        await issue(on.deployment, { actorId: 'bob' }),
        await use(API, { userId: 'dave' }),
        await use(OPAQUE_API),
      ]
      const token = await managementToken(on.deployment, { client: second })
      const other = await issue(on.deployment, { userId: 'carol' }, token)
      const response = await exchange(on.deployment, {
        subject_token: other.subjectToken,
        resource: OPAQUE_API,
      })
      const ofOther = { id: other.id, accessToken: response.body.access_token }
      for (const createdBy of ['Backend', 'backend ', 'spa', 'alice']) await expectRevoked({ createdBy }, [])
      await expectRevoked({ createdBy: 'backend' }, [unused.id, jwt.id, opaque.id])
      expect([await isActive(opaque), await isActive(ofOther)]).to.deep.equal([false, true])
      const refused = await exchange(on.deployment, { subject_token: unused.subjectToken })
      expect(refused.body.error_description).to.equal('subject_token is invalid')
      await expectRevoked({ createdBy: 'backend' }, [])
      // What it issues afterwards is not covered.
      const later = await issue(on.deployment)
      expect((await show(on.deployment, later.id)).body.state).to.equal('active')
      await expectRevoked({ createdBy: 'second' }, [ofOther.id])
    })

    it('counts a used token until the second its access token ends', async () => {
      const [first, second] = [await use(API), await use(OPAQUE_API, { userId: 'dave' })]
      clock.tick(599)
      await expectRevoked({ userId: 'alice' }, [first.id])
      clock.tick(1)
      await expectRevoked({ userId: 'dave' }, [])
      expect((await show(on.deployment, second.id)).body.state).to.equal('consumed')
    })

    it('counts an unused token until the second it expires', async () => {
      const [first] = [await issue(on.deployment), await issue(on.deployment, { userId: 'dave' })]
      clock.tick(599)
      await expectRevoked({ userId: 'alice' }, [first.id])
      clock.tick(1)
      await expectRevoked({ userId: 'dave' }, [])
    })

    it('again counts nothing, and emits nothing', async () => {
      const { id } = await use(OPAQUE_API)
      await expectRevoked({ userId: 'alice' }, [id])
      clock.tick(5)
      await expectRevoked({ userId: 'alice' }, [])
      expect((await show(on.deployment, id)).body.revokedAt).to.equal(now() - 5)
    })

    it('counts 0 for an unknown user, and a name in another case', async () => {
      await issue(on.deployment)
      for (const userId of ['nobody', 'alias:nobody', 'ALICE', 'alice ', '%'])
        await expectRevoked({ userId }, [])
    })

    it('by an alias ends what was issued for the account, or done by it', async () => {
      const opaque = await use(OPAQUE_API, { userId: 'alias:alice' })
      const { id } = await issue(on.deployment)
      await issue(on.deployment, { userId: 'dave' })
      await expectRevoked({ userId: 'alias:alice' }, [opaque.id, id])
      expect(await isActive(opaque)).to.equal(false)

      const acted = await use(OPAQUE_API, {}, await actorToken(on.deployment))
      // The constraint is stored as given.
      const bound = await issue(on.deployment, { actorId: 'alias:bob' })
      const other = await issue(on.deployment, { actorId: 'carol' })
      await expectRevoked({ actorId: 'alias:bob' }, [acted.id, bound.id])
      expect(await isActive(acted)).to.equal(false)
      expect((await show(on.deployment, other.id)).body.state).to.equal('active')
      await expectRevoked({ actorId: 'alias:bob' }, [])
    })

    it('emits an event for each token, with what was ended', async () => {
      const opaque = await use(OPAQUE_API, {}, await actorToken(on.deployment))
      const { id } = await issue(on.deployment, { actorId: 'carol', clientId: 'web' })
      await revokeWhere(on.deployment, { userId: 'alice' })
      const told = Object.fromEntries(revokedEvents().map((payload) => [payload.id, payload]))
      const common = { userId: 'alice', revokedBy: 'backend', revocation: BY_API }
      expect(told).to.deep.equal({
        [id]: { id, ...common, actorId: 'carol', clientId: 'web' },
        [opaque.id]: { id: opaque.id, ...common, actorId: 'bob', clientId: 'spa', ended: 'now' },
      })
    })

    it('five times at once counts and reports each token once', async () => {
      const ids: string[] = []
      for (let index = 0; index < 6; index += 1) ids.push((await issue(on.deployment)).id)
      const token = await managementToken(on.deployment)
      const responses = await Promise.all(
        ['?userId=alice', '?userId=alice', '?userId=alice', '?userId=alice', '?userId=alice'].map((query) =>
          manage(on.deployment, 'DELETE', query, { token }),
        ),
      )
      expect(new Set(responses.map(({ status }) => status))).to.deep.equal(new Set([200]))
      expect(responses.reduce((sum, { body }) => sum + body.revoked, 0)).to.equal(6)
      expect(
        revokedEvents()
          .map(({ id }) => id)
          .sort(),
      ).to.deep.equal([...ids].sort())
    })

    it('raced by an exchange leaves no access token without a record', async () => {
      const token = await managementToken(on.deployment)
      for (let round = 0; round < 10; round += 1) {
        const { id, subjectToken } = await issue(on.deployment)
        const [exchanged, killed] = await Promise.all([
          exchange(on.deployment, { subject_token: subjectToken, resource: OPAQUE_API }),
          manage(on.deployment, 'DELETE', '?userId=alice', { token }),
        ])
        expect(killed.body).to.deep.equal({ revoked: 1 })
        expect((await show(on.deployment, id)).body.state).to.equal('revoked')
        if (exchanged.status !== 200) continue
        expect(await isActive({ id, accessToken: exchanged.body.access_token })).to.equal(false)
      }
    })
  })
})

describe('management: a malformed request of the kill switch', () => {
  onSqlite({}, (on) => {
    const name = 'must be a string of 1 to 255 characters'
    const refused: [query: string, description: string][] = [
      ['', 'userId, actorId or createdBy is required'],
      ['?', 'userId, actorId or createdBy is required'],
      ['?userId=alice&actorId=bob', 'actorId must not come with userId'],
      ['?actorId=bob&userId=alice', 'actorId must not come with userId'],
      ['?userId=alice&createdBy=backend', 'createdBy must not come with userId'],
      ['?createdBy=backend&actorId=bob', 'createdBy must not come with actorId'],
      ['?createdBy=backend&actorId=bob&userId=alice', 'actorId must not come with userId'],
      ['?createdBy=', `createdBy ${name}`],
      ['?createdBy=backend&createdBy=second', 'createdBy must not be repeated'],
      ['?userId=', `userId ${name}`],
      ['?actorId=', `actorId ${name}`],
      ['?userId=&actorId=bob', 'actorId must not come with userId'],
      ['?userId=alice&userId=bob', 'userId must not be repeated'],
      ['?userId=&userId=bob', 'userId must not be repeated'],
      ['?userId=%00', `userId ${name}`],
      ['?clientId=spa', 'unknown parameter: clientId'],
      ['?userId=alice&clientId=spa', 'unknown parameter: clientId'],
      ['?userId=alice&state=active', 'unknown parameter: state'],
      ['?userId=alice&limit=1', 'unknown parameter: limit'],
      ['?userid=alice', 'unknown parameter: userid'],
      ['?userId=%E0%A4%A', 'the query is malformed'],
    ]
    for (const [query, description] of refused) {
      it(`refuses ${query || 'no query'}, and ends nothing`, async () => {
        const { id } = await issue(on.deployment)
        const response = await manage(on.deployment, 'DELETE', query)
        expect([response.status, response.body.error], response.text).to.deep.equal([400, 'invalid_request'])
        expect(response.body.error_description).to.equal(description)
        expect((await show(on.deployment, id)).body.state).to.equal('active')
        expect(on.deployment.events.filter((event) => event.name === 'subject_token.revoked')).to.deep.equal(
          [],
        )
      })
    }
  })
})
