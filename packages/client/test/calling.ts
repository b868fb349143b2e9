/** A client whose provider a test writes itself, over HTTP or in this process, and what becomes of its calls. */
import { inspect } from 'node:util'
import { expect } from 'chai'
import {
  createImpersonationClient,
  type ImpersonationClientOptions,
  ImpersonationError,
} from '../src/index.ts'
import { type Script, type StandIn, startStandIn } from './stand-in.ts'

export const ID = '0'.repeat(32)
export const BACKEND = { clientId: 'backend', clientSecret: 'backend-secret' }

/** The error of a call, which shows no token and no secret, at any depth. */
export async function errorOf(promise: Promise<unknown>): Promise<ImpersonationError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).to.be.instanceOf(ImpersonationError).and.not.have.property('cause')
  expect(shownOf(error)).not.to.match(/sub_|ses_|eyJ|-secret/)
  return error as ImpersonationError
}

/** All that a log could show of it. */
export const shownOf = (error: unknown): string => inspect(error, { depth: 9, showHidden: true })

/** Makes clients of providers that follow a script. These are closed after the test. */
export function useStandIns() {
  const open: StandIn[] = []
  afterEach(async () => {
    for (const standIn of open.splice(0)) await standIn.close()
  })
  return async (script: Script = {}, options: Partial<ImpersonationClientOptions> = {}) => {
    const standIn = await startStandIn(script)
    open.push(standIn)
    const client = createImpersonationClient({ issuer: standIn.issuer, ...BACKEND, ...options })
    return { client, standIn }
  }
}

export const ISSUER = 'https://id.example.com/oidc'
export const METADATA = `${ISSUER}/.well-known/openid-configuration`
export const RECORDS = 'https://id.example.com/api/subject-tokens'

interface Sent {
  readonly url: string
  readonly headers: Headers
  readonly form: Readonly<Record<string, string>>
  readonly signal: AbortSignal | null | undefined
}

interface InProcess {
  readonly metadata?: object
  /** Seconds, of every token; without it, the provider does not say. */
  readonly expires_in?: number
  /** What the management API responds, to a request with this token. */
  readonly api?: (token: string) => Response | Promise<Response>
}

/** A client of a provider in this process, and what was sent to it. Its tokens are numbered. */
export function connect(
  { metadata, expires_in, api = () => Response.json({ id: ID, items: [] }) }: InProcess = {},
  options: Partial<ImpersonationClientOptions> = {},
) {
  const sent: Sent[] = []
  const tokens: string[] = []
  const client = createImpersonationClient({
    ...{ issuer: ISSUER, ...BACKEND },
    fetch: async (input, { headers, body, signal } = {}) => {
      const url = String(input)
      const form = body instanceof URLSearchParams ? Object.fromEntries(body) : {}
      sent.push({ url, headers: new Headers(headers), form, signal })
      if (url.endsWith('/openid-configuration'))
        return Response.json({
          issuer: options.issuer ?? ISSUER,
          token_endpoint: `${ISSUER}/token`,
          ...metadata,
        })
      if (url === `${ISSUER}/token`) {
        const access_token = `token-${tokens.length + 1}`
        tokens.push(access_token)
        return Response.json({ access_token, token_type: 'Bearer', expires_in })
      }
      return api(sent.at(-1)?.headers.get('authorization')?.split(' ')[1] ?? '')
    },
    ...options,
  })
  return { client, sent, tokens, to: (url: string) => sent.filter((request) => request.url === url) }
}
