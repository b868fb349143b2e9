/** The module of a deployment. */
import path from 'node:path'
import { SIGNING_KEY } from '../../../fixtures/keys.ts'

export const ROOT = path.resolve(import.meta.dirname, '../../..')

interface Parts {
  readonly store?: string
  readonly more?: string
}

/** Its text, for a file in this repository. */
export const moduleOf = (
  sequelize: string,
  { store = 'createSubjectTokenStore(sequelize)', more = '' }: Parts = {},
): string => `
import Provider from 'oidc-provider'
import { Sequelize } from 'sequelize'
import { connect } from '${ROOT}/src/cli/connect.ts'
import { createImpersonation } from '${ROOT}/src/index.ts'
import { createAdapter, createSubjectTokenStore, nodeSqlite } from '${ROOT}/src/sequelize/index.ts'
const sequelize = ${sequelize}
export const impersonation = createImpersonation({ store: ${store} })
export const provider = new Provider('http://127.0.0.1:3000/oidc', impersonation.configure({
  adapter: createAdapter(sequelize),
  jwks: ${JSON.stringify({ keys: [SIGNING_KEY] })},
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  cookies: { keys: ['a key'] },
  features: { devInteractions: { enabled: false } },
}))
impersonation.attach(provider)
${more}
`
