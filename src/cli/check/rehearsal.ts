/**
 * An example goes through the stages of the exchange as its requests would, as far as they write nothing. The deployment may
 * serve meanwhile: what its own requests meet does not change.
 */
import { randomBytes } from 'node:crypto'
import type { AccessToken, Account, Client, Provider } from 'oidc-provider'
import { epochTime } from '../../clock.ts'
import { ACCESS_TOKEN_TYPE, TOKEN_EXCHANGE, TOKEN_EXCHANGE_RESOURCES } from '../../constants.ts'
import { useOf } from '../../exchange/consume.ts'
import { prepareExchange } from '../../exchange/impersonation.ts'
import { prepareStep } from '../../exchange/on-behalf-of.ts'
import type { Prepared } from '../../exchange/outcome.ts'
import type { ExchangeContext } from '../../exchange/request.ts'
import type { Permission } from '../../exchange/subject.ts'
import type { OnBehalfOfOptions, PolicyRequest, ResolvedOptions } from '../../options.ts'
import { withoutUndefined } from '../../plain-json.ts'
import { resolveStatusLists } from '../../provider/status-reference.ts'
import { issueSubjectToken, parseIssueRequest } from '../../records/issue.ts'
import { hashToken, type SubjectTokenText } from '../../subject-tokens/secret.ts'
import type { NewSubjectToken, StoredSubjectToken } from '../../subject-tokens/subject-token.ts'
import { contextOf } from './context.ts'
import { inTime } from './in-time.ts'
import type { Deployment, Example, Step } from './module.ts'

type Inside = Deployment['inside']

export type Rehearsal = ReturnType<typeof rehearse>

interface Rehearsed {
  readonly example: Example
  /** The user's. */
  readonly account: Account
  /** Whether clients may exchange for what the example asks for, whatever their metadata says. */
  readonly anyResource: boolean
}

/** Two accounts, a resource and its default, the pairwise subject, the policy, and two that return claims. */
const FUNCTIONS_OF_A_STAGE = 8

/** Each of its requests needs what the one before resolved to, and rejects with what it would be refused with. */
export function rehearse(inside: Inside, { example, account, anyResource }: Rehearsed) {
  const { provider, settings } = inside
  const { clientId, actorId } = example
  const statusLists = resolveStatusLists(inside.options.statusList, settings.managementResource(provider))
  const { options, sawActor } = watchPolicy(inside.options)
  let record: StoredSubjectToken | undefined
  // In place of what is stored. All else is the deployment's own.
  const store = {
    ...inside.store,
    async insert(token: NewSubjectToken) {
      record = { ...token, statusIndex: 0 }
    },
    find: async () => record,
    findByStatusIndex: async () => record,
  }
  // Nothing happens that a listener of the deployment should learn of, or that no one listens to.
  const silent: Provider = Object.create(provider, {
    rawListeners: { value: () => [] },
    listenerCount: { value: () => 1 },
  })
  const service = { provider, options, statusLists, store, settings }
  async function clientFor({ clientId, resource }: Pick<Step, 'clientId' | 'resource'>): Promise<Client> {
    const client = await provider.Client.find(clientId)
    if (!client) throw new Error(`there is no client ${clientId}`)
    if (!anyResource) return client
    // Not a copy, which would lack the private members that its getters read.
    const get = (_: Client, name: string | symbol) =>
      name === TOKEN_EXCHANGE_RESOURCES ? [resource] : Reflect.get(client, name)
    return new Proxy(client, { get })
  }
  const inStage = <Result>(result: Promise<Result>) =>
    inTime(inside, 'functions of the deployment', result, FUNCTIONS_OF_A_STAGE)
  // No one proves a key here.
  const senderOf = async () => ({})

  return {
    rules: options.onBehalfOf,
    sawActor,

    /** The backend issues. `naming`: it says who will act. */
    async issue(naming: boolean): Promise<SubjectTokenText> {
      const { userId, context, createdBy, resource, scope, onBehalfOf: step } = example
      const named = withoutUndefined({
        userId,
        context,
        clientId,
        actorId: naming ? actorId : undefined,
        resource: step && step.resource !== resource ? [resource, step.resource] : resource,
        scope: [scope, step?.scope].filter(Boolean).join(' ') || undefined,
      })
      const request = parseIssueRequest(named, service)
      const caller = { id: createdBy, findAccount: async () => account, report: () => {} }
      const { subjectToken } = await issueSubjectToken({ ...service, provider: silent }, caller, request)
      return subjectToken
    },

    /** The application exchanges. The engineer has signed in there. */
    async exchange(subjectToken: SubjectTokenText): Promise<Prepared<Permission>> {
      const client = await clientFor(example)
      const value = randomBytes(32).toString('base64url')
      const actor = actorId !== undefined && { actor_token: value, actor_token_type: ACCESS_TOKEN_TYPE }
      const ctx = contextOf(inside, client, { ...requestOf(subjectToken, example), ...actor })
      const signedIn = { value, model: userinfoToken(inside, client, actorId) }
      const exchange = await asIfServed(ctx, signedIn, () =>
        inStage(prepareExchange(ctx, service, { senderOf })),
      )
      const use = useOf(ctx, epochTime(), { ...exchange, statusLists })
      record = { ...exchange.subject.record, tokenHash: hashToken(subjectToken), use }
      return exchange
    },

    /** An API exchanges the access token that it received: that of the exchange, which no one has signed. */
    async step({ sub, draft, claims }: Prepared<Permission>, { to, rules }: StepOfExample) {
      const { aud, iat, exp, scope } = draft
      const received = withoutUndefined({ aud, iat, exp, scope, client_id: clientId, ...claims, sub })
      const verifying = { ...service, settings: { ...settings, verifyAccessToken: async () => received } }
      const ctx = contextOf(inside, await clientFor(to), requestOf('a.received.one', to))
      return asIfServed(ctx, undefined, () => inStage(prepareStep(ctx, verifying, { rules, senderOf })))
    },
  }
}

