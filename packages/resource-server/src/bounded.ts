/** Reads a stream to its end, unless it is longer than `limit` bytes: then it is cancelled, and this throws. */
export async function readUpTo(limit: number, stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const reader = stream.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    chunks.push(next.value)
    size += next.value.byteLength
    if (size > limit) {
      // Not awaited: a source that never confirms would hold up the refusal.
      reader.cancel().catch(() => {})
      throw new TooLong(`more than ${limit} bytes`)
    }
  }
  const bytes = new Uint8Array(size)
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.byteLength
  }
  return bytes
}

export class TooLong extends Error {}
