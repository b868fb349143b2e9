/** Single use (docs/protocol.md §3.1): of any number of exchanges at the same moment exactly one wins, on each database. */
import { expect } from 'chai'
import { API, OPAQUE_API, useDeployment } from '../../../fixtures/deployment.ts'
import type { HttpResponse, Parameters } from '../../../fixtures/http.ts'
import { onEachKind } from '../../../fixtures/on-database.ts'
import { SUBJECT_TOKEN_REFUSED } from '../../../fixtures/refused.ts'
import { exchange, introspect, issue } from '../../../fixtures/requests.ts'

/** Holds the claims function until so many exchanges have reached it: all of them have read their token as unspent. */
function starter() {
  const waiting: (() => void)[] = []
  let racers = 0
  return {
    expects(count: number) {
      racers = count
    },
    async wait() {
      await new Promise<void>((resolve) => {
        if (waiting.push(resolve) === racers) for (const go of waiting.splice(0)) go()
      })
      return {}
    },
  }
}

function expectOneWinner(responses: readonly HttpResponse[]): HttpResponse {
  const losers = responses.filter(({ status }) => status !== 200)
  expect(losers).to.have.length(responses.length - 1)
  for (const { status, body } of losers) expect([status, body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
  return responses.find(({ status }) => status === 200) ?? expect.fail()
}

describe('token exchange: single use', () => {
  onEachKind((kind) => {
    const start = starter()
    const deployment = useDeployment({ database: kind, options: { getCustomJwtClaims: start.wait } })

    const race = (requests: readonly Parameters[]) => {
      start.expects(requests.length)
      return Promise.all(requests.map((request) => exchange(deployment, request)))
    }

    it('lets exactly one of 50 win, in each of 20 rounds, and tells the others as replays', async () => {
      for (let round = 0; round < 20; round += 1) {
        const { subjectToken, id } = await issue(deployment)
        const before = deployment.events.length
        expectOneWinner(await race(Array(50).fill({ subject_token: subjectToken })))
        const told = deployment.events.slice(before)
        const replays = told.filter(({ name }) => name === 'subject_token.replayed')
        expect([told.length, replays.length]).to.deep.equal([50, 49])
        for (const { payload } of told) expect(payload).to.include({ id })
      }
    }).timeout(60_000)

    it('lets one win where each asks for another resource, and ends its token, and no other', async () => {
      const other = await issue(deployment)
      const [kept] = await race([{ subject_token: other.subjectToken, resource: OPAQUE_API }])
      const { subjectToken } = await issue(deployment)
      const responses = await race(
        Array.from({ length: 10 }, (_, index) => ({
          subject_token: subjectToken,
          resource: index % 2 === 0 ? API : OPAQUE_API,
        })),
      )
      const { body } = expectOneWinner(responses)
      if (!body.access_token.includes('.'))
        expect(await introspect(deployment, body.access_token)).to.deep.equal({ active: false })
      expect((await introspect(deployment, kept?.body.access_token)).active).to.equal(true)
    })

    it('lets every one of 50 tokens win that are exchanged at once', async () => {
      const tokens = await Promise.all(Array.from({ length: 50 }, () => issue(deployment)))
      const responses = await race(tokens.map(({ subjectToken }) => ({ subject_token: subjectToken })))
      expect(responses.map(({ status }) => status)).to.deep.equal(Array(50).fill(200))
      expect(new Set(responses.map(({ body }) => body.access_token))).to.have.length(50)
    })
  })
})
