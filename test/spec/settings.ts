/** The deployments of the matrix: one for each configuration, all on one database, each started when a cell needs it. */

import { X509Certificate } from 'node:crypto'
import { text } from 'node:stream/consumers'
import type { Middleware } from 'koa'
import {
  type AdapterConstructor,
  type Configuration,
  errors,
  type FindAccount,
  type KoaContextWithOIDC,
  type ResourceServer,
} from 'oidc-provider'
import { machineClient, webClient } from '../../fixtures/clients.ts'
import { type ConsoleDeployment, DORA, startConsole } from '../../fixtures/console.ts'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import { API } from '../../fixtures/deployment.ts'
import { type Hooks, hooked, losingResults, overtaking } from '../../fixtures/hooks.ts'
import { loginClient } from '../../fixtures/logins.ts'
import { type MetadataWeb, metadataWeb } from '../../fixtures/metadata-documents.ts'
import { downstream } from '../../fixtures/on-behalf-of.ts'
import { unique } from '../../fixtures/unique.ts'
import type { ConsoleOptions } from '../../packages/console/src/index.ts'
import { MANAGEMENT_SCOPES, TOKEN_EXCHANGE } from '../../src/base/constants.ts'
import type { ImpersonationOptions } from '../../src/options.ts'
import { createAdapter, createSubjectTokenStore } from '../../src/sequelize/index.ts'

type CustomizedJwt = Record<'header' | 'payload', Record<string, unknown>>

/** What the functions of the deployment do in one cell. */
export interface Functions
  extends Pick<ImpersonationOptions, 'isAllowed' | 'getCustomJwtClaims'>,
    Pick<Configuration, 'extraTokenClaims' | 'findAccount' | 'pairwiseIdentifier'>,
    Partial<ConsoleOptions> {
  readonly defaultResource?: () => string | readonly string[]
  /** Instead of the resources of the deployment. */
  readonly resourceServer?: (resource: string, ctx: KoaContextWithOIDC) => ResourceServer
  /** `formats.customizers.jwt`, for tokens of this grant. */
  readonly customizeJwt?: (
    token: Record<string, unknown>,
    jwt: CustomizedJwt,
    entities: Readonly<Record<string, unknown>>,
  ) => void
  /** `ttl.AccessToken`, `formats.bitsOfOpaqueRandomness` and `allowedPolicy` of introspection, which see a token of this grant. */
  readonly seesToken?: (
    name: 'ttl' | 'bitsOfOpaqueRandomness' | 'allowedPolicy',
    token: Record<string, unknown>,
  ) => void
}

export interface Setting extends ConsoleDeployment, Hooks {
  functions: Functions
  /** Account ids that `findAccount` does not know any more. */
  readonly gone: Set<string>
  readonly overtake: ReturnType<typeof overtaking>
  readonly lose: ReturnType<typeof losingResults>
  /** The errors of the token endpoint, as the provider tells them to those who log them. */
  readonly logged: { readonly message: string; readonly error_detail?: string }[]
  /** Where the provider finds metadata documents. */
  readonly web: MetadataWeb
}

/** Ends with a slash, which no path repeats. */
export const OWN_RESOURCE = 'https://id.example.com/management/'

/** The options of each configuration, and its other differences. */
const SETTINGS = {
  usual: {},
  'without onBehalfOf': { onBehalfOf: false },
  'without status lists': { onBehalfOf: false, statusList: false },
  'one API deep': { onBehalfOf: true },
  'one person deep': { maxDelegationDepth: 1 },
  'with an actor always': { requireActor: true },
  'read-only by default': { readOnly: true },
  'with required context': { requiredContext: ['ticketId'] },
  'with a context that every object has': { requiredContext: ['toString'] },
  'with a leeway': { replayLeeway: 10 },
  'with scopes alike': {},
  'with a resource of its own': { managementResource: OWN_RESOURCE },
  'with public clients by default': {},
  'with secrets posted by default': {},
  'without mutual TLS': {},
  'with mutual TLS that is switched off': {},
  'with rich authorization requests': {},
  'with short lives': { subjectTokenTTL: 30, maxSubjectTokenTTL: 40, maxAccessTokenTTL: 60 },
  'without functions': { isAllowed: undefined, getCustomJwtClaims: undefined },
  'of another issuer': {},
  'open to registration': {},
  'with a fixed initial access token': {},
  'with privileges by default': {},
  'with client credentials of the host': {},
  'with status lists, of the issuer that had none': {},
  'without pairwiseIdentifier': {},
  'with a clock tolerance': {},
  'where extraTokenClaims was replaced': {},
  'where formats was replaced': {},
  'where resources bypass configure': {},
  'on a database of its own': {},
  'on a database that was restored': {},
} as const satisfies Readonly<Record<string, Partial<ImpersonationOptions>>>
export type SettingName = keyof typeof SETTINGS

