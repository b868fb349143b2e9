/**
 * The whole deployment in one process: the provider with its pages, its management API and its console, the shop, an API to
 * call and another one behind it, the integrator's backend, and the page of the support desk. In reality the last five are
 * separate services. The shop has an origin of its own here, too.
 */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import Koa from 'koa'
import mount from 'koa-mount'
import type { Sequelize } from 'sequelize'
import { migrate } from '../src/sequelize/index.ts' // yours: 'oidc-provider-impersonation/sequelize'
import { findPerson } from './accounts.ts'
import { logEvents } from './audit.ts'
import { supportBackendRouter } from './backend/router.ts'
import { billingApi } from './billing-api.ts'
import { CONSOLE, consoleOf, consoleSignIn } from './console.ts'
import { type DatabaseOptions, openDatabase } from './database.ts'
import { deskRouter } from './desk/router.ts'
import { drainable } from './drain.ts'
import { missingPage } from './login/pages.ts'
import { loginRouter } from './login/router.ts'
import { ORDERS_SCOPES, ordersApi } from './orders-api.ts'
import { provide } from './provider.ts'
import { resourceMetadataRouter } from './resource-metadata.ts'
import { shopApplication } from './shop/application.ts'

export interface ExampleOptions extends DatabaseOptions {
  /** The shop has the next one. 0 picks free ports. */
  readonly port: number
  /** Receives the audit log. */
  readonly log?: (entry: object) => void
}

export interface Example {
  readonly baseUrl: string
  /** Where the shop is served. */
  readonly shop: string
  close(): Promise<void>
}

export async function startExample(options: ExampleOptions): Promise<Example> {
  const sequelize = openDatabase(options)
  try {
    await migrate(sequelize)
    return await serve(sequelize, options)
  } catch (error) {
    await sequelize.close()
    throw error
  }
}

async function serve(sequelize: Sequelize, { port, log = () => {} }: ExampleOptions): Promise<Example> {
  const server = createServer()
  const drain = drainable(server)
  const baseUrl = await listen(server, port)
  const shopServer = createServer()
  const drainShop = drainable(shopServer)
  const shop = await listen(shopServer, port && port + 1)
  const orders = `${baseUrl}/orders-api`
  const billing = `${baseUrl}/billing-api`
  const addresses = { baseUrl, shop, ordersApi: orders, billingApi: billing }
  const { provider, impersonation, managementApi } = provide(sequelize, addresses)
  const { issuer } = provider
  logEvents(provider, log)

  const app = new Koa()
  // A mounted provider signs its cookies with the keys of the application around it.
  app.keys = provider.keys
  // The host application's own middleware goes here, before the routes:
  // - TLS. Terminate it in front of this process, and set `app.proxy = true` so that X-Forwarded-* are trusted.
  // - A request log: method, path, status, time. Never bodies, query strings or Authorization headers.
  // - Rate limits, most of all for /oidc/token, /login, /api and /backend.
  // - CORS for the orders API and the backend, if the page has a different origin. The provider has
  //   `clientBasedCORS`. /api needs no CORS, because only backends call it.
  app.use(missingPage)
  app.use(mount('/oidc', provider))
  app.use(managementApi.routes())
  app.use(loginRouter(provider).routes())
  app.use(consoleSignIn({ provider, baseUrl }).routes())
  app.use(consoleOf({ provider, impersonation, baseUrl }))
  app.use(ordersApi({ issuer, audience: orders, billingApi: billing, log }).routes())
  app.use(resourceMetadataRouter({ issuer, audience: orders, scopes: ORDERS_SCOPES }).routes())
  app.use(billingApi({ issuer, audience: billing, log }).routes())
  const backend = { issuer, ordersApi: orders, billingApi: billing, console: baseUrl + CONSOLE, log }
  app.use(supportBackendRouter(app, backend).routes())
  app.use(deskRouter(baseUrl).routes())
  server.on('request', app.callback())
  // The `sid` of a session is `imp_` and the id of its record.
  const endingOf = async (sid: string) =>
    (await impersonation.records.get(sid.replace(/^imp_/, '')))?.revocation
  shopServer.on(
    'request',
    shopApplication({ issuer, baseUrl: shop, desk: `${baseUrl}/#record`, nameOf, endingOf, log }).callback(),
  )

  return {
    baseUrl,
    shop,
    async close() {
      await Promise.all([drain(), drainShop()])
      await sequelize.close()
    },
  }
}

const nameOf = (id: string): string => findPerson(id)?.name ?? id

async function listen(server: Server, port: number): Promise<string> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('not listening on a port')
  return `http://127.0.0.1:${address.port}`
}
