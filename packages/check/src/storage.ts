/** Whether the store serves, and its role may do what the store does. */
import {
  type Deployment,
  type MissingRight,
  messageOf,
  mintId,
  missingRights,
} from 'oidc-provider-impersonation/inside'
import { type Finding, fault, note, ok, warning } from './finding.ts'

export async function checkStorage({ impersonation, inside, sequelize }: Deployment): Promise<Finding[]> {
  try {
    await impersonation.ready()
  } catch (error) {
    return [
      fault(
        'storage',
        `not ready: ${messageOf(error)}`,
        'check the database URL, and run `oidc-impersonation migrate`',
      ),
    ]
  }
  const served = ok('storage', 'responds, and its tables fit')
  return [served, await checkManyAtOnce(inside), ...(await checkRights(sequelize))]
}

const AT_ONCE = 40

/** A pooler that gives each statement another server connection fails here, or a pool that is too small. */
async function checkManyAtOnce({ options: { store }, provider }: Deployment['inside']): Promise<Finding> {
  const about = 'many at once'
  const calls = Array.from({ length: AT_ONCE }, () => store.find(provider.issuer, mintId()))
  const failed = (await Promise.allSettled(calls)).filter(({ status }) => status === 'rejected')
  const [first] = failed
  if (first?.status !== 'rejected') return ok(about, `${AT_ONCE} reads at the same time succeeded`)
  return fault(
    about,
    `${failed.length} of ${AT_ONCE} reads at the same time failed: ${messageOf(first.reason)}`,
    'look at the limits of the pool, of the server and of the pooler (docs/operate.md, Databases)',
  )
}

async function checkRights(sequelize: Deployment['sequelize']): Promise<Finding[]> {
  const about = 'rights'
  if (!sequelize) return [note(about, 'not checked: the module does not export `sequelize`')]
  let missing: readonly MissingRight[]
  try {
    missing = await missingRights(sequelize)
  } catch (error) {
    return [fault(about, `not known: ${messageOf(error)}`, 'check that `sequelize` is that of the store')]
  }
  if (missing.length === 0) return [ok(about, 'the role may read, insert, update and delete in every table')]
  return missing.map(({ table, right }) =>
    right === 'DELETE' && table !== 'oidc_models'
      ? warning(about, `no ${right} on ${table}`, 'give it to the role that runs the purge')
      : fault(about, `no ${right} on ${table}`, `GRANT ${right} ON ${table} to the role of the deployment`),
  )
}
