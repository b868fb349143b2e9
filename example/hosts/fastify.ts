// npm install oidc-provider-impersonation oidc-provider sequelize fastify @fastify/middie
import middie from '@fastify/middie'
import Fastify from 'fastify'
import { impersonation, provider } from './provider.ts'

const app = Fastify()
// Before Fastify reads a body. Hooks that are registered before it, such as rate limits, run first.
await app.register(middie)
app.use('/oidc', provider.callback())
app.use(impersonation.handler()) // /api/subject-tokens

app.get('/', async () => 'mine')
app.get('/api/health', async () => 'fine')
app.post('/tickets', async ({ body }) => body)
await app.listen({ port: 3000 })
