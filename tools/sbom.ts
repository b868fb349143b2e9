/**
 * Prints the software bill of materials of what users install (CycloneDX), from the lockfile. Fails where a package has no
 * version, license or integrity hash, or a dependency is missing. With `--check` it prints a line instead.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

interface Component {
  readonly 'bom-ref': string
  readonly name: string
  readonly version?: string
  readonly purl?: string
  readonly licenses?: readonly unknown[]
  readonly hashes?: readonly unknown[]
  readonly properties?: readonly { readonly name: string; readonly value: string }[]
}

const output = execFileSync(
  'npm',
  // Without the suite: it is a package of its own, and not installed with this one.
  ['sbom', '--package-lock-only', '--workspaces=false', '--sbom-type=library', '--sbom-format=cyclonedx'],
  { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, stdio: ['ignore', 'pipe', 'inherit'] },
)
const everything: { components: Component[]; dependencies: { ref: string }[] } = JSON.parse(output)

// Not by `--omit=dev`, which leaves out what development needs too.
const isForDevelopment = ({ properties = [] }: Component) =>
  properties.some(({ name, value }) => name === 'cdx:npm:package:development' && value === 'true')
const components = everything.components.filter((component) => !isForDevelopment(component))

const incomplete = components.filter(
  ({ version, purl, licenses, hashes }) => !version || !purl || !licenses?.length || !hashes?.length,
)
const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
const missing = Object.keys(dependencies).filter((name) => !components.some((known) => known.name === name))
if (incomplete.length > 0 || missing.length > 0) {
  const names = incomplete.map(({ name }) => name)
  console.error('the bill of materials is incomplete:', { incomplete: names, missing })
  process.exit(1)
}
if (process.argv.includes('--check')) {
  console.log(`bill of materials: ${components.length} packages, each with version, license and hash`)
} else {
  const known = new Set(components.map((component) => component['bom-ref']))
  const graph = everything.dependencies.filter(({ ref }) => known.has(ref))
  console.log(JSON.stringify({ ...everything, components, dependencies: graph }, null, 2))
}
