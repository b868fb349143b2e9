/** Single use (protocol.md §3.1): of any number of simultaneous exchanges exactly one wins. */
import { expect } from 'chai'
import { storedModels } from '../../fixtures/clients.ts'
import { DATABASES } from '../../fixtures/databases.ts'
import {
  API,
  type Deployment,
  OPAQUE_API,
  startDeployment,
  withDeployment,
} from '../../fixtures/deployment.ts'
import type { HttpResponse, Parameters } from '../../fixtures/http.ts'
import { beforeOn } from '../../fixtures/on-database.ts'
import { SUBJECT_TOKEN_REFUSED } from '../../fixtures/refused.ts'
import { exchange, introspect, issue } from '../../fixtures/requests.ts'

/** Holds the claims function until this many exchanges have reached it, so all of them have read the token as unspent. */
function starter() {
  let expected = 0
  let waiting: (() => void)[] = []
  return {
    expect(racers: number) {
      expected = racers
    },
    async wait() {
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
        if (waiting.length < expected) return
        for (const go of waiting) go()
        waiting = []
      })
      return {}
    },
  }
}

/** Sends the same exchange this many times at once. */
const race = (deployment: Deployment, racers: number, parameters: Parameters): Promise<HttpResponse[]> =>
  Promise.all(Array.from({ length: racers }, () => exchange(deployment, parameters)))

function expectOneWinner(responses: readonly HttpResponse[]): HttpResponse {
  const winners = responses.filter(({ status }) => status === 200)
  expect(winners).to.have.lengthOf(1)
  for (const loser of responses.filter(({ status }) => status !== 200)) {
    expect([loser.status, loser.body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
  }
  return winners[0] as HttpResponse
}

const count = (names: readonly string[]) =>
  Object.fromEntries(
    [...new Set(names)].map((name) => [name, names.filter((other) => other === name).length]),
  )

describe('token exchange: single use', () => {
  for (const kind of DATABASES) {
    describe(`on ${kind}`, () => {
      const start = starter()
      let deployment: Deployment
      beforeOn(kind, async () => {
        deployment = await startDeployment({ database: kind, options: { getCustomJwtClaims: start.wait } })
      })
      after(() => deployment?.close())

      it('lets exactly one of 50 simultaneous exchanges win, in each of 20 rounds', async () => {
        for (let round = 0; round < 20; round += 1) {
          const { subjectToken, id } = await issue(deployment)
          const before = deployment.events.length
          start.expect(50)
          expectOneWinner(await race(deployment, 50, { subject_token: subjectToken }))
          const events = deployment.events.slice(before)
          expect(count(events.map(({ name }) => name))).to.deep.equal({
            'subject_token.exchanged': 1,
            'subject_token.replayed': 49,
          })
          for (const { payload } of events) expect(payload).to.include({ id })
        }
      }).timeout(60_000)

      it('lets exactly one win if each requests another resource', async () => {
        const { subjectToken } = await issue(deployment)
        start.expect(10)
        const asked = Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? API : OPAQUE_API))
        const responses = await Promise.all(
          asked.map((resource) => exchange(deployment, { subject_token: subjectToken, resource })),
        )
        expectOneWinner(responses)
      })

      it('lets every one of 50 tokens win that are exchanged at once', async () => {
        const tokens = await Promise.all(Array.from({ length: 50 }, () => issue(deployment)))
        start.expect(50)
        const responses = await Promise.all(
          tokens.map(({ subjectToken }) => exchange(deployment, { subject_token: subjectToken })),
        )
        expect(new Set(responses.map(({ status }) => status))).to.deep.equal(new Set([200]))
        expect(new Set(responses.map(({ body }) => body.access_token))).to.have.lengthOf(50)
      })
    })
  }

  it('destroys no Grant for those who lose a JWT, which has none', async () => {
    const { adapter } = storedModels()
    const start = starter()
    const destroyed: string[] = []
    const watched: typeof adapter = (model) => ({
      ...adapter(model),
      destroy: async (id) => void destroyed.push(`${model}:${id}`),
    })
    const overrides = { options: { getCustomJwtClaims: start.wait }, configuration: { adapter: watched } }
    await withDeployment(overrides, async (deployment) => {
      const { subjectToken } = await issue(deployment)
      start.expect(2)
      expectOneWinner(await race(deployment, 2, { subject_token: subjectToken }))
      expect(destroyed).to.deep.equal([])
    })
  })

  describe('with an opaque access token', () => {
    it("destroys the losers' Grants, and ends the winner's token", async () => {
      const models = storedModels()
      const start = starter()
      const overrides = {
        options: { getCustomJwtClaims: start.wait },
        configuration: { adapter: models.adapter },
      }
      await withDeployment(overrides, async (deployment) => {
        const { subjectToken } = await issue(deployment)
        start.expect(20)
        const winner = expectOneWinner(
          await race(deployment, 20, { subject_token: subjectToken, resource: OPAQUE_API }),
        )
        expect([...models.payloads.keys()].filter((key) => key.startsWith('Grant:'))).to.deep.equal([])
        expect(await introspect(deployment, winner.body.access_token)).to.deep.equal({ active: false })
      })
    })

    it('is active until a replay ends it', () =>
      withDeployment({}, async (deployment) => {
        const { subjectToken } = await issue(deployment)
        const { body } = await exchange(deployment, { subject_token: subjectToken, resource: OPAQUE_API })
        expect((await introspect(deployment, body.access_token)).active).to.equal(true)
        // Even for another resource.
        const replay = await exchange(deployment, { subject_token: subjectToken })
        expect([replay.status, replay.body]).to.deep.equal([400, SUBJECT_TOKEN_REFUSED])
        expect(await introspect(deployment, body.access_token)).to.deep.equal({ active: false })
        const event = deployment.events.at(-1)
        expect(event?.name).to.equal('subject_token.replayed')
        expect(event?.payload).to.include({ ended: 'now', resource: OPAQUE_API })
      }))

    it("ends no one else's token by a replay", () =>
      withDeployment({}, async (deployment) => {
        const [one, two] = [await issue(deployment), await issue(deployment)]
        const tokens: string[] = []
        for (const { subjectToken } of [one, two]) {
          const { body } = await exchange(deployment, { subject_token: subjectToken, resource: OPAQUE_API })
          tokens.push(body.access_token)
        }
        await exchange(deployment, { subject_token: one.subjectToken })
        const states = await Promise.all(tokens.map((token) => introspect(deployment, token)))
        expect(states.map(({ active }) => active)).to.deep.equal([false, true])
      }))
  })
})
