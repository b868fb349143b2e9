/** Responses that the client does not take for those of the API. */
import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { json, type StandIn, startStandIn } from '../../../fixtures/stand-in.ts'
import { createImpersonationClient, ImpersonationError } from '../src/index.ts'

const ID = '0'.repeat(32)
const credentials = { clientId: 'backend', clientSecret: 'backend-secret' }

async function codeOf(promise: Promise<unknown>): Promise<[status: number, code: string]> {
  const error = await promise.catch((thrown: unknown) => thrown)
  expect(error).to.be.instanceOf(ImpersonationError)
  const { status, code } = error as ImpersonationError
  return [status, code]
}

describe('client: responses', () => {
  let standIn: StandIn
  afterEach(() => standIn.close())

  async function connect(api: (response: ServerResponse) => void) {
    standIn = await startStandIn({ api })
    return createImpersonationClient({ issuer: standIn.issuer, ...credentials })
  }

  describe('of a list', () => {
    for (const [title, cursors, pages] of [
      ['the cursor that was sent', ['c1', 'c1'], 2],
      ['a cursor of an earlier page', ['c1', 'c2', 'c1'], 3],
      ['a number', [5], 1],
      ['an empty cursor', [''], 1],
      ['null', [null], 1],
    ] as const) {
      it(`end it if the next cursor is ${title}`, async () => {
        let page = 0
        const client = await connect((response) => {
          const nextCursor = cursors[page++]
          json(response, 200, { items: [], ...(nextCursor !== undefined && { nextCursor }) })
        })
        const read = async () => {
          for await (const _ of client.list()) expect.fail('a record')
        }
        expect(await codeOf(read())).to.deep.equal([200, 'invalid_response'])
        expect(page).to.equal(pages)
      })
    }

    it('end it if its first cursor returns', async () => {
      const client = await connect((response) => json(response, 200, { items: [], nextCursor: 'c0' }))
      const next = client.list({ cursor: 'c0' })[Symbol.asyncIterator]().next()
      expect(await codeOf(next)).to.deep.equal([200, 'invalid_response'])
    })
  })

  describe('of issue', () => {
    for (const location of [
      ...[ID, `/x/${ID}?y#z`, '/x/', `/x/a%2F${ID}`, `/x/${ID}0`, '/x/summary', `/x/${'A'.repeat(32)}`],
      undefined,
    ]) {
      it(`need a Location that ends with an id, not ${location}`, async () => {
        const client = await connect((response) =>
          json(
            response,
            201,
            { subjectToken: 'sub_x', expiresIn: 1 },
            location === undefined ? {} : { location },
          ),
        )
        const refused = await codeOf(client.issue({ userId: 'alice' }))
        expect(refused).to.deep.equal([201, 'invalid_response'])
      })
    }
  })
})
