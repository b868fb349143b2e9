/** What `oidc-impersonation-check` looks at: the provider and its database as the deployment builds them, and no server. */
import { openDatabase } from './database.ts'
import { provide } from './provider.ts'

export default function deployment() {
  const { DATABASE_URL: databaseUrl, PORT = '3000' } = process.env
  const baseUrl = `http://127.0.0.1:${PORT}`
  const sequelize = openDatabase({ databaseUrl })
  const shop = `http://127.0.0.1:${Number(PORT) + 1}`
  const addresses = {
    baseUrl,
    shop,
    ordersApi: `${baseUrl}/orders-api`,
    billingApi: `${baseUrl}/billing-api`,
  }
  return { sequelize, ...provide(sequelize, addresses) }
}
