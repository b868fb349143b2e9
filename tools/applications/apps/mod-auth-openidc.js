/** mod_auth_openidc in Apache, as Debian packages them. */
import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

export const name = 'Apache mod_auth_openidc'
/** Where a sign-in begins, by the path. */
export const begins = '/'
export const metadata = (baseUrl) => ({
  redirect_uris: [`${baseUrl}/redirect`],
  backchannel_logout_uri: `${baseUrl}/redirect?logout=backchannel`,
  backchannel_logout_session_required: true,
})

const MODULES = ['mpm_event', 'alias', 'authn_core', 'authz_core', 'authz_user', 'cgid', 'auth_openidc']

/** The page is a script that prints what the module tells the application. */
const PAGE = `#!/bin/sh
printf 'Content-Type: application/json\\r\\n\\r\\n'
printf '{"sub":"%s","act":%s}' "$OIDC_CLAIM_sub" "\${OIDC_CLAIM_act:-null}"
`

const configuration = ({ issuer, client, baseUrl, folder, port }) => `
ServerRoot ${folder}
ServerName 127.0.0.1
Listen 127.0.0.1:${port}
PidFile ${folder}/pid
ErrorLog /dev/stderr
ScriptSock ${folder}/cgi
User www-data
Group www-data
${MODULES.map((module) => `LoadModule ${module}_module /usr/lib/apache2/modules/mod_${module}.so`).join('\n')}
OIDCProviderMetadataURL ${issuer}/.well-known/openid-configuration
OIDCClientID ${client.client_id}
OIDCClientSecret ${client.client_secret}
OIDCRedirectURI ${baseUrl}/redirect
OIDCCryptoPassphrase ${'s'.repeat(32)}
ScriptAlias / ${folder}/page.sh/
<Location />
  AuthType openid-connect
  Require valid-user
</Location>
`

/** Starts a process of its own. Resolves to what stops it. */
export async function start({ port, ...given }) {
  const folder = mkdtempSync(path.join(tmpdir(), 'mod-auth-openidc-'))
  const file = path.join(folder, 'httpd.conf')
  writeFileSync(path.join(folder, 'page.sh'), PAGE, { mode: 0o755 })
  writeFileSync(file, configuration({ ...given, port, folder }))
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
    rmSync(folder, { recursive: true })
  }
}
