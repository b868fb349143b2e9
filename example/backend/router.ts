/**
 * The integrator's backend: a service of its own, which knows the provider by HTTP only. It decides who may view
 * whom, asks for the subject token, and hands it to the page that exchanges it.
 */
import Router from '@koa/router'
import type Koa from 'koa'
import { PEOPLE, whyNotViewable } from '../accounts.ts'
import { authenticate } from './authenticate.ts'
import { endImpersonation, startImpersonation } from './impersonations.ts'
import { connectManagement } from './management.ts'
import { connectProvider } from './provider.ts'
import { listImpersonations } from './record.ts'
import { answerRefusals } from './refusal.ts'
import { sessions } from './session.ts'

interface BackendOptions {
  readonly issuer: string
  readonly managementApi: string
  /** The resource that support may read in a customer's name. */
  readonly ordersApi: string
  readonly log: (entry: object) => void
}

export function supportBackendRouter(
  app: Koa,
  { issuer, managementApi, ordersApi, log }: BackendOptions,
): Router {
  const provider = connectProvider({ issuer, managementApi, log })
  const management = connectManagement({ managementApi, provider, log })

  const router = new Router({ prefix: '/backend/api' })
  // Every request carries a Bearer token, which no other site can make a browser send: so none of them can be forged.
  router.use(answerRefusals, authenticate(provider), sessions(app))

  router.get('/users', (ctx) => {
    ctx.body = {
      users: PEOPLE.map((person) => {
        const { id, name, role } = person
        const whyNot = whyNotViewable(person)
        return { id, name, role, viewable: whyNot === undefined, ...(whyNot && { whyNot }) }
      }),
    }
  })
  router.post('/request-impersonation', (ctx) =>
    startImpersonation(ctx, management, { resource: ordersApi, log }),
  )
  router.get('/impersonations', (ctx) => listImpersonations(ctx, management))
  router.delete('/impersonations/:id', (ctx) => endImpersonation(ctx, management))
  return router
}
