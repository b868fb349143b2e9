/**
 * `npm start`: starts the example, and prints what to do with it. PORT and DATABASE_URL change where it runs, and
 * METRICS_PORT serves `/metrics` there.
 */
import { curlLines } from './curl-lines.ts'
import { startExample } from './deployment.ts'
import { serveMetrics } from './metrics.ts'

const { METRICS_PORT } = process.env
// First, so that every counter begins at zero.
const metrics = METRICS_PORT ? await serveMetrics(Number(METRICS_PORT)) : undefined

const { baseUrl, shop, close } = await startExample({
  port: Number(process.env.PORT ?? 3000),
  databaseUrl: process.env.DATABASE_URL,
  storage: 'example.sqlite',
  log: (entry) => console.log(JSON.stringify(entry)),
}).catch((error: NodeJS.ErrnoException & { port?: number }) => {
  const text =
    error.code === 'EADDRINUSE'
      ? `port ${error.port} is taken. Choose another one: PORT=4000 npm start. The shop has the next one.`
      : error.message
  console.error(`The example could not start: ${text}`)
  process.exit(1)
})

// The second signal of a kind ends the process at once.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    console.log('\nStopping, once the requests under way have their responses.')
    await close()
    await metrics?.close()
    console.log('Stopped.')
  })
}

console.log(`
Open ${baseUrl}/ and sign in as Sam Sawyer: open the shop as a customer, or look at the customer's orders.
Open ${baseUrl}/impersonations in a private window and sign in as Dana Dorn to see that, and to stop it.

Provider        ${baseUrl}/oidc   (metadata: ${baseUrl}/oidc/.well-known/openid-configuration)
Management API  ${baseUrl}/api/subject-tokens
Shop            ${shop}
Console         ${baseUrl}/impersonations
Orders API      ${baseUrl}/orders-api/orders
Backend         ${baseUrl}/backend/api/request-impersonation
Accounts        alice, bob and carol (customers), sam and robin (support), dana (security)

Without a browser, Sam becomes Alice and reads her orders. Paste this into bash, in another terminal:

${curlLines(baseUrl)}
Every line below belongs to the audit log. Press Ctrl-C to stop.
`)
