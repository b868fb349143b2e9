/** Pages of the list, and refused queries, with the name of the parameter (protocol.md §2.2, §2.4). */
import { expect } from 'chai'
import { onEachDatabase, onSqlite } from '../../fixtures/each-database.ts'
import type { Parameters } from '../../fixtures/http.ts'
import { idsOf, list, manage } from '../../fixtures/management.ts'
import { issue, managementToken } from '../../fixtures/requests.ts'
import { newToken, newUse } from '../../fixtures/subject-tokens.ts'
import { createSubjectTokenStore } from '../../src/sequelize/index.ts'

const AN_ID = '0'.repeat(32)

describe('management: pages of the list', () => {
  onEachDatabase({}, (on) => {
    let token: string
    /** Oldest first, all of one user, in fewer seconds than there are tokens. */
    const ids: string[] = []
    before(async function () {
      if (!on.database) this.skip()
      token = await managementToken(on.deployment)
      for (let index = 0; index < 103; index += 1) ids.push((await issue(on.deployment, {}, token)).id)
    })
    const newest = (from: number, to: number) => [...ids].reverse().slice(from, to)

    it('have 50 items by default, and the rest after the cursor', async () => {
      const first = await list(on.deployment)
      expect(idsOf(first)).to.deep.equal(newest(0, 50))
      expect(first.body.nextCursor).to.equal(newest(0, 50).at(-1))
      const second = await list(on.deployment, { cursor: first.body.nextCursor })
      expect(idsOf(second)).to.deep.equal(newest(50, 100))
      const third = await list(on.deployment, { cursor: second.body.nextCursor })
      expect(idsOf(third)).to.deep.equal(newest(100, 103))
      expect(third.body).to.have.all.keys('items')
    })

    it('have from 1 to 100 items', async () => {
      const one = await list(on.deployment, { limit: '1' })
      expect([idsOf(one), one.body.nextCursor]).to.deep.equal([newest(0, 1), newest(0, 1)[0]])
      const hundred = await list(on.deployment, { limit: '100' })
      expect([idsOf(hundred), hundred.body.nextCursor]).to.deep.equal([newest(0, 100), newest(99, 100)[0]])
    })

    it('have no cursor when the last item just fits', async () => {
      const cursor = newest(1, 2)[0]
      const response = await list(on.deployment, { cursor: newest(2, 3)[0], limit: '100' })
      expect(idsOf(response)).to.deep.equal(newest(3, 103))
      expect(response.body).to.have.all.keys('items')
      expect((await list(on.deployment, { cursor, limit: '100' })).body.nextCursor).to.equal(
        newest(101, 102)[0],
      )
    })

    it('are empty before the oldest, and for a user without tokens', async () => {
      expect((await list(on.deployment, { cursor: ids[0] })).body).to.deep.equal({ items: [] })
      expect((await list(on.deployment, { userId: 'erin' })).body).to.deep.equal({ items: [] })
    })

    it('continue with the same filter, without tokens that were issued in between', async () => {
      const first = await list(on.deployment, { userId: 'alice', limit: '3' })
      const { id } = await issue(on.deployment, {}, token)
      const second = await list(on.deployment, { userId: 'alice', limit: '3', cursor: first.body.nextCursor })
      expect(idsOf(second)).to.deep.equal(newest(3, 6))
      ids.push(id)
    })

    it('continue where no row has the id of the cursor, because it has been purged', async () => {
      const first = await list(on.deployment, { limit: '3' })
      const purged = (BigInt(`0x${first.body.nextCursor}`) - 1n).toString(16).padStart(32, '0')
      const second = await list(on.deployment, { limit: '3', cursor: purged })
      expect(idsOf(second)).to.deep.equal(newest(3, 6))
    })
  })
})

