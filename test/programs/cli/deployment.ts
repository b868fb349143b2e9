/** Modules of deployments, as files in this repository, so that they find their packages. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { SIGNING_KEY } from '../../../fixtures/keys.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')

interface Parts {
  /** What the parts name: imports, and statements. */
  readonly before?: string
  readonly store?: string
  readonly adapter?: string
  /** Members beside these. */
  readonly options?: string
  readonly configuration?: string
  readonly exports?: string
}

const EXPORTS = 'export { impersonation, provider }'

/** The text of a module. It has its tokens in memory, and nothing open. */
export const moduleOf = ({
  before = '',
  store = 'createMemoryStore()',
  adapter = 'class {}',
  options = '',
  configuration = '',
  exports = EXPORTS,
}: Parts = {}): string => `
import Provider from 'oidc-provider'
import { createImpersonation } from '${ROOT}/src/index.ts'
import { createMemoryStore } from '${ROOT}/packages/store-contract/src/index.ts'
${before}
const impersonation = createImpersonation({ store: ${store}, ${options} })
const provider = new Provider('http://127.0.0.1:3000/oidc', impersonation.configure({
  adapter: ${adapter},
  jwks: ${JSON.stringify({ keys: [SIGNING_KEY] })},
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  cookies: { keys: ['a key'] },
  features: { devInteractions: { enabled: false } },
  ${configuration}
}))
impersonation.attach(provider)
${exports}
`

/** That of a deployment with this Sequelize. */
export const moduleOn = (
  sequelize: string,
  { before = '', store = 'createSubjectTokenStore(sequelize)', ...parts }: Parts = {},
): string =>
  moduleOf({
    ...parts,
    before: `import { Sequelize } from 'sequelize'
import { connect } from '${ROOT}/src/cli/connect.ts'
import { createAdapter, createSubjectTokenStore, migrate, nodeSqlite } from '${ROOT}/src/sequelize/index.ts'
${before}
const sequelize = ${sequelize}`,
    store,
    adapter: 'createAdapter(sequelize)',
  })

/** A folder for the tests of this `describe`. */
export function useFolder() {
  let written = 0
  const folder = {
    path: '',
    /** Each file has a name of its own, because Node loads one only once. */
    write(text: string, name = 'deployment.ts'): string {
      written += 1
      const file = path.join(folder.path, `${written}-${name}`)
      writeFileSync(file, text)
      return file
    },
  }
  before(() => {
    folder.path = mkdtempSync(path.join(ROOT, 'test', '.readme-'))
  })
  after(() => rmSync(folder.path, { recursive: true, force: true }))
  return folder
}