interface StepOfExample {
  readonly to: Step
  readonly rules: OnBehalfOfOptions
}

interface Stored {
  readonly value: string
  readonly model: AccessToken
}

/** The provider's model asks the store for tokens, and the process for the request that it serves, if it serves one. */
async function asIfServed<Result>(
  ctx: ExchangeContext,
  stored: Stored | undefined,
  stage: () => Promise<Result>,
): Promise<Result> {
  const { AccessToken } = ctx.oidc.provider
  const inherited = {
    find: Reflect.get(AccessToken, 'find'),
    expiresIn: Reflect.get(AccessToken, 'expiresIn'),
  }
  Object.assign(AccessToken, {
    find: async (value: unknown, ...how: unknown[]) =>
      value === stored?.value ? stored?.model : Reflect.apply(inherited.find, AccessToken, [value, ...how]),
    expiresIn: (served: unknown, ...of: unknown[]) =>
      Reflect.apply(inherited.expiresIn, AccessToken, [served ?? ctx, ...of]),
  })
  try {
    return await stage()
  } finally {
    for (const name of Object.keys(inherited)) Reflect.deleteProperty(AccessToken, name)
  }
}

const requestOf = (subjectToken: string, { resource, scope }: Pick<Step, 'resource' | 'scope'>) => ({
  grant_type: TOKEN_EXCHANGE,
  subject_token: subjectToken,
  subject_token_type: ACCESS_TOKEN_TYPE,
  resource,
  scope,
})

function userinfoToken({ provider }: Inside, client: Client, accountId = ''): AccessToken {
  const of = { client, accountId, grantId: '', gty: 'authorization_code', scope: 'openid' }
  return Object.assign(new provider.AccessToken(of), { exp: epochTime() + 60 })
}

/** The same policy, of which is known whether it has looked at who acts, when that is proven. */
function watchPolicy({ isAllowed, ...options }: ResolvedOptions) {
  let saw = false
  const watch = <Request extends PolicyRequest>(request: Request): Request => {
    const { actor, stage } = request
    if (!actor || stage !== 'exchange') return request
    const get = () => {
      saw = true
      return actor
    }
    return Object.freeze(Object.defineProperty({ ...request }, 'actor', { enumerable: true, get }))
  }
  const watched = isAllowed && ((request: PolicyRequest) => isAllowed(watch(request)))
  return { options: { ...options, isAllowed: watched }, sawActor: () => saw }
}