describe('management: a short page of the list', () => {
  onSqlite({}, (on) => {
    it('has the last row that was read as its cursor, not the last one shown', async () => {
      const store = createSubjectTokenStore(on.database.sequelize)
      const { issuer } = on.deployment
      const ids: string[] = []
      for (let index = 0; index < 1002; index += 1) {
        const token = newToken({ issuer })
        await store.insert(token)
        ids.unshift(token.id)
      }
      const ends = [ids[0], ids.at(-1)]
      for (const id of ends) {
        const token = (await store.find(issuer, id ?? '')) ?? expect.fail('no such record')
        expect(await store.consume(token, token.createdAt, newUse())).to.equal(true)
      }
      const first = await list(on.deployment, { state: 'consumed' })
      expect(idsOf(first)).to.deep.equal([ends[0]])
      expect(first.body.nextCursor).to.equal(ids[999])
      const second = await list(on.deployment, { state: 'consumed', cursor: first.body.nextCursor })
      expect([idsOf(second), second.body.nextCursor]).to.deep.equal([[ends[1]], undefined])
    })
  })
})

/** Whose name is not repeated. */
const UNNAMED = 'a query parameter'

const refused: [query: string, field: string][] = [
  ['?unknown=1', 'unknown'],
  ['?user_id=alice', 'user_id'],
  ['?jti=', 'jti'],
  [`?jti=${'a'.repeat(256)}`, 'jti'],
  ['?jti=a&jti=a', 'jti'],
  ['?ticketId=', 'ticketId'],
  [`?ticketId=${'a'.repeat(256)}`, 'ticketId'],
  ['?ticketId=%00', 'ticketId'],
  ['?unacknowledged=false', 'unacknowledged'],
  ['?unacknowledged=', 'unacknowledged'],
  ['?unacknowledged=1', 'unacknowledged'],
  ['?userid=alice', 'userid'],
  ['?__proto__=1', '__proto__'],
  ['?constructor=1', 'constructor'],
  ['?access_token=x', 'access_token'],
  ['?userId=alice&unknown', 'unknown'],
  ['?userId=alice&userId=alice', 'userId'],
  ['?userId=&userId=alice', 'userId'],
  ['?limit=1&limit=1', 'limit'],
  ['?state=active&state=expired', 'state'],
  ['?userId[]=alice', UNNAMED],
  ['?=alice', UNNAMED],
  ['?%3Cscript%3E=1', UNNAMED],
  [`?${'x'.repeat(32)}=1`, 'x'.repeat(32)],
  [`?${'x'.repeat(33)}=1`, UNNAMED],
  ['?userId=', 'userId'],
  ['?userId', 'userId'],
  ['?actorId=', 'actorId'],
  ['?clientId=', 'clientId'],
  ['?createdBy=', 'createdBy'],
  ['?createdBy=a&createdBy=b', 'createdBy'],
  ['?createdBy=%00', 'createdBy'],
  ['?createdby=backend', 'createdby'],
  ['?userId=%00', 'userId'],
  ['?actorId=a%00', 'actorId'],
  [`?userId=${'a'.repeat(256)}`, 'userId'],
  [`?clientId=${'%F0%9F%8E%AB'.repeat(256)}`, 'clientId'],
  ['?state=', 'state'],
  ['?state=Active', 'state'],
  ['?state=used', 'state'],
  ['?state=active%20', 'state'],
  ['?state=toString', 'state'],
  ['?limit=', 'limit'],
  ['?limit=0', 'limit'],
  ['?limit=101', 'limit'],
  ['?limit=-1', 'limit'],
  ['?limit=1.0', 'limit'],
  ['?limit=1e1', 'limit'],
  ['?limit=0x10', 'limit'],
  ['?limit=x10', 'limit'],
  ['?limit=1000', 'limit'],
  ['?limit=010', 'limit'],
  ['?limit=+1', 'limit'],
  ['?limit=%D9%A1', 'limit'],
  ['?limit=1;DROP', 'limit'],
  ...['live', 'replayed', 'withoutActor'].flatMap((name) =>
    ['', 'True', '1', 'true%20', 'yes', `true&${name}=true`].map(
      (value) => [`?${name}=${value}`, name] as [string, string],
    ),
  ),
  ...['createdAfter', 'createdBefore'].flatMap((name) =>
    ['', '-1', '1.5', '01', '1e9', '+1', '1000000000000', '2026-11-21'].map(
      (value) => [`?${name}=${value}`, name] as [string, string],
    ),
  ),
  ['?cursor=', 'cursor'],
  ['?cursor=x', 'cursor'],
  [`?cursor=${AN_ID.slice(1)}`, 'cursor'],
  [`?cursor=${AN_ID}0`, 'cursor'],
  [`?cursor=${'F'.repeat(32)}`, 'cursor'],
  [`?cursor=${AN_ID}%0A`, 'cursor'],
  ['?userId=%', 'the query'],
  ['?userId=%ZZ', 'the query'],
  ['?userId=%E0%A4%A', 'the query'],
  ['?userId=%C3%28', 'the query'],
  ['?userId=%ED%A0%80', 'the query'],
  ['?%FF=1', 'the query'],
]

