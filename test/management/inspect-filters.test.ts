/** The filters of `GET /api/subject-tokens`, alone and combined, and the rows it never shows (protocol.md §2.2). */
import { expect } from 'chai'
import { actorJwt, actorToken, withActor } from '../../fixtures/actor-tokens.ts'
import { machineClient, webClient } from '../../fixtures/clients.ts'
import { now, stopClock } from '../../fixtures/clock.ts'
import { API } from '../../fixtures/deployment.ts'
import { onEachDatabase } from '../../fixtures/each-database.ts'
import type { Parameters } from '../../fixtures/http.ts'
import { idsOf, list, manage, revoke, revokeWhere, show } from '../../fixtures/management.ts'
import { exchange, issue, managementToken } from '../../fixtures/requests.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

const TICKET = { ticketId: 'T-1' }
const TAIL = 'A-z_9'.padEnd(22, '0')

describe('management: the list', () => {
  const second = machineClient({ client_id: 'second backend' })
  onEachDatabase({ options: { maxDelegationDepth: 3 }, clients: [second] }, (on) => {
    const ids: Record<string, string> = {}
    let clock: ReturnType<typeof stopClock>

    // In this order: from the oldest to the newest.
    before(async function () {
      clock = stopClock()
      if (!on.database) this.skip()
      const { deployment } = on
      const used = async (
        body: Readonly<Record<string, unknown>>,
        by: {
          actor?: string
          through?: Readonly<Record<string, unknown>>
          web?: boolean
          again?: boolean
        },
      ) => {
        const { id, subjectToken } = await issue(deployment, body)
        const actor = by.through
          ? withActor(await actorJwt(deployment, by.through))
          : by.actor
            ? withActor(await actorToken(deployment, { accountId: by.actor }))
            : {}
        const client = by.web ? { client: webClient() } : undefined
        const response = await exchange(deployment, { subject_token: subjectToken, ...actor }, client)
        expect(response.status, response.text).to.equal(200)
        if (by.again) await exchange(deployment, { subject_token: subjectToken }, client)
        return id
      }
      ids.replayed = await used({ userId: 'erin', context: TICKET }, { web: true, again: true })
      ids.expired = (await issue(deployment, { expiresIn: 1, clientId: 'spa' })).id
      ids.bound = (await issue(deployment, { userId: 'dave', actorId: 'bob', clientId: 'web' })).id
      ids.acted = await used({}, { actor: 'bob' })
      ids.byWeb = await used({ userId: 'dave' }, { web: true })
      ids.revoked = (await issue(deployment, { actorId: 'carol' })).id
      await revoke(deployment, ids.revoked)
      ids.revokedUsed = await used({ userId: 'dave' }, { actor: 'carol' })
      await revoke(deployment, ids.revokedUsed)
      ids.chain = await used({}, { through: { sub: 'dave', act: { sub: 'erin', act: { sub: 'carol' } } } })
      const token = await managementToken(deployment, { client: second })
      ids.second = (await issue(deployment, { userId: 'erin', clientId: 'web' }, token)).id
      ids.active = (await issue(deployment, { resource: API, context: TICKET })).id
      clock.tick(1)
    })
    after(() => clock.restore())

    const named = (found: readonly string[]) =>
      found.map((id) => Object.entries(ids).find(([, known]) => known === id)?.[0])

    const EVERY = [
      'active',
      'second',
      'chain',
      'revokedUsed',
      'revoked',
      'byWeb',
      'acted',
      'bound',
      'expired',
      'replayed',
    ]
    const LIVE = ['chain', 'byWeb', 'acted']
    const all = (...but: string[]) => EVERY.filter((name) => !but.includes(name))
    const filters: [parameters: Parameters, expected: string[]][] = [
      [{}, EVERY],
      [{ userId: 'alice' }, ['active', 'chain', 'revoked', 'acted', 'expired']],
      [{ userId: 'dave' }, ['revokedUsed', 'byWeb', 'bound']],
      [{ userId: 'alias:alice' }, ['active', 'chain', 'revoked', 'acted', 'expired']],
      [{ userId: 'alias:nobody' }, []],
      [{ userId: 'ALICE' }, []],
      [{ userId: 'alice ' }, []],
      [{ userId: '%' }, []],
      [{ userId: "' OR '1'='1" }, []],
      [{ actorId: 'bob' }, ['acted', 'bound']],
      [{ actorId: 'carol' }, ['chain', 'revokedUsed', 'revoked']],
      [{ actorId: 'dave' }, ['chain']],
      [{ actorId: 'erin' }, ['chain']],
      [{ actorId: 'erin', userId: 'alice', state: 'consumed', clientId: 'spa' }, ['chain']],
      [{ actorId: 'erin', userId: 'dave' }, []],
      [{ actorId: 'alice' }, []],
      [{ actorId: 'alias:carol' }, ['chain', 'revokedUsed', 'revoked']],
      [{ actorId: 'alias:carol', userId: 'alias:dave', state: 'revoked' }, ['revokedUsed']],
      [{ clientId: 'alias:web' }, []],
      [{ clientId: 'web' }, ['second', 'byWeb', 'bound', 'replayed']],
      [{ clientId: 'spa' }, ['chain', 'revokedUsed', 'acted', 'expired']],
      [{ clientId: 'backend' }, []],
      [{ createdBy: 'backend' }, EVERY.filter((name) => name !== 'second')],
      [{ createdBy: 'second backend' }, ['second']],
      [{ createdBy: 'second backend', userId: 'erin', clientId: 'web', state: 'active' }, ['second']],
      [{ createdBy: 'second backend', userId: 'alice' }, []],
      [{ createdBy: 'backend', actorId: 'bob' }, ['acted', 'bound']],
      [{ createdBy: 'backend', actorId: 'erin', state: 'consumed', limit: '1' }, ['chain']],
      [{ createdBy: 'Backend' }, []],
      [{ createdBy: 'spa' }, []],
      [{ state: 'active' }, ['active', 'second', 'bound']],
      [{ state: 'expired' }, ['expired']],
      [{ state: 'consumed' }, ['chain', 'byWeb', 'acted']],
      [{ state: 'revoked' }, ['revokedUsed', 'revoked', 'replayed']],
      [{ userId: 'alice', state: 'revoked' }, ['revoked']],
      [{ userId: 'dave', clientId: 'web' }, ['byWeb', 'bound']],
      [{ userId: 'dave', clientId: 'web', state: 'consumed' }, ['byWeb']],
      [{ userId: 'dave', actorId: 'bob', clientId: 'web', state: 'active' }, ['bound']],
      [{ userId: 'alice', actorId: 'bob', clientId: 'web', state: 'active' }, []],
      [{ actorId: 'carol', state: 'revoked', limit: '1' }, ['revokedUsed']],
      [{ live: 'true' }, LIVE],
      [{ live: 'false' }, all(...LIVE)],
      [{ live: 'true', limit: '2' }, LIVE.slice(0, 2)],
      [{ live: 'true', userId: 'dave' }, ['byWeb']],
      [{ live: 'true', state: 'consumed' }, LIVE],
      [{ live: 'true', state: 'revoked' }, []],
      [{ live: 'true', withoutActor: 'true' }, ['byWeb']],
      [{ live: 'true', withoutActor: 'false' }, ['chain', 'acted']],
      [{ live: 'false', actorId: 'carol' }, ['revokedUsed', 'revoked']],
      [{ replayed: 'true' }, ['replayed']],
      [{ replayed: 'false' }, all('replayed')],
      [{ replayed: 'true', createdBy: 'backend', state: 'revoked' }, ['replayed']],
      [{ replayed: 'true', live: 'true' }, []],
      [{ withoutActor: 'true' }, ['byWeb', 'replayed']],
      [{ withoutActor: 'false' }, all('byWeb', 'replayed')],
      [{ withoutActor: 'true', replayed: 'true' }, ['replayed']],
      [{ withoutActor: 'true', replayed: 'false', clientId: 'web' }, ['byWeb']],
      [{ withoutActor: 'false', state: 'revoked' }, ['revokedUsed', 'revoked']],
      [{ ticketId: 'T-1' }, ['active', 'replayed']],
      [{ ticketId: 'T-1', replayed: 'true' }, ['replayed']],
      [{ ticketId: 't-1' }, []],
      [{ ticketId: 'T-' }, []],
      [{ unacknowledged: 'true' }, ['byWeb', 'replayed']],
      [{ unacknowledged: 'true', replayed: 'true' }, ['replayed']],
      [{ unacknowledged: 'true', userId: 'alice' }, []],
      [{ jti: '0'.repeat(32) }, []],
      [{ jti: 'x'.repeat(255) }, []],
    ]
    for (const [parameters, expected] of filters) {
      it(`lists ${expected.join(', ') || 'nothing'} for ${JSON.stringify(parameters)}, newest first`, async () => {
        const response = await list(on.deployment, parameters)
        expect(response.status, response.text).to.equal(200)
        expect(named(idsOf(response))).to.deep.equal(expected)
      })
    }

    it('finds a record by the jti of its access token, and by those of what came of it', async () => {
      for (const name of ['chain', 'replayed', 'active'] as const) {
        const id = ids[name] ?? ''
        expect(named(idsOf(await list(on.deployment, { jti: id })))).to.deep.equal([name])
        expect(named(idsOf(await list(on.deployment, { jti: `${id}.${TAIL}` })))).to.deep.equal([name])
      }
      const { chain = '' } = ids
      expect(named(idsOf(await list(on.deployment, { jti: chain, live: 'true' })))).to.deep.equal(['chain'])
      expect(idsOf(await list(on.deployment, { jti: chain, live: 'false' }))).to.deep.equal([])
      expect(idsOf(await list(on.deployment, { jti: chain, userId: 'dave' }))).to.deep.equal([])
    })

    it('asks storage nothing for a text that can be the jti of none', async () => {
      const real = createSubjectTokenStore(on.database.sequelize)
      const asked: unknown[] = []
      const counting: typeof real.list = async (...call) => {
        asked.push(call)
        return real.list(...call)
      }
      const findAccount = async (_ctx: unknown, id: string) => void asked.push(id)
      const deployment = await on.start({
        options: { store: { ...real, list: counting } },
        configuration: { findAccount },
      })
      const { chain = '' } = ids
      for (const jti of [
        'x',
        chain.toUpperCase(),
        chain.slice(1),
        `${chain}0`,
        `${chain}.`,
        `${chain}.${TAIL}0`,
        `${chain}.${TAIL.slice(1)}`,
        `${chain}.${TAIL.slice(1)}=`,
        `${chain}.${TAIL}.${TAIL}`,
        `${chain}\n`,
        `.${TAIL}`,
      ]) {
        const { status, body } = await list(deployment, { jti, userId: 'alice' })
        expect([status, body], jti).to.deep.equal([200, { items: [] }])
      }
      expect(asked).to.deep.equal([])
    })

    it('selects by the second of creation, from the first one on and up to the last one, alone and with other filters', async () => {
      const first = now()
      const made: string[] = []
      for (let second = 0; second < 4; second += 1) {
        made.unshift((await issue(on.deployment, { userId: 'bob' })).id)
        clock.tick(1)
      }
      const select = async (parameters: Parameters) => idsOf(await list(on.deployment, parameters))
      const [from, until] = [String(first + 1), String(first + 3)]
      for (const others of [{}, { userId: 'bob' }, { state: 'active' }, { replayed: 'false' }]) {
        expect(await select({ ...others, createdAfter: from, createdBefore: until })).to.deep.equal(
          made.slice(1, 3),
        )
        expect(await select({ ...others, createdAfter: from })).to.deep.equal(made.slice(0, 3))
        expect(await select({ ...others, createdAfter: until, createdBefore: from })).to.deep.equal([])
      }
      expect(await select({ userId: 'bob', createdBefore: until })).to.deep.equal(made.slice(1))
      expect(await select({ createdBefore: '0' })).to.deep.equal([])
      expect(await select({ createdAfter: '999999999999' })).to.deep.equal([])
      const cursor = made[1] ?? ''
      expect(await select({ createdAfter: from, createdBefore: until, cursor })).to.deep.equal([made[2]])
      for (const mark of ['live', 'withoutActor', 'replayed'])
        expect(await select({ [mark]: 'true', createdAfter: from })).to.deep.equal([])
      expect(await select({ live: 'true', createdBefore: String(first) })).to.have.length(LIVE.length)
    })

    it('moves an expiring token from one state filter to the other, to the second', async () => {
      const { id } = await issue(on.deployment, { userId: 'bob', expiresIn: 60 })
      const states = async () => {
        const found: string[] = []
        for (const state of ['active', 'expired', 'consumed', 'revoked']) {
          const response = await list(on.deployment, { userId: 'bob', state })
          if (idsOf(response).includes(id)) found.push(state, response.body.items[0].state)
        }
        return found
      }
      clock.tick(59)
      expect(await states()).to.deep.equal(['active', 'active'])
      clock.tick(1)
      expect(await states()).to.deep.equal(['expired', 'expired'])
    })

    it('lists as live what someone can use, to the second in which the access token expires', async () => {
      const { id, subjectToken } = await issue(on.deployment, { userId: 'bob' })
      const isLive = async () => idsOf(await list(on.deployment, { live: 'true' })).includes(id)
      expect(await isLive()).to.equal(false)
      await exchange(on.deployment, { subject_token: subjectToken })
      clock.tick(599)
      expect(await isLive()).to.equal(true)
      clock.tick(1)
      expect(await isLive()).to.equal(false)
    })
  })
})

