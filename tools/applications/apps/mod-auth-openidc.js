/** mod_auth_openidc in Apache, as Debian packages them, in front of an application that trusts its headers. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { readOnly } from '../../../packages/resource-server/src/index.ts'

export const name = 'Apache mod_auth_openidc'
/** Where a sign-in begins, by the path. */
export const begins = '/'
export const metadata = (baseUrl) => ({
  redirect_uris: [`${baseUrl}/redirect`],
  backchannel_logout_uri: `${baseUrl}/redirect?logout=backchannel`,
  backchannel_logout_session_required: true,
})

export const signOut = (page, baseUrl) =>
  page.goto(`${baseUrl}/redirect?${new URLSearchParams({ logout: `${baseUrl}/` })}`)

const MODULES = ['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'proxy', 'proxy_http', 'auth_openidc']

/** Apache tells it the claims of the ID token in a header, and lets no one else set that. */
const claimsOf = ({ headers }) => JSON.parse(headers.oidc_id_token_payload)
const guard = readOnly({ claims: claimsOf })

const application = (request, response) =>
  guard(request, response, (error) => {
    if (error) response.writeHead(500).end()
    else response.setHeader('content-type', 'application/json').end(JSON.stringify(claimsOf(request)))
  })

const configuration = ({ issuer, client, baseUrl, folder, port, behind }) => `
ServerRoot ${folder}
ServerName 127.0.0.1
Listen 127.0.0.1:${port}
PidFile ${folder}/pid
ErrorLog /dev/stderr
User www-data
Group www-data
${MODULES.map((module) => `LoadModule ${module}_module /usr/lib/apache2/modules/mod_${module}.so`).join('\n')}
OIDCProviderMetadataURL ${issuer}/.well-known/openid-configuration
OIDCClientID ${client.client_id}
OIDCClientSecret ${client.client_secret}
OIDCRedirectURI ${baseUrl}/redirect
OIDCCryptoPassphrase ${'s'.repeat(32)}
OIDCPassIDTokenAs payload
ProxyPass /redirect !
ProxyPass / http://127.0.0.1:${behind}/
<Location />
  AuthType openid-connect
  Require valid-user
</Location>
`

/** Starts a process of its own, and the application behind it. Resolves to what stops it. */
export async function start({ port, ...given }) {
  const folder = mkdtempSync(path.join(tmpdir(), 'mod-auth-openidc-'))
  const file = path.join(folder, 'httpd.conf')
  const server = createServer(application).listen(0, '127.0.0.1')
  await once(server, 'listening')
  writeFileSync(file, configuration({ ...given, port, folder, behind: server.address().port }))
  // Its workers are not root.
  chmodSync(folder, 0o755)
  const apache = spawn('/usr/sbin/apache2', ['-f', file, '-X'], { stdio: 'inherit' })
  for (let tries = 0; tries < 200; tries++) {
    const isUp = await fetch(`http://127.0.0.1:${port}/`, { redirect: 'manual' }).then(
      () => true,
      () => false,
    )
    if (isUp) break
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return () => {
    apache.kill('SIGTERM')
    server.close()
    server.closeAllConnections()
    rmSync(folder, { recursive: true })
  }
}
