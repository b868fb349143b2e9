/** Bugs that a run must find. They are planted around the service: in its store, its options and its host. */
import type { Middleware } from 'koa'
import type { AdapterFactory, AdapterPayload, Provider } from 'oidc-provider'
import type { SubjectToken, SubjectTokenStore } from '../src/index.ts'
import type { Plant } from './world.ts'

type Change = (store: SubjectTokenStore) => Partial<SubjectTokenStore>

const inStore = (change: Change): Plant => ({ store: (store) => ({ ...store, ...change(store) }) })

/** What `findByHash` returns, changed. */
const found = (change: (token: SubjectToken) => SubjectToken): Plant =>
  inStore((store) => ({
    async findByHash(issuer, hash) {
      const token = await store.findByHash(issuer, hash)
      return token && change(token)
    },
  }))

const before = (...middleware: Middleware[]): Plant => ({ before: middleware })
/** Happens to responses of the provider and the management API. */
const onResponse = (change: (ctx: Parameters<Middleware>[0]) => void): Plant =>
  before(async (ctx, next) => {
    await next()
    change(ctx)
  })

/** Every bug by what it does wrong. */
export const PLANTS: Readonly<Record<string, () => Plant>> = {
  'a subject token is spent twice': () =>
    inStore((store) => ({
      findByHash: async (issuer, hash) => withoutUse(await store.findByHash(issuer, hash)),
      consume: async (...given) => (await store.consume(...given)) || true,
    })),
  'both of a race win': () =>
    inStore((store) => ({
      consume: async (...given) => (await store.consume(...given)) || true,
    })),
  'a subject token lives a second too long': () =>
    inStore((store) => ({
      async findByHash(issuer, hash) {
        const token = await store.findByHash(issuer, hash)
        return token && { ...token, expiresAt: token.expiresAt + 1 }
      },
      consume: (issuer, hash, now, use) => store.consume(issuer, hash, now - 1, use),
    })),
  'another issuer takes a subject token': () => ofAnyIssuer(),
  'the constraint of the actor is dropped': () => found(({ actorId: _, ...token }) => token),
  'the constraint of the client is dropped': () => found(({ clientId: _, ...token }) => token),
  'the constraint of the resource is dropped': () => found(({ resource: _, ...token }) => token),
  'the ceiling of the scopes is dropped': () => found(({ scope: _, ...token }) => token),
  'a revoked subject token is good': () => found(({ revokedAt: _, ...token }) => token),
  'a denied exchange spends': () =>
    inStore((store) => ({
      async findByHash(issuer, hash) {
        const token = await store.findByHash(issuer, hash)
        if (token?.context.exchange ?? token?.context.claims)
          await store.revoke(issuer, token.id, token.createdAt, { cause: 'command' })
        return token
      },
    })),
  'a replay ends nothing': () => inStore(() => ({ recordReplay: async () => false })),
  'the kill switch by actor misses the chain': () =>
    inStore((store) => ({
      revokeWhere: (issuer, filter, now, revocation) =>
        'actorId' in filter ? nothing() : store.revokeWhere(issuer, filter, now, revocation),
    })),
  'a second revocation overwrites the first': () =>
    inStore((store) => ({
      async get(issuer, id) {
        const token = await store.get(issuer, id)
        return token?.revocation ? { ...token, revocation: { cause: 'command' } } : token
      },
    })),
  'a list ignores the alias': () =>
    inStore((store) => ({
      list: (issuer, { userId, ...filter }, page) =>
        store.list(issuer, { ...filter, ...(userId && { userId: [userId[0]] }) }, page),
    })),
  'a list drops the last row of a page': () =>
    inStore((store) => ({
      async list(...given) {
        const { tokens, ...rest } = await store.list(...given)
        return { ...rest, tokens: tokens.length > 1 ? tokens.slice(0, -1) : tokens }
      },
    })),
  'status lists show nothing': () => inStore(() => ({ findStopped: async () => [] })),
  'access tokens live too long': () => ({ options: { maxAccessTokenTTL: 7200 } }),
  'chains of actors have no limit': () => ({ options: { maxDelegationDepth: 10 } }),
  'claims are not what the function returned': () => ({
    options: { getCustomJwtClaims: () => ({ told: {} }) },
  }),
  'an event is emitted twice': () => ({ provider: emitTwice }),
  'an opaque token is stored as it is': () => ({ adapter: storeUnhashed }),
  'a media type makes the server fail': () =>
    before((ctx, next) => {
      if (ctx.path === '/oidc/token' && ctx.is('json')) throw new Error('JSON')
      return next()
    }),
  'a query makes the server hang': () =>
    before((ctx, next) => (ctx.querystring.includes('%00') ? new Promise<never>(() => {}) : next())),
  'a rejection is not handled': () =>
    before((ctx, next) => {
      if (ctx.method === 'DELETE') void Promise.reject(new Error('forgotten'))
      return next()
    }),
  'a refusal repeats the request': () =>
    onResponse((ctx) => {
      if (ctx.status === 400 && ctx.oidc?.params?.subject_token)
        ctx.body = { ...Object(ctx.body), error_description: `refused: ${ctx.oidc.params.subject_token}` }
    }),
  'a log holds the access token': () =>
    onResponse((ctx) => {
      const { access_token: token } = Object(ctx.body)
      if (token) ctx.app.emit('error', new Error(`issued ${token}`), ctx)
    }),
  'an error is a page': () =>
    onResponse((ctx) => {
      if (ctx.status === 404) ctx.body = '<h1>Not found</h1>'
    }),
  'an error may be cached': () =>
    onResponse((ctx) => {
      if (ctx.status === 403) ctx.remove('Cache-Control')
    }),
  'every request leaves something behind': leak,
}

const withoutUse = (token: SubjectToken | undefined): SubjectToken | undefined => {
  if (!token) return undefined
  const { use: _, ...rest } = token
  return rest
}

function ofAnyIssuer(): Plant {
  const issuers = new Set<string>()
  return inStore((store) => ({
    async findByHash(issuer, hash) {
      issuers.add(issuer)
      const tokens = await Promise.all([issuer, ...issuers].map((one) => store.findByHash(one, hash)))
      return tokens.find((token) => token !== undefined)
    },
  }))
}

async function* nothing(): AsyncGenerator<never> {}

function emitTwice(provider: Provider): void {
  const listeners = provider.rawListeners.bind(provider)
  provider.rawListeners = (event) => [...listeners(event), ...listeners(event)]
}

const storeUnhashed = (adapter: AdapterFactory): AdapterFactory => {
  return (model) => {
    const stored = adapter(model)
    if (model !== 'AccessToken') return stored
    return new Proxy(stored, {
      get: (target, member) =>
        member === 'upsert'
          ? (id: string, payload: AdapterPayload, life: number) =>
              target.upsert(id, { ...payload, extra: { ...payload.extra, id } }, life)
          : Reflect.get(target, member),
    })
  }
}

function leak(): Plant {
  const kept: string[] = []
  return before((_ctx, next) => {
    for (let count = 0; count < 2000; count += 1) kept.push(`${Math.random()} ${Math.random()}`)
    return next()
  })
}
