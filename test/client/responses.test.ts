/** Responses that `./client` does not take for those of the API. */
import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { json, type StandIn, startStandIn } from '../../fixtures/stand-in.ts'
import { createImpersonationClient, ImpersonationError } from '../../src/client/index.ts'

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

  describe('of issue', () => {
    for (const location of ['abc', '/x/abc?y#z', '/x/', '/x/a%2Fb', `/x/${'a'.repeat(256)}`, undefined]) {
      it(`need a Location that ends with an id, not ${location?.slice(0, 12)}`, async () => {
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
