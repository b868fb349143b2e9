/** What the naive server says of tokens, and of itself. */
import { authenticate, TOKEN_EXCHANGE } from './request.ts'
import { now, type Payload, type State } from './state.ts'

/** The response of RFC 7662; `undefined` if the caller does not authenticate. */
export function introspect(
  state: State,
  headers: Readonly<Record<string, string | undefined>>,
  form: URLSearchParams,
): Payload | undefined {
  const { faults, opaque, permissions } = state
  if (!faults.has('introspection-open') && !isClient(state, headers, form)) return undefined
  const value = form.get('token') ?? ''
  const payload = opaque.get(value)
  if (payload && Number(payload.exp) > now()) {
    const hidden = [
      ...(faults.has('introspection-without-act') ? ['act'] : []),
      ...(faults.has('introspection-without-cnf') ? ['cnf'] : []),
    ]
    const shown = Object.entries(payload).filter(([name]) => !hidden.includes(name))
    return { active: true, ...Object.fromEntries(shown) }
  }
  const active = faults.has('introspection-of-permissions') && permissions.has(value)
  return { active, ...(faults.has('introspection-talks') && { reason: 'unknown' }) }
}

function isClient(
  state: State,
  headers: Readonly<Record<string, string | undefined>>,
  form: URLSearchParams,
): boolean {
  try {
    authenticate(state, headers, form)
    return true
  } catch {
    return false
  }
}

export const metadata = ({ faults, issuer }: State) => ({
  issuer: faults.has('metadata-of-another-host') ? 'http://10.0.0.1:8080' : issuer,
  token_endpoint: `${faults.has('metadata-of-another-host') ? 'http://10.0.0.1:8080' : issuer}/token`,
  jwks_uri: `${issuer}/jwks`,
  introspection_endpoint: `${issuer}/introspect`,
  grant_types_supported: faults.has('grant-unlisted') ? [] : [TOKEN_EXCHANGE],
})
