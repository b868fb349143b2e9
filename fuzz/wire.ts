/** HTTP/1.1 over bare sockets: it sends any bytes, and costs little beside the server that it tests. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { HttpResponse } from '../fixtures/http.ts'

export interface WireRequest {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface Wire {
  /** @throws {Error} where no response comes within the time limit, or one that is not HTTP. */
  send(request: WireRequest): Promise<HttpResponse>
  /**
   * Sends bytes, and soon ends the connection. `undefined`: it was closed without a response, and the request may have
   * been served all the same.
   */
  raw(bytes: Buffer): Promise<HttpResponse | undefined>
  close(): void
}

/** Milliseconds. A connection that was unused for longer may be about to be closed by the server. */
const FRESH = 2000
/** Milliseconds for the response to bytes that may not be a whole request. */
const PATIENCE = 15

export function openWire(baseUrl: string, timeLimit: number): Wire {
  const { hostname, port, host } = new URL(baseUrl)
  const all = new Set<Socket>()
  const idle: { readonly socket: Socket; readonly since: number }[] = []

  const open = async () => {
    const socket = connect({ port: Number(port), host: hostname, noDelay: true })
    all.add(socket)
    socket.on('close', () => all.delete(socket)).on('error', () => {})
    await once(socket, 'connect')
    return socket
  }
  const reuse = () => {
    for (let kept = idle.pop(); kept; kept = idle.pop()) {
      if (!kept.socket.destroyed && performance.now() - kept.since < FRESH) return kept.socket
      kept.socket.destroy()
    }
    return undefined
  }

  return {
    async send(request) {
      const socket = reuse() ?? (await open())
      socket.write(bytesOf(request, host))
      const received = await receive(socket, request.method, timeLimit)
      if (!received) throw new Error(`no response to ${request.method} ${request.path}`)
      if (received.keepsAlive) idle.push({ socket, since: performance.now() })
      else socket.destroy()
      return received.response
    },
    async raw(bytes) {
      const socket = await open()
      socket.write(bytes)
      // A server that sees the end drops the response; one that waits for more would wait until its own time limit.
      const end = setTimeout(() => socket.end(), PATIENCE)
      const received = await receive(socket, bytes.toString('latin1', 0, 4), timeLimit)
      clearTimeout(end)
      socket.destroy()
      return received?.response
    },
    close: () => {
      for (const socket of all) socket.destroy()
    },
  }
}

export function bytesOf({ method, path, headers = {}, body = '' }: WireRequest, host: string): Buffer {
  const content = Buffer.from(body)
  const length = method === 'GET' || method === 'HEAD' ? {} : { 'content-length': String(content.length) }
  const lines = Object.entries({ host, ...length, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  return Buffer.concat([
    Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1'),
    content,
  ])
}

interface Received {
  readonly response: HttpResponse
  readonly keepsAlive: boolean
}

function receive(socket: Socket, method: string, timeLimit: number): Promise<Received | undefined> {
  return new Promise((resolve, reject) => {
    let bytes: Buffer = Buffer.alloc(0)
    const settle = (act: () => void) => {
      clearTimeout(timer)
      socket.off('data', onData).off('close', onEnd).off('end', onEnd)
      act()
    }
    const attempt = (ended: boolean) => {
      try {
        const received = parse(bytes, method, ended)
        if (received) settle(() => resolve(received))
        else if (ended && INTERIM.test(bytes.toString('latin1'))) settle(() => resolve(undefined))
        else if (ended) settle(() => reject(new Error(`half a response: ${bytes.toString('latin1')}`)))
      } catch (error) {
        settle(() => reject(error))
      }
    }
    const onData = (chunk: Buffer) => {
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk])
      attempt(false)
    }
    const onEnd = () => attempt(true)
    const timer = setTimeout(
      () => settle(() => reject(new Error(`no response within ${timeLimit} ms: the server hangs`))),
      timeLimit,
    )
    socket.on('data', onData).on('close', onEnd).on('end', onEnd)
  })
}

/** Nothing but interim responses: the connection ended before the response. */
const INTERIM = /^(HTTP\/1\.1 100 [^\r]*\r\n\r\n)*$/

/** `undefined`: more must come. */
function parse(bytes: Buffer, method: string, ended: boolean): Received | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [start = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const [, code] = /^HTTP\/1\.1 (\d{3})(?: |$)/.exec(start) ?? []
  if (code === undefined) throw new Error(`not an HTTP response: ${start}`)
  const rest = bytes.subarray(end + 4)
  if (code === '100') return parse(rest, method, ended)
  const headers = new Headers()
  for (const line of lines) {
    const colon = line.indexOf(':')
    headers.append(line.slice(0, colon), line.slice(colon + 1).trim())
  }
  const status = Number(code)
  const body = status === 204 || status === 304 || method === 'HEAD' ? '' : bodyOf(rest, headers, ended)
  if (body === undefined) return undefined
  return { response: responseOf(status, headers, body), keepsAlive: headers.get('connection') !== 'close' }
}

function bodyOf(rest: Buffer, headers: Headers, ended: boolean): string | undefined {
  const length = headers.get('content-length')
  if (length !== null)
    return rest.length < Number(length) ? undefined : rest.toString('utf8', 0, Number(length))
  if (headers.get('transfer-encoding') === 'chunked') return chunksOf(rest)
  return ended ? rest.toString() : undefined
}

function chunksOf(bytes: Buffer): string | undefined {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const line = bytes.indexOf('\r\n', at)
    if (line < 0) return undefined
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16)
    if (bytes.length < line + size + 4) return undefined
    if (size === 0) return Buffer.concat(chunks).toString()
    chunks.push(bytes.subarray(line + 2, line + 2 + size))
    at = line + size + 4
  }
}

function responseOf(status: number, headers: Headers, text: string): HttpResponse {
  const json = text !== '' && headers.get('content-type')?.startsWith('application/json')
  return { status, headers, text, body: json ? JSON.parse(text) : undefined }
}
