/** When the client requests another management token, and what it keeps: against a provider in this process, without delay. */
import { expect } from 'chai'
import { whileStopped } from '../../../fixtures/clock.ts'
import { Kept } from '../src/kept.ts'
import { connect, ID, METADATA } from './calling.ts'

// Without a body: not even an empty one.
const refuse = () => new Response(null, { status: 401 })
const show = () => Response.json({ id: ID })

describe('client: management tokens', () => {
  it('are requested again once for all calls that are refused in the same instant', async () => {
    const { client, tokens } = connect({ api: (token) => (token === 'token-1' ? refuse() : show()) })
    const records = await Promise.all(Array.from({ length: 10 }, () => client.get(ID)))
    expect(records).to.deep.equal(Array(10).fill({ id: ID }))
    expect(tokens).to.deep.equal(['token-1', 'token-2'])
  })

  it('are not requested again for a call that was refused with an older one', async () => {
    await whileStopped(async (clock) => {
      const asked = Promise.withResolvers<void>()
      const response = Promise.withResolvers<Response>()
      const api = (token: string) => {
        asked.resolve()
        return token === 'token-1' ? response.promise : show()
      }
      const { client, tokens } = connect({ expires_in: 600, api })
      const slow = client.get(ID)
      await Promise.race([asked.promise, slow])
      clock.tick(600)
      await client.get(ID)
      response.resolve(refuse())
      expect(await slow).to.deep.equal({ id: ID })
      expect(tokens).to.deep.equal(['token-1', 'token-2'])
    })
  })

  /** How long they last, and how many were requested after so many seconds more. */
  const lives: [
    title: string,
    expires_in: number | undefined,
    ...requested: [after: number, tokens: number][],
  ][] = [
    ['until half a minute before they end', 600, [0, 1], [569, 1], [1, 2], [3600, 3]],
    ['for half a minute if the provider does not say how long they last', undefined, [0, 1], [29, 1], [1, 2]],
  ]
  for (const [title, expires_in, ...requested] of lives) {
    it(`are kept ${title}, and the metadata for an hour`, async () => {
      await whileStopped(async (clock) => {
        const { client, tokens, to } = connect({ expires_in })
        let passed = 0
        for (const [seconds, times] of requested) {
          clock.tick(seconds)
          passed += seconds
          await client.get(ID)
          expect(tokens, `after ${passed} s`).to.have.length(times)
        }
        expect(to(METADATA)).to.have.length(passed > 3600 ? 2 : 1)
      })
    })
  }
})

describe('client: what is kept', () => {
  it('is the newest, even if the request for an older one fails after it', async () => {
    const requests: PromiseWithResolvers<{ value: string; life: number }>[] = []
    const kept = new Kept(() => {
      const request = Promise.withResolvers<{ value: string; life: number }>()
      requests.push(request)
      return request.promise
    })
    const older = kept.get().catch((thrown: unknown) => thrown)
    const newer = kept.renew()
    requests[0]?.reject('too late')
    expect(await older).to.equal('too late')
    requests[1]?.resolve({ value: 'newer', life: 60 })
    expect(await newer).to.equal('newer')
    expect(await kept.get()).to.equal('newer')
    expect(requests).to.have.length(2)
  })
})
