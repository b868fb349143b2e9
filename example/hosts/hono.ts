// npm install oidc-provider-impersonation oidc-provider sequelize hono @hono/node-server
// On Node only: the provider and the storage need it.
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { impersonation, provider } from './provider.ts'

const oidc = provider.callback()
const management = impersonation.handler() // /api/subject-tokens

const app = new Hono()
app.get('/', (c) => c.text('mine'))
app.get('/api/health', (c) => c.text('fine'))
app.post('/tickets', async (c) => c.json(await c.req.json()))
const hono = getRequestListener(app.fetch)

createServer((req, res) => {
  const url = req.url ?? '/'
  if (url.startsWith('/oidc/')) {
    // The provider builds its URLs from what was taken off.
    void oidc(Object.assign(req, { originalUrl: url, url: url.slice('/oidc'.length) }), res)
  } else management(req, res, () => void hono(req, res))
}).listen(3000)
