/** Opens each application as the customer, ends that, opens it read-only, and prints what becomes of it. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { launchChromium } from '../../fixtures/chromium.ts'
import * as authCore from './apps/auth-core.js'
import * as expressOpenidConnect from './apps/express-openid-connect.js'
import * as modAuthOpenidc from './apps/mod-auth-openidc.js'
import { openidClientPassport, passportOpenidconnect } from './apps/passport.js'
import { createProvider } from './provider.js'
import { isAsPromised, walk } from './walk.js'

const APPLICATIONS = [
  modAuthOpenidc,
  expressOpenidConnect,
  passportOpenidconnect,
  authCore,
  openidClientPassport,
]
/** Seconds: the shortest that there is. */
const TTL = 60

async function listen() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, address: `http://127.0.0.1:${server.address().port}` }
}

const door = await listen()
const started = await Promise.all(
  APPLICATIONS.map(async (application, place) => {
    const { server, address: baseUrl } = await listen()
    const metadata = application.metadata(baseUrl)
    const client = {
      client_id: `application-${place}`,
      client_secret: `secret-${place}`,
      impersonation_sessions: baseUrl + application.begins,
      impersonation_read_only: true,
      ...(!metadata.backchannel_logout_uri && { impersonation_sessions_unended: true }),
      ...metadata,
    }
    return { application, server, baseUrl, client }
  }),
)
const host = await createProvider(
  door.address,
  started.map(({ client }) => client),
  TTL,
)
door.server.on('request', host.handler)
const stops = []
for (const { application, server, baseUrl, client } of started) {
  const given = { issuer: host.provider.issuer, client, baseUrl }
  if (application.handler) server.on('request', await application.handler(given))
  else {
    const { port } = server.address()
    server.close()
    stops.push(await application.start({ ...given, port }))
  }
}
const browser = await launchChromium()
try {
  const rows = await Promise.all(started.map((one) => walk(browser, host, one)))
  console.table(rows)
  const wrong = rows.filter(
    (row, place) => !isAsPromised(row, 'backchannel_logout_uri' in started[place].client),
  )
  for (const { application } of wrong) console.error(`${application}: not as promised`)
  process.exitCode = wrong.length > 0 ? 1 : 0
} finally {
  await browser.close()
  for (const stop of stops) stop()
  for (const { server } of [...started, door]) {
    server.close()
    server.closeAllConnections()
  }
}