describe('management: another issuer on the same database', () => {
  onEachDatabase({}, (on) => {
    it('sees, lists and revokes nothing of ours, whatever it requests', async () => {
      const { deployment } = on
      const other = await on.start({ issuer: 'https://other.example.com/oidc' })
      const resource = 'https://other.example.com/api'
      const foreign = { token: await managementToken(other, { resource }) }
      const [unused, used] = [await issue(deployment, { actorId: 'bob' }), await issue(deployment)]
      const { body } = await exchange(deployment, { subject_token: used.subjectToken })
      expect(body).to.have.property('access_token')
      const own = await issue(other, {}, foreign.token)

      const listed = await manage(other, 'GET', '', foreign)
      expect(idsOf(listed)).to.deep.equal([own.id])
      const after = await manage(other, 'GET', `?cursor=${'f'.repeat(32)}`, foreign)
      expect(idsOf(after)).to.deep.equal([own.id])
      for (const { id } of [unused, used]) {
        for (const method of ['GET', 'DELETE']) {
          const response = await manage(other, method, `/${id}`, foreign)
          expect([response.status, response.body.error]).to.deep.equal([404, 'not_found'])
        }
      }
      for (const [parameters, revoked] of [
        ['?actorId=bob', 0],
        ['?userId=alice', 1],
      ] as const) {
        expect((await manage(other, 'DELETE', parameters, foreign)).body).to.deep.equal({ revoked })
      }

      expect((await show(deployment, unused.id)).body.state).to.equal('active')
      expect((await show(deployment, used.id)).body.state).to.equal('consumed')
      expect((await revokeWhere(deployment, { userId: 'alice' })).body).to.deep.equal({ revoked: 2 })
    })
  })
})