/** What was done to the configuration after `configure`. */
const REPLACED: Partial<Record<SettingName, (configured: Configuration) => Configuration>> = {
  'where extraTokenClaims was replaced': (configured) => ({ ...configured, extraTokenClaims: () => ({}) }),
  'where formats was replaced': (configured) => ({ ...configured, formats: {} }),
  'where resources bypass configure': ({ features, ...others }) => {
    const { getResourceServerInfo: ours, ...indicators } = Object(features?.resourceIndicators)
    const getResourceServerInfo = (ctx: unknown, resource: string, client: unknown) =>
      resources[resource] ?? ours(ctx, resource, client)
    return {
      ...others,
      features: { ...features, resourceIndicators: { ...indicators, getResourceServerInfo } },
    } as Configuration
  },
}

/** Scopes of the host whose names hold that of a management scope. */
export const SCOPES_ALIKE = ['subject-tokens:created', 'old-subject-tokens:create']

/** The server has no key to sign its tokens with. */
export const UNSIGNABLE = 'https://unsignable.example.com'
/** Another name of the API, by its audience. */
export const ALIAS_OF_API = 'https://alias.example.com'
/** Its format is left to the provider. */
export const PLAIN = 'https://plain.example.com'
/** Its tokens would live for longer than `maxAccessTokenTTL`. */
export const LASTING = 'https://lasting.example.com'

const { resources: usual = {} } = downstream()
const jwtServer = { ...usual[API], scope: 'orders:read', audience: API, accessTokenFormat: 'jwt' as const }
const resources: Readonly<Record<string, ResourceServer>> = {
  ...usual,
  [UNSIGNABLE]: { ...jwtServer, audience: UNSIGNABLE, jwt: { sign: { alg: 'ES384' as const } } },
  [ALIAS_OF_API]: jwtServer,
  [LASTING]: { ...jwtServer, audience: LASTING, accessTokenTTL: 5000 },
  [PLAIN]: { scope: 'orders:read', audience: PLAIN, accessTokenTTL: 600 },
}

export const pairwise = webClient({ client_id: 'pairwise', subject_type: 'pairwise' })
export const portal = loginClient()

interface Ground {
  readonly database: Database
  readonly overtake: ReturnType<typeof overtaking>
  readonly lose: ReturnType<typeof losingResults>
}

let ground: Promise<Ground> | undefined
const started = new Map<SettingName, Promise<Setting>>()

async function layGround(): Promise<Ground> {
  const database = await openDatabase('sqlite')
  const { sequelize } = database
  return { database, overtake: overtaking(sequelize), lose: losingResults(sequelize) }
}

export function settingOf(name: SettingName): Promise<Setting> {
  const known = started.get(name) ?? start(name)
  started.set(name, known)
  return known
}

export async function closeSettings(): Promise<void> {
  const settings = await Promise.all(started.values())
  for (const { close } of settings) await close()
  for (const database of new Set(settings.map((setting) => setting.database))) await database.close()
  started.clear()
  ground = undefined
}

