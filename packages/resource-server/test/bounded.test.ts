/** However much a provider sends, and whatever it decompresses to: only so much of it is ever held. */
import { deflateSync } from 'node:zlib'
import { expect } from 'chai'
import { readUpTo, TooLong } from '../src/bounded.ts'

/** A stream of these chunks, the last one without end, that counts what was taken from it. */
function endless(chunk: Uint8Array) {
  const taken = { bytes: 0, cancelled: false }
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      taken.bytes += chunk.byteLength
      controller.enqueue(chunk)
    },
    cancel() {
      taken.cancelled = true
    },
  })
  return { stream, taken }
}

describe('resource server: what is read at most', () => {
  it('ends a stream that has no end', async () => {
    const { stream, taken } = endless(new Uint8Array(1000))
    expect(await readUpTo(10_000, stream).catch((error) => error)).to.be.instanceOf(TooLong)
    expect(taken.bytes).to.be.within(10_000, 13_000)
    expect(taken.cancelled).to.equal(true)
  })

  it('has little more of a bomb decompressed than it needs to know it for one', async () => {
    const bomb = new Uint8Array(deflateSync(Buffer.alloc(50_000_000)))
    let decompressed = 0
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        decompressed += chunk.byteLength
        controller.enqueue(chunk)
      },
    })
    const stream = new Blob([bomb])
      .stream()
      .pipeThrough(new DecompressionStream('deflate'))
      .pipeThrough(counter)
    expect(await readUpTo(131_072, stream).catch((error) => error)).to.be.instanceOf(TooLong)
    expect(decompressed).to.be.within(131_072, 262_144)
  })
})