const NAME = 'must be a string of 1 to 255 characters'
const TIME = 'must be whole seconds since the epoch'
const FLAG = 'must be true or false'
/** What is said of a parameter that is known, and was sent once. */
const RULES: Readonly<Record<string, string>> = {
  ...{ userId: NAME, actorId: NAME, clientId: NAME, createdBy: NAME, jti: NAME, ticketId: NAME },
  unacknowledged: 'must be true',
  ...{ live: FLAG, replayed: FLAG, withoutActor: FLAG, createdAfter: TIME, createdBefore: TIME },
  state: 'must be one of active, expired, consumed, revoked',
  limit: 'must be a whole number from 1 to 100',
  cursor: 'must be the id of a subject token',
  'the query': 'is malformed',
}
const sentenceOf = (query: string, field: string): string => {
  if (field === UNNAMED) return 'unknown parameter'
  if (query.split(`${field}=`).length > 2) return `${field} must not be repeated`
  return Object.hasOwn(RULES, field) ? `${field} ${RULES[field]}` : `unknown parameter: ${field}`
}

describe('management: a query of the list', () => {
  onSqlite({}, (on) => {
    for (const [query, field] of refused) {
      const shown = query.length > 60 ? `${query.slice(0, 60)}…` : query
      it(`is refused, naming ${field}: ${shown}`, async () => {
        const response = await manage(on.deployment, 'GET', query)
        expect([response.status, response.body], response.text).to.deep.equal([
          400,
          { error: 'invalid_request', error_description: sentenceOf(query, field) },
        ])
        expect(response.text).not.to.include('<')
        expect(response.headers.get('cache-control')).to.equal('no-store')
        expect(on.deployment.errors).to.deep.equal([])
      })
    }
  })

  onEachDatabase({}, (on) => {
    const taken: Parameters[] = [
      { userId: 'a'.repeat(255) },
      { userId: '🎫'.repeat(255) },
      { actorId: 'a b+c&d=e%' },
      {
        live: 'true',
        replayed: 'true',
        withoutActor: 'false',
        createdAfter: '0',
        createdBefore: '999999999999',
      },
      {
        limit: '100',
        cursor: AN_ID,
        state: 'active',
        userId: 'a',
        actorId: 'b',
        clientId: 'c',
        createdBy: 'd',
      },
    ]
    for (const parameters of taken) {
      it(`is accepted: ${JSON.stringify(parameters).slice(0, 60)}`, async () => {
        const response = await list(on.deployment, parameters)
        expect([response.status, response.body], response.text).to.deep.equal([200, { items: [] }])
      })
    }

    it('is accepted when it is empty, or has only separators', async () => {
      for (const query of ['?', '?&', '?&&']) {
        const response = await manage(on.deployment, 'GET', query)
        expect([response.status, response.body], response.text).to.deep.equal([200, { items: [] }])
      }
    })

    it('finds a name with every character that a URL encodes', async () => {
      const actorId = 'a b+c&d=e%/?#[]ü🎫"\\'
      const { id } = await issue(on.deployment, { actorId })
      expect(idsOf(await list(on.deployment, { actorId }))).to.deep.equal([id])
    })
  })
})