async function start(name: SettingName): Promise<Setting> {
  ground ??= layGround()
  const { database, overtake, lose } = await (name.startsWith('on a database') ? layGround() : ground)
  const current: Pick<Setting, 'functions' | 'gone' | 'logged'> & Hooks = {
    logged: [],
    calls: [],
    instead: new Map(),
    functions: {},
    gone: new Set(),
  }
  const store = createSubjectTokenStore(database.sequelize)
  const options: Partial<ImpersonationOptions> = {
    store: hooked(store, 'store', current),
    onBehalfOf: { hops: 2 },
    maxDelegationDepth: 3,
    customClaimsTimeout: 1,
    environmentVariables: { region: 'eu' },
    isAllowed(request) {
      current.calls.push(`isAllowed at ${request.stage}`)
      return current.functions.isAllowed ? current.functions.isAllowed(request) : true
    },
    getCustomJwtClaims(request) {
      current.calls.push('getCustomJwtClaims')
      return current.functions.getCustomJwtClaims ? current.functions.getCustomJwtClaims(request) : {}
    },
    ...SETTINGS[name],
  }
  const adapter = createAdapter(database.sequelize, { namespace: unique('rules') })
  const web = metadataWeb()
  const base = configurationOf(current, web, (model) => hooked(adapter(model), model, current))
  const configuration = { ...base, ...CONFIGURATIONS[name]?.(base) }
  const issuer =
    name === 'with status lists, of the issuer that had none'
      ? (await settingOf('without status lists')).issuer
      : undefined
  const console = await startConsole(
    {
      authorize(ctx) {
        current.calls.push('authorize')
        return current.functions.authorize ? current.functions.authorize(ctx) : DORA
      },
      nameOf: (ids) => (current.functions.nameOf ? current.functions.nameOf(ids) : new Map()),
      find: (text) => (current.functions.find ? current.functions.find(text) : []),
      ticketUrl: (context) => current.functions.ticketUrl?.(context),
    },
    {
      ...downstream(options, { clients: [pairwise, portal], configuration }),
      before: [limits, parsesBody],
      database,
      resources,
      issuer,
      tamper: REPLACED[name],
    },
  )
  console.provider.on('grant.error', (_ctx, error) => void current.logged.push(error))
  // The first look of a process writes down the number of its issuer.
  await store.find(console.issuer, '0'.repeat(32))
  return Object.assign(current, console, { overtake, lose, web })
}

/** The configuration with these features, where they differ. */
const withFeatures =
  (features: Readonly<Record<string, object>>) =>
  ({ features: usual }: Configuration): Configuration => ({
    features: Object.fromEntries(
      Object.entries({ ...usual, ...features }).map(([name, feature]) => [
        name,
        { ...Reflect.get(Object(usual), name), ...feature },
      ]),
    ) as unknown as Configuration['features'],
  })
const byDefault = (clientDefaults: object): Configuration => ({
  clientDefaults: { id_token_signed_response_alg: 'ES256', ...clientDefaults } as never,
})
/** What differs from the usual configuration of the provider. */
const CONFIGURATIONS: Partial<Record<SettingName, (usual: Configuration) => Configuration>> = {
  'with scopes alike': () => ({ scopes: ['openid', ...SCOPES_ALIKE] }),
  // Which drop an empty list of authorization details.
  'with rich authorization requests': withFeatures({
    richAuthorizationRequests: { enabled: true, types: { payment: { validate() {} } } },
  }),
  'with public clients by default': () => ({
    ...byDefault({ token_endpoint_auth_method: 'none' }),
    clients: [machineClient({ token_endpoint_auth_method: 'client_secret_basic' })],
  }),
  'with secrets posted by default': () => byDefault({ token_endpoint_auth_method: 'client_secret_post' }),
  'without mutual TLS': ({ features }) => ({ features: { ...features, mTLS: undefined } as never }),
  'with mutual TLS that is switched off': withFeatures({ mTLS: { enabled: false } }),
  'open to registration': withFeatures({
    registration: { initialAccessToken: false, policies: undefined },
    clientCredentials: { enabled: false },
  }),
  'with a fixed initial access token': withFeatures({
    registration: { initialAccessToken: 'fixed-token', policies: undefined },
  }),
  'with privileges by default': () =>
    byDefault({
      grant_types: ['authorization_code', 'client_credentials', TOKEN_EXCHANGE],
      scope: MANAGEMENT_SCOPES.join(' '),
    }),
  'with client credentials of the host': withFeatures({ clientCredentials: { enabled: true } }),
  'without pairwiseIdentifier': () => ({ pairwiseIdentifier: undefined }),
  'with a clock tolerance': () => ({ clockTolerance: 30 }),
}

type Parser = (ctx: Parameters<Middleware>[0], read: () => Promise<string>) => unknown
/** The host leaves this as the body. */
const leaves =
  (body: unknown): Parser =>
  async ({ request }, read) => {
    await read()
    Object.assign(request, { body })
  }
/** What a host does with a body before the routes see it, by the name that a request gives. */
const PARSERS = {
  koa: async ({ request }, read) => Object.assign(request, { body: JSON.parse(await read()) }),
  express: async ({ req }, read) => Object.assign(req, { body: JSON.parse(await read()) }),
  'as text': async ({ request }, read) => Object.assign(request, { body: await read() }),
  'as bytes': async ({ request }, read) => Object.assign(request, { body: Buffer.from(await read()) }),
  'from elsewhere': ({ request }) => Object.assign(request, { body: { userId: 'carol' } }),
  nothing: leaves(undefined),
  'an empty text': leaves(''),
  'a broken text': leaves('{'),
  null: leaves(null),
  'a list': leaves([]),
  'a number': leaves(7),
  'a function': leaves(() => {}),
} as const satisfies Readonly<Record<string, Parser>>
export type ParserName = keyof typeof PARSERS

