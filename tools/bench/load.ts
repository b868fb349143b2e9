/**
 * The generator: HTTP/1.1 over bare sockets, because a full client would cost about as much CPU as the server.
 * Closed loop: each connection has one request under way and sends the next one when the response has arrived.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { serve } from './processes.ts'

/** A request that is ready to be sent. If it contains a subject token, `after` is what follows the token. */
export interface PreparedRequest {
  readonly before: string
  readonly after?: string
  readonly status: number
}

export interface Job {
  readonly port: number
  readonly concurrency: number
  readonly seconds: number
  /** One operation: sent one after the other. */
  readonly requests: readonly PreparedRequest[]
  /** A new subject token for each operation. If they run out, the job ends early. */
  readonly subjectTokens?: readonly string[]
  /** Ends the job after about as many. */
  readonly operations?: number
  /** Returns the subject tokens that were issued. */
  readonly collect?: boolean
}

export interface JobResult {
  readonly operations: number
  readonly seconds: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  /** The generator's own share of a core. */
  readonly busy: number
  /** If they were to be collected. */
  readonly issued: readonly string[]
}

export type LoadTasks = { run(job: Job): Promise<JobResult> }

serve({ run } satisfies LoadTasks)

async function run(job: Job): Promise<JobResult> {
  const connections = await Promise.all(Array.from({ length: job.concurrency }, () => open(job.port)))
  const latencies: number[] = []
  const issued: string[] = []
  const tokens = job.subjectTokens && [...job.subjectTokens]
  const cpu = process.cpuUsage()
  const start = performance.now()
  await Promise.all(connections.map((connection) => drive(connection, job, { tokens, latencies, issued })))
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(cpu)
  for (const connection of connections) connection.close()
  latencies.sort((a, b) => a - b)
  return {
    operations: latencies.length,
    seconds,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    busy: (user + system) / 1e6 / seconds,
    issued,
  }
}

/** What the connections of a job share. */
interface Shared {
  readonly tokens: string[] | undefined
  readonly latencies: number[]
  readonly issued: string[]
}

async function drive(connection: Connection, job: Job, { tokens, latencies, issued }: Shared) {
  const { operations = Number.POSITIVE_INFINITY, collect = false } = job
  const end = performance.now() + job.seconds * 1000
  for (let start = performance.now(); start < end && latencies.length < operations; ) {
    let token = tokens ? tokens.pop() : ''
    if (token === undefined) return
    for (const { before, after, status } of job.requests) {
      const response = await connection.send(after === undefined ? before : before + token + after)
      if (response.status !== status)
        throw new Error(`the server responded with ${response.status}: ${response.body}`)
      token = /"subjectToken":"([^"]+)"/.exec(response.body)?.[1] ?? token
    }
    if (collect && token) issued.push(token)
    const now = performance.now()
    latencies.push(now - start)
    start = now
  }
}

interface Received {
  readonly status: number
  readonly body: string
}

async function open(port: number): Promise<Connection> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  return new Connection(socket)
}

/** Reads responses with a Content-Length, as every response here has one. */
class Connection {
  readonly #socket: Socket
  #received = ''
  #resolve: (response: Received) => void = () => {}
  #reject: (error: Error) => void = () => {}

  constructor(socket: Socket) {
    this.#socket = socket
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => this.#receive(text))
    socket.on('error', (error) => this.#reject(error))
    socket.on('close', () => this.#reject(new Error('the server closed the connection')))
  }

  send(request: string): Promise<Received> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      this.#socket.write(request, 'latin1')
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #receive(text: string): void {
    this.#received += text
    const body = this.#received.indexOf('\r\n\r\n') + 4
    if (body < 4) return
    const head = this.#received.slice(0, body)
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1])
    if (Number.isNaN(length)) {
      this.#reject(new Error(`a response without Content-Length: ${head}`))
      return
    }
    if (this.#received.length < body + length) return
    const response = { status: Number(head.slice(9, 12)), body: this.#received.slice(body, body + length) }
    this.#received = ''
    this.#resolve(response)
  }
}

const quantile = (sorted: readonly number[], q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN
