/** Bugs that a run must find. They are planted around the service: in its store, its options and its host. */
import type { Middleware } from 'koa'
import type { AccessToken, Adapter, AdapterFactory, Provider } from 'oidc-provider'
import type { StoredSubjectToken, SubjectToken, SubjectTokenStore } from '../src/index.ts'
import { APIS } from './setting.ts'
import type { Plant } from './world.ts'

type Change = (store: SubjectTokenStore) => Partial<SubjectTokenStore>

const inStore = (change: Change): Plant => ({ store: (store) => ({ ...store, ...change(store) }) })

/** What `find` returns, changed. */
const found = (change: (token: StoredSubjectToken) => StoredSubjectToken): Plant =>
  inStore((store) => ({
    async find(issuer, id) {
      const token = await store.find(issuer, id)
      return token && change(token)
    },
  }))

/** What an access token of an impersonation leads to, changed. */
const byStatus = (change: (token: SubjectToken) => SubjectToken): Plant =>
  inStore((store) => ({
    async findByStatusIndex(issuer, index) {
      const token = await store.findByStatusIndex(issuer, index)
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
      find: async (issuer, id) => withoutUse(await store.find(issuer, id)),
      consume: async (...given) => (await store.consume(...given)) || true,
    })),
  'both of a race win': () =>
    inStore((store) => ({
      consume: async (...given) => (await store.consume(...given)) || true,
    })),
  'a subject token lives a second too long': () =>
    inStore((store) => ({
      async find(issuer, id) {
        const token = await store.find(issuer, id)
        return token && { ...token, expiresAt: token.expiresAt + 1 }
      },
      consume: (token, now, use) => store.consume(token, now - 1, use),
    })),
  'another issuer takes a subject token': () => ofAnyIssuer(),
  'the constraint of the actor is dropped': () => found(({ actorId: _, ...token }) => token),
  'the constraint of the client is dropped': () => found(({ clientId: _, ...token }) => token),
  'the constraint of the resource is dropped': () => found(({ resource: _, ...token }) => token),
  'the ceiling of the scopes is dropped': () => found(({ scope: _, ...token }) => token),
  'a revoked subject token is good': () => found(({ revokedAt: _, ...token }) => token),
  'a denied exchange spends': () =>
    inStore((store) => ({
      async find(issuer, id) {
        const token = await store.find(issuer, id)
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
      async list(issuer, filter, page) {
        const { tokens, ...rest } = await store.list(issuer, filter, page)
        const revocation = { cause: 'command' } as const
        return {
          ...rest,
          tokens: tokens.map((token) => (token.revocation ? { ...token, revocation } : token)),
        }
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
  'an acknowledgement is forgotten': () => inStore(() => ({ acknowledge: async () => {} })),
  'an acknowledgement covers the replay that comes after it': () =>
    inStore((store) => ({
      acknowledge: (token, { coversReplay: _, ...acknowledgement }) =>
        store.acknowledge(token, { ...acknowledgement, coversReplay: true }),
    })),
  'a list shows what was acknowledged': () =>
    inStore((store) => ({
      list: (issuer, { unacknowledged: _, ...filter }, page) => store.list(issuer, filter, page),
    })),
  'a list finds no tickets': () =>
    inStore((store) => ({
      list: async (issuer, filter, page) =>
        filter.ticketId === undefined ? store.list(issuer, filter, page) : { tokens: [] },
    })),
  'a list finds nothing by a jti': () =>
    inStore((store) => ({
      list: async (issuer, filter, page) =>
        filter.id === undefined ? store.list(issuer, filter, page) : { tokens: [] },
    })),
  'an API passes on what was stopped': () => byStatus(({ revokedAt: _, ...token }) => token),
  'an API passes on what was bound to a resource': () => byStatus(({ resource: _, ...token }) => token),
  'an API passes on without the people who act': () => byStatus(withoutActor),
  'APIs pass on without a limit': () => ({ onBehalfOf: { hops: 9 } }),
  'an API widens the scopes': () => ({
    provider: forApis((token) => ({ scope: `${token.scope} bills:read` })),
  }),
  'the token of an API outlives the one it received': () => ({
    provider: forApis((token) => ({ exp: Number(token.exp) + 1 })),
  }),
  'no event tells that an API passed a user on': () => ({ provider: silent('access_token.exchanged') }),
  'a stop forgets who it was': () =>
    inStore((store) => ({
      revoke: (issuer, id, now, { by: _, ...revocation }) => store.revoke(issuer, id, now, revocation),
    })),
  'of two names in a kill switch, the second is ignored': () =>
    before((ctx, next) => {
      const { userId } = ctx.query
      if (ctx.method === 'DELETE' && typeof userId === 'string')
        ctx.querystring = new URLSearchParams({ userId }).toString()
      return next()
    }),
  'the kill switch counts one too few': () =>
    inStore((store) => ({
      async *revokeWhere(...given) {
        for await (const batch of store.revokeWhere(...given)) yield batch.slice(1)
      },
    })),
  'an access token outlives its revocation': () => ({ adapter: keepAccessTokens }),
  'introspection shows what has ended': () =>
    onResponse((ctx) => {
      if (Object(ctx.body).active === false) ctx.body = { active: true }
    }),
  'the summary counts no replays': () =>
    inStore((store) => ({
      async *summarize(...given) {
        for await (const counts of store.summarize(...given)) yield { ...counts, replayed: 0 }
      },
    })),
  'the summary counts for another day': () =>
    inStore((store) => ({
      summarize: (issuer, from, until) => store.summarize(issuer, from - 86_400, until - 86_400),
    })),
  'the summary counts as live what has ended': () =>
    inStore((store) => ({ countLive: (issuer, now) => store.countLive(issuer, now - 600) })),
  'purge deletes too early': () => ({ retention: (retention) => Math.max(0, retention - 60) }),
  'purge deletes too late': () => ({ retention: (retention) => Math.max(retention, 300) + 600 }),
  'status lists show nothing': () => inStore(() => ({ findStopped: async () => [] })),
  'access tokens live too long': () => ({ options: { maxAccessTokenTTL: 7200 } }),
  'chains of actors have no limit': () => ({ options: { maxDelegationDepth: 10 } }),
  'claims are not what the function returned': () => ({
    options: { getCustomJwtClaims: () => ({ told: {} }) },
  }),
  'an event is emitted twice': () => ({ provider: emitTwice }),
  'an opaque token is stored as it is': () => ({ adapter: storeUnhashed }),
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

const withoutUse = (token: StoredSubjectToken | undefined): StoredSubjectToken | undefined => {
  if (!token) return undefined
  const { use: _, ...rest } = token
  return rest
}

const withoutActor = (token: SubjectToken): SubjectToken => {
  if (!token.use) return token
  const { actor: _, ...use } = token.use
  return { ...token, use }
}

function ofAnyIssuer(): Plant {
  const issuers = new Set<string>()
  return inStore((store) => ({
    async find(issuer, id) {
      issuers.add(issuer)
      const tokens = await Promise.all([issuer, ...issuers].map((one) => store.find(one, id)))
      return tokens.find((token) => token !== undefined)
    },
  }))
}

async function* nothing(): AsyncGenerator<never> {}

function emitTwice(provider: Provider): void {
  const listeners = provider.rawListeners.bind(provider)
  provider.rawListeners = (event) => [...listeners(event), ...listeners(event)]
}

const silent =
  (name: string) =>
  (provider: Provider): void => {
    const listeners = provider.rawListeners.bind(provider)
    provider.rawListeners = (event) => (event === name ? [] : listeners(event))
  }

/** Tokens of an API, changed as they are issued. */
const forApis =
  (change: (token: AccessToken) => Partial<AccessToken>) =>
  (provider: Provider): void => {
    const { prototype } = provider.AccessToken
    const { save } = prototype
    prototype.save = function (this: AccessToken) {
      if (APIS.some(({ client_id: id }) => id === this.clientId)) Object.assign(this, change(this))
      return save.call(this)
    }
  }

/** Adapters, with some methods replaced. */
const adapters =
  (change: (model: string, stored: Adapter) => Partial<Adapter>) =>
  (adapter: AdapterFactory): AdapterFactory =>
  (model) => {
    const stored = adapter(model)
    const changed = change(model, stored)
    return new Proxy(stored, {
      get: (target, member) => Reflect.get(changed, member) ?? Reflect.get(target, member).bind(target),
    })
  }

const storeUnhashed = adapters((model, stored) => ({
  upsert: (id, payload, life) =>
    stored.upsert(
      id,
      model === 'AccessToken' ? { ...payload, extra: { ...payload.extra, id } } : payload,
      life,
    ),
}))

const keepAccessTokens = adapters((model) => ({
  ...(model === 'AccessToken' && { destroy: async () => {} }),
  revokeByGrantId: async () => {},
}))

function leak(): Plant {
  const kept: string[] = []
  return before((_ctx, next) => {
    for (let count = 0; count < 2000; count += 1) kept.push(`${Math.random()} ${Math.random()}`)
    return next()
  })
}
