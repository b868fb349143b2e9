/** What the fuzzer makes of the end of a connection. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect } from 'chai'
import { openWire } from '../../fuzz/wire.ts'

/** Sends `bytes` to a server that responds with `text`, and ends the connection. */
async function responseOf(text: string) {
  const server = createServer((socket) => void socket.on('data', () => socket.end(text)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const wire = openWire(`http://127.0.0.1:${Object(server.address()).port}`, 2000)
  try {
    return await wire.raw(Buffer.from('GET / HTTP/1.1\r\n\r\n')).catch((error: Error) => error.message)
  } finally {
    wire.close()
    server.close()
  }
}

describe('fuzz: the end of a connection', () => {
  it('is no response, also after an interim one', async () => {
    expect(await responseOf('')).to.equal(undefined)
    expect(await responseOf('HTTP/1.1 100 Continue\r\n\r\n')).to.equal(undefined)
  })

  it('in the middle of a response is a failure', async () => {
    expect(await responseOf('HTTP/1.1 200 OK\r\ncontent-')).to.match(/^half a response/)
    expect(await responseOf('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200')).to.match(/^half a response/)
  })

  it('completes a response without a length', async () => {
    const response = Object(await responseOf('HTTP/1.1 200 OK\r\n\r\nwhole'))
    expect([response.status, response.text]).to.deep.equal([200, 'whole'])
  })
})
