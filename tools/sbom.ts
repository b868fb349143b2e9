/**
 * Prints the software bill of materials of what users install with a package (CycloneDX), from the lockfile:
 * `npm run sbom [-- <package>]`. Fails where a dependency has no version, license or integrity hash, or is missing.
 * With `--check` it prints a line for each package instead.
 */
import { execFileSync } from 'node:child_process'
import { PACKAGES, readManifest } from '../fixtures/packed-package.ts'

interface Component {
  readonly 'bom-ref': string
  readonly name: string
  readonly version?: string
  readonly purl?: string
  readonly licenses?: readonly unknown[]
  readonly hashes?: readonly unknown[]
  readonly properties?: readonly { readonly name: string; readonly value: string }[]
}

interface Bill {
  readonly metadata: { readonly component: Component }
  readonly components: readonly Component[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
}

const output = execFileSync(
  'npm',
  ['sbom', '--package-lock-only', '--sbom-type=library', '--sbom-format=cyclonedx'],
  { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, stdio: ['ignore', 'pipe', 'inherit'] },
)
/** Of the whole repository. */
const everything: Bill = JSON.parse(output)

// Not by `--omit=dev`, which leaves out what development needs too.
const isForDevelopment = ({ properties = [] }: Component): boolean =>
  properties.some(({ name, value }) => name === 'cdx:npm:package:development' && value === 'true')

function billOf(name: string): Bill {
  const folder = PACKAGES.get(name)
  if (folder === undefined) throw new Error(`not a package of this repository: ${name}`)
  const { version, dependencies = {} } = readManifest(folder)
  const all = [everything.metadata.component, ...everything.components]
  const own = all.find((component) => component['bom-ref'] === `${name}@${version}`)
  if (!own) throw new Error(`not in the lockfile: ${name}@${version}`)

  const needs = (ref: string): readonly string[] =>
    everything.dependencies.find((one) => one.ref === ref)?.dependsOn ?? []
  const nameOf = (ref: string): string => ref.slice(0, ref.lastIndexOf('@'))
  const direct = needs(own['bom-ref']).filter((ref) => nameOf(ref) in dependencies)
  const refs = new Set(direct)
  // A package of this repository has a bill of its own.
  const isOurs = (ref: string) => PACKAGES.has(nameOf(ref))
  for (const ref of refs) if (!isOurs(ref)) for (const next of needs(ref)) refs.add(next)

  const components = everything.components.filter(
    (component) =>
      refs.has(component['bom-ref']) && !isOurs(component['bom-ref']) && !isForDevelopment(component),
  )
  const known = new Set(components.map((component) => component['bom-ref']))
  const incomplete = components.filter(
    ({ version, purl, licenses, hashes }) => !version || !purl || !licenses?.length || !hashes?.length,
  )
  const missing = Object.keys(dependencies).filter(
    (one) => !PACKAGES.has(one) && !components.some((component) => component.name === one),
  )
  if (incomplete.length > 0 || missing.length > 0)
    throw new Error(
      `the bill of materials of ${name} is incomplete: ${[...incomplete.map((component) => component.name), ...missing].join()}`,
    )
  return {
    ...everything,
    metadata: { ...everything.metadata, component: { ...own, name } }, // npm names it by its folder
    components,
    dependencies: [
      { ref: own['bom-ref'], dependsOn: direct },
      ...everything.dependencies.filter(({ ref }) => known.has(ref)),
    ],
  }
}

const [given = 'oidc-provider-impersonation'] = process.argv.slice(2)
if (given === '--check') {
  for (const name of PACKAGES.keys())
    console.log(`bill of materials of ${name}: ${billOf(name).components.length} packages, complete`)
} else console.log(JSON.stringify(billOf(given), null, 2))