/** A host that limits in its own words where a request says so, with what `Retry-After` is to say. */
const limits: Middleware = async (ctx, next) => {
  const retryAfter = ctx.get('x-host-limits')
  if (retryAfter === '') return next()
  ctx.status = 429
  ctx.body = 'Too many requests'
  if (retryAfter !== 'nothing') ctx.set('retry-after', retryAfter)
}

/** A host that parses bodies where a request says so. */
const parsesBody: Middleware = async (ctx, next) => {
  const by = ctx.get('x-host-parses')
  if (by !== '') await PARSERS[by as ParserName](ctx, () => text(ctx.req))
  await next()
}

/** With every feature that a rule is about. */
function configurationOf(
  current: Pick<Setting, 'functions' | 'gone' | 'calls'>,
  web: MetadataWeb,
  adapter: (model: string) => InstanceType<AdapterConstructor>,
): Configuration {
  const findAccount: FindAccount = async (ctx, id, token) => {
    if (current.functions.findAccount) return current.functions.findAccount(ctx, id, token)
    const accountId = id.replace(/^alias:/, '')
    if (current.gone.has(accountId) || accountId.startsWith('no-one')) return undefined
    return { accountId, claims: () => ({ sub: accountId }) }
  }
  const sees = (name: 'ttl' | 'bitsOfOpaqueRandomness' | 'allowedPolicy', token: object) => {
    const members = token as Record<string, unknown>
    if (members.gty === TOKEN_EXCHANGE) current.functions.seesToken?.(name, members)
  }
  const { features: documents, ...fetching } = web.configuration
  const features = {
    ...documents,
    registration: {
      enabled: true,
      initialAccessToken: true,
      policies: { trusted: () => {}, impersonation2: () => {} },
    },
    rpMetadataChoices: { enabled: true },
    registrationManagement: { enabled: true },
    revocation: { enabled: true },
    introspection: {
      enabled: true,
      allowedPolicy(_ctx: KoaContextWithOIDC, _client: unknown, token: object) {
        sees('allowedPolicy', token)
        return true
      },
    },
    mTLS: {
      enabled: true,
      certificateBoundAccessTokens: true,
      getCertificate(ctx: KoaContextWithOIDC) {
        const given = decodeURIComponent(ctx.get('x-client-certificate'))
        if (ctx.get('x-client-certificate-is') === 'parsed') return new X509Certificate(given)
        return given || undefined
      },
    },
    resourceIndicators: {
      enabled: true,
      defaultResource: (_ctx: KoaContextWithOIDC, _client: unknown, one?: string | string[]) =>
        one ?? current.functions.defaultResource?.() ?? [],
      getResourceServerInfo(ctx: KoaContextWithOIDC, resource: string) {
        const info = current.functions.resourceServer?.(resource, ctx) ?? resources[resource]
        if (!info) throw new errors.InvalidTarget()
        return info
      },
    },
  } as Configuration['features']
  return {
    ...fetching,
    adapter,
    findAccount,
    // As if the grant were a parameter of the authorization endpoint, too.
    extraParams: ['grant_type'],
    subjectTypes: ['public', 'pairwise'],
    pairwiseIdentifier: (ctx, accountId, client) =>
      current.functions.pairwiseIdentifier
        ? current.functions.pairwiseIdentifier(ctx, accountId, client)
        : `${accountId}@${client.clientId}`,
    ttl: {
      AccessToken(_ctx, token) {
        sees('ttl', token)
        return token.resourceServer?.accessTokenTTL ?? 3600
      },
    },
    extraTokenClaims(ctx, token) {
      current.calls.push('extraTokenClaims')
      return current.functions.extraTokenClaims?.(ctx, token)
    },
    formats: {
      customizers: {
        jwt(ctx, token, jwt) {
          const members = token as unknown as Record<string, unknown>
          if (members.gty === TOKEN_EXCHANGE)
            current.functions.customizeJwt?.(members, jwt as unknown as CustomizedJwt, {
              ...ctx.oidc.entities,
            })
        },
      },
      bitsOfOpaqueRandomness(_ctx, token) {
        sees('bitsOfOpaqueRandomness', token)
        return 256
      },
    },
    ...(features && { features }),
  }
}
