/** The request at the naive server: the client, and parameters that keep the rules of RFC 8693 §2.1. */
import { CLIENTS, RESOURCES, type RegisteredClient, type Resource, type State } from './state.ts'
import { Refused } from './subject.ts'

export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
export const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'

const KNOWN = [
  'grant_type',
  'subject_token',
  'subject_token_type',
  'actor_token',
  'actor_token_type',
  'requested_token_type',
  'resource',
  'audience',
  'scope',
  'client_id',
]

export function authenticate(
  { faults }: State,
  headers: Readonly<Record<string, string | undefined>>,
  form: URLSearchParams,
): RegisteredClient {
  const [, basic = ''] = /^Basic (.+)$/.exec(headers.authorization ?? '') ?? []
  const [id = '', secret = ''] = Buffer.from(basic, 'base64').toString().split(':').map(decodeURIComponent)
  const name = basic === '' ? form.get('client_id') : id
  const client = CLIENTS.find((one) => one.id === name)
  if (client && (client.secret === secret || faults.has('any-client'))) return client
  if (!client && faults.has('unknown-client-accepted') && basic !== '')
    return { id, secret, mayExchange: true }
  throw new Refused('invalid_client', 'the client is unknown', { status: 401 })
}

/** Reads one parameter; an empty one counts as omitted. */
export const parameter = (form: URLSearchParams, name: string): string | undefined =>
  form.get(name) || undefined

export function assertParameters({ faults }: State, form: URLSearchParams): void {
  for (const name of new Set(form.keys())) {
    if (faults.has('unknown-parameter-refused') && !KNOWN.includes(name))
      throw new Refused('invalid_request', `${name} is unknown`)
    const repeats = form.getAll(name).length > 1
    if (repeats && name !== 'resource' && !faults.has('repeats-accepted'))
      throw new Refused('invalid_request', `${name} is repeated`)
  }
  assertTypes({ faults }, form)
}

function assertTypes({ faults }: Pick<State, 'faults'>, form: URLSearchParams): void {
  const type = parameter(form, 'subject_token_type')
  if (parameter(form, 'subject_token') === undefined && faults.has('crash-without-subject'))
    throw new TypeError()
  if (parameter(form, 'subject_token') === undefined) throw new Refused('invalid_request', 'no subject_token')
  if (type === undefined && !faults.has('type-optional'))
    throw new Refused('invalid_request', 'no subject_token_type')
  const actorType = parameter(form, 'actor_token_type')
  const hasActor = parameter(form, 'actor_token') !== undefined
  if (hasActor !== (actorType !== undefined) && !faults.has('actor-pair-ignored'))
    throw new Refused('invalid_request', 'actor_token and actor_token_type come together')
  const requested = parameter(form, 'requested_token_type')
  const isTaken = faults.has('requested-type-lied') || faults.has('requested-type-ignored')
  if (requested !== undefined && requested !== ACCESS_TOKEN && !isTaken)
    throw new Refused('invalid_request', 'the requested type is unknown')
  for (const one of [type, actorType])
    if (one !== undefined && one !== ACCESS_TOKEN && !faults.has('types-ignored'))
      throw new Refused('invalid_request', 'the type is unknown')
}

/** The resource that was asked for. */
export function resolveResource({ faults }: State, form: URLSearchParams): Resource {
  const asked = form.getAll('resource')
  const taken = faults.has('first-resource-only') ? asked.slice(0, 1) : asked
  const known = faults.has('resource-ignored')
    ? taken.filter((uri) => RESOURCES.some((one) => one.uri === uri))
    : taken
  const [uri = RESOURCES[0]?.uri, ...more] = known
  const resource = RESOURCES.find((one) =>
    faults.has('resource-by-prefix') ? uri?.startsWith(one.uri) : one.uri === uri,
  )
  if (!resource || more.length > 0) throw new Refused('invalid_target', 'the resource is unknown')
  const audience = parameter(form, 'audience')
  if (audience !== undefined && !faults.has('audience-ignored') && !faults.has('audience-copied'))
    throw new Refused('invalid_target', 'the audience is unknown')
  return resource
}

/** The scopes that are granted. */
export function grantScope(
  { faults }: State,
  form: URLSearchParams,
  resource: Resource,
  ceiling?: string,
): string[] {
  const asked = parameter(form, 'scope')?.split(faults.has('one-scope-only') ? ',' : ' ') ?? []
  if (faults.has('any-scope')) return asked
  if (faults.has('all-scopes')) return [...resource.scopes]
  if (asked.length === 0) return faults.has('scope-by-default') ? [...resource.scopes] : []
  const allowed = faults.has('scope-growth')
    ? resource.scopes
    : resource.scopes.filter((name) => ceiling === undefined || ceiling.split(' ').includes(name))
  const text = allowed.join(' ')
  const granted = asked.filter((name) => {
    if (faults.has('scope-by-substring')) return text.includes(name)
    if (faults.has('scope-without-case')) return text.toLowerCase().split(' ').includes(name.toLowerCase())
    return allowed.includes(name)
  })
  if (granted.length === 0) throw new Refused('invalid_scope', 'nothing can be granted')
  return granted
}
