/** The provider of every host here: the program "The provider" in docs/integrate.md. */
import Provider from 'oidc-provider'
import { createImpersonation } from 'oidc-provider-impersonation'
import { createSubjectTokenStore, migrate } from 'oidc-provider-impersonation/sequelize'
import { configuration, isAllowed, issuer, sequelize } from './my-deployment.ts'

await migrate(sequelize)
export const impersonation = createImpersonation({
  store: createSubjectTokenStore(sequelize),
  requireActor: true, // every access token names the engineer
  isAllowed, // who may become whom
})
export const provider = new Provider(issuer, impersonation.configure(configuration))
impersonation.attach(provider)
provider.proxy = true // TLS ends in front of this process
provider.on('server_error', (_ctx, error) => console.error(error)) // the client only gets a bare 500
