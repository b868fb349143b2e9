/**
 * A process of its own, because a notice is printed once in a process. It serves a deployment, sends the requests that
 * its argument names, and tells its parent every secret that was in them or in a response.
 */
import { OPAQUE_API, RESOURCES, startDeployment } from '../../../fixtures/deployment.ts'
import { downstream, passOn } from '../../../fixtures/on-behalf-of.ts'
import { exchange, issue, postSubjectToken } from '../../../fixtures/requests.ts'
import { UNKNOWN_TOKEN } from '../../../fixtures/subject-tokens.ts'
import { TOKEN_EXCHANGE } from '../../../src/base/constants.ts'
import { AccessDenied, EVENTS } from '../../../src/index.ts'

const UNNAMED_FORMAT = 'https://unnamed.example.com'

export interface Task {
  readonly requests: readonly (keyof typeof REQUESTS)[]
  /** The events that someone listens to. */
  readonly heard?: readonly string[]
  /** A function of the deployment changes what was decided. */
  readonly isTampering?: boolean
}

const { requests, heard = [], isTampering }: Task = JSON.parse(process.argv[2] ?? '')

const isAllowed = ({ userId }: { userId: string }) => {
  if (userId !== 'bob') return true
  throw new AccessDenied('the ticket is closed\nand old')
}
const unnamed = { scope: 'orders:read', audience: UNNAMED_FORMAT }
/** Of every token of the exchange, it would like to change the scope. */
const ttl = {
  ClientCredentials: 600,
  Grant: 600,
  AccessToken(_ctx: unknown, token: object) {
    if (Reflect.get(token, 'gty') === TOKEN_EXCHANGE) Object.assign(token, { scope: 'orders:write' })
    return 600
  },
}
const overrides = {
  ...(isTampering && { configuration: { ttl } }),
  resources: { ...RESOURCES, [UNNAMED_FORMAT]: unnamed },
}

const REQUESTS = {
  unknown: () => exchange(deployment, { subject_token: UNKNOWN_TOKEN }),
  denied: () => postSubjectToken(deployment, { userId: 'bob', context: { secret: 'of-the-context' } }),
  onBehalfOf: () => passOn(deployment, 'a-received-access-token'),
  async replay() {
    const { subjectToken } = await issue(deployment)
    for (let use = 0; use < 2; use += 1) await exchange(deployment, { subject_token: subjectToken })
  },
  opaque: () => exchangeFor(UNNAMED_FORMAT),
  opaqueByName: () => exchangeFor(OPAQUE_API),
}

async function exchangeFor(resource: string): Promise<void> {
  const { subjectToken } = await issue(deployment)
  const { status, text } = await exchange(deployment, { subject_token: subjectToken, resource })
  if (status !== 200) throw new Error(text)
}

const secrets = new Set(['of-the-context'])
const { fetch } = globalThis
globalThis.fetch = async (url, init) => {
  const response = await fetch(url, init)
  const received = JSON.parse((await response.clone().text()) || '{}')
  const sent = init?.body instanceof URLSearchParams ? Object.fromEntries(init.body) : {}
  const authorization = new Headers(init?.headers).get('authorization')?.replace(/^\w+ /, '')
  const tokens = [received.access_token, received.subjectToken, sent.subject_token, authorization]
  for (const secret of tokens) if (secret) secrets.add(secret)
  return response
}

const deployment = await startDeployment(downstream({ isAllowed }, overrides))
for (const event of EVENTS) if (!heard.includes(event)) deployment.provider.removeAllListeners(event)
for (const request of requests) await REQUESTS[request]()
await deployment.close()
process.send?.([...secrets])
process.disconnect()
