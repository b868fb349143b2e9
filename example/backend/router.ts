/**
 * The integrator's backend: a separate service that reaches the provider only over HTTP. It decides who may view
 * whom, requests the subject token, and passes it to the page that exchanges it, or opens the shop with it.
 */
import Router from '@koa/router'
import type Koa from 'koa'
import { authenticate } from './authenticate.ts'
import { startImpersonation, startSession, stopImpersonation } from './impersonations.ts'
import { connectImpersonation, connectIntrospection } from './provider.ts'
import { leadTo, listImpersonations, showImpersonation, showOpenView } from './record.ts'
import { sendRefusals } from './refusal.ts'
import { sessions } from './session.ts'
import { listUsers } from './users.ts'

interface BackendOptions {
  readonly issuer: string
  /** What support may read in a customer's name. */
  readonly ordersApi: string
  /** What the orders API calls for it. */
  readonly billingApi: string
  /** Where the console is. Records lead there, for those who may see it. */
  readonly console: string
  readonly log: (entry: object) => void
}

export function supportBackendRouter(
  app: Koa,
  { issuer, ordersApi, billingApi, console, log }: BackendOptions,
): Router {
  const impersonation = connectImpersonation(issuer)
  const introspect = connectIntrospection({ issuer, log })

  const router = new Router({ prefix: '/backend/api' })
  // Every request carries a Bearer token. No other site can make a browser send it, so requests cannot be forged.
  router.use(sendRefusals(log), authenticate(introspect), sessions(app), leadTo(console))

  router.get('/users', listUsers)
  router.post('/request-impersonation', (ctx) =>
    startImpersonation(ctx, impersonation, { resource: [ordersApi, billingApi], log }),
  )
  router.post('/request-session', (ctx) => startSession(ctx, impersonation, { log }))
  router.get('/impersonations', (ctx) => listImpersonations(ctx, impersonation))
  router.get('/impersonations/:id', (ctx) => showImpersonation(ctx, impersonation))
  router.get('/session', (ctx) => showOpenView(ctx, impersonation))
  router.post('/impersonations/:id/stop', (ctx) => stopImpersonation(ctx, impersonation))
  return router
}
