import Router from '@koa/router'
import type { Context } from 'koa'
import type { Provider } from 'oidc-provider'
import type { ManagementScope } from '../constants.ts'
import type { ResolvedOptions } from '../options.ts'
import type { Host } from '../provider/settings.ts'
import { methodNotAllowed } from '../refusals.ts'
import type { SubjectTokenStore } from '../subject-tokens/store.ts'
import { authenticate, type ManagementContext } from './authenticate.ts'
import { listSubjectTokens, showSubjectToken } from './inspect.ts'
import { issueSubjectToken } from './issue.ts'
import { managementTokenVerifier } from './management-token.ts'
import { respond } from './respond.ts'
import { revokeSubjectToken, revokeSubjectTokens } from './revoke.ts'

interface Management {
  readonly provider: Provider
  readonly store: SubjectTokenStore
  readonly options: ResolvedOptions
  readonly host: Host
}

const COLLECTION = '/subject-tokens'
const ITEM = '/subject-tokens/:id'

/** The management API (CONTRACT §2) below `prefix`. `routes()` alone answers everything, 405 included. */
export function managementRouter({ provider, store, options, host }: Management, prefix: string): Router {
  const location = `${host.managementResource(provider).replace(/\/$/, '')}/subject-tokens`
  const verify = managementTokenVerifier(provider, host)
  const router = new Router({ prefix, sensitive: true, strict: true })
  // On each route: `router.use` matches by a pattern of its own, so that a path could reach a route without it.
  const responding = respond(provider.issuer)

  const allow = (scope: ManagementScope, answer: (ctx: ManagementContext) => Promise<void>) => {
    return async (ctx: Context) => answer(await authenticate(ctx, provider, verify, scope))
  }
  const only = (...methods: string[]) => {
    return (ctx: Context) => {
      ctx.set('Allow', methods.join(', '))
      throw methodNotAllowed()
    }
  }

  router.post(
    COLLECTION,
    responding,
    allow('subject-tokens:create', (ctx) => issueSubjectToken(ctx, { provider, store, options, location })),
  )
  router.get(
    COLLECTION,
    responding,
    allow('subject-tokens:read', (ctx) => listSubjectTokens(ctx, { store, options })),
  )
  router.delete(
    COLLECTION,
    responding,
    allow('subject-tokens:revoke', (ctx) => revokeSubjectTokens(ctx, { store, options })),
  )
  router.get(
    ITEM,
    responding,
    allow('subject-tokens:read', (ctx) => showSubjectToken(ctx, store, idOf(ctx))),
  )
  router.delete(
    ITEM,
    responding,
    allow('subject-tokens:revoke', (ctx) => revokeSubjectToken(ctx, store, idOf(ctx))),
  )
  router.all(COLLECTION, responding, only('GET', 'HEAD', 'POST', 'DELETE'))
  router.all(ITEM, responding, only('GET', 'HEAD', 'DELETE'))
  return router
}

const idOf = (ctx: Context): string => String(ctx.params.id)
