/** What the client keeps: one value for all who ask, and no failure. */
import { expect } from 'chai'
import { Kept } from '../src/kept.ts'

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
