/** The provider's management API, as far as the backend uses it. */
import { type IdentityProvider, orUnavailable } from './provider.ts'
import { Refusal, unavailable } from './refusal.ts'

const PATIENCE = 5000

interface IssueRequest {
  readonly userId: string
  readonly actorId: string
  readonly clientId: string
  readonly resource: string
  readonly scope: string
  readonly expiresIn: number
  readonly context: Readonly<Record<string, string>>
}

interface IssuedSubjectToken {
  /** The id of the record. It is neither a secret nor a token. */
  readonly recordId: string
  readonly subjectToken: string
  readonly expiresIn: number
}

/** The members that the backend reads. All others are passed on unread. */
export interface RecordItem {
  readonly id: string
  readonly state: 'active' | 'consumed' | 'expired' | 'revoked'
  readonly accessToken?: { readonly expiresAt: number }
  readonly [member: string]: unknown
}

interface RecordPage {
  readonly items: readonly RecordItem[]
  readonly nextCursor?: string
}

export interface Management {
  issue(request: IssueRequest): Promise<IssuedSubjectToken>
  list(query: URLSearchParams): Promise<RecordPage>
  /** Resolves to `undefined` if there is no such record, or no longer. */
  find(recordId: string): Promise<RecordItem | undefined>
  revoke(recordId: string): Promise<void>
}

interface ManagementOptions {
  readonly managementApi: string
  readonly provider: IdentityProvider
  readonly log: (entry: object) => void
}

export function connectManagement({ managementApi, provider, log }: ManagementOptions): Management {
  async function call(method: string, path: string, body?: object): Promise<Response> {
    const token = await provider.managementToken.get()
    const response = await orUnavailable(log, () =>
      fetch(`${managementApi}/subject-tokens${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: body && JSON.stringify(body),
        redirect: 'error',
        signal: AbortSignal.timeout(PATIENCE),
      }),
    )
    if (response.ok) return response
    // The provider has changed its keys: the next request gets a new token.
    if (response.status === 401) provider.managementToken.forget()
    throw await relayed(response)
  }

  return {
    async issue(request) {
      const response = await call('POST', '', request)
      const { subjectToken, expiresIn } = (await response.json()) as Omit<IssuedSubjectToken, 'recordId'>
      const recordId = response.headers.get('location')?.split('/').at(-1) ?? ''
      return { recordId, subjectToken, expiresIn }
    },
    async list(query) {
      return (await (await call('GET', `?${query}`)).json()) as RecordPage
    },
    async find(recordId) {
      const response = await call('GET', `/${encodeURIComponent(recordId)}`).catch((error: unknown) => {
        if (error instanceof Refusal && error.status === 404) return undefined
        throw error
      })
      return response && ((await response.json()) as RecordItem)
    },
    async revoke(recordId) {
      await call('DELETE', `/${encodeURIComponent(recordId)}`)
    },
  }
}

/** Passes on errors that the engineer can do something about. The others concern only the provider and the backend. */
async function relayed(response: Response): Promise<Error> {
  const body: { error?: string; error_description?: string } = Object(await response.json().catch(() => ({})))
  const { error, error_description } = body
  const forTheEngineer = ['invalid_request', 'access_denied', 'not_found']
  if (!error || !error_description || !forTheEngineer.includes(error)) return unavailable()
  return new Refusal(response.status, error, error_description)
}
