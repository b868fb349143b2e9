/** Each package holds what its users need, and nothing else. */
import { execFileSync } from 'node:child_process'
import { globSync, statSync } from 'node:fs'
import path from 'node:path'
import { PACKAGES, readManifest } from '../fixtures/packed-package.ts'

const ALWAYS = ['LICENSE', 'README.md', 'package.json']
/** Besides these and `dist/`. */
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  'oidc-provider-impersonation': [
    'CHANGELOG.md',
    'SECURITY.md',
    'docs/observability/alerts.yml',
    'docs/openapi.json',
  ],
  'token-exchange-suite': globSync('packages/suite/template/*').map((file) =>
    file.replace('packages/suite/', ''),
  ),
  'oidc-provider-impersonation-banner': ['src/banner.d.ts', 'src/banner.js'],
}

const faults: string[] = []

const args = ['pack', '--dry-run', '--json', '--ignore-scripts', '--workspaces', '--include-workspace-root']
const output = execFileSync('npm', args, { encoding: 'utf8' })
const packs: { name: string; size: number; files: { path: string }[] }[] = Object.values(JSON.parse(output))

for (const [name, folder] of PACKAGES) {
  const { size = 0, files = [] } = packs.find((pack) => pack.name === name) ?? {}
  const held = files.map((file) => file.path)
  checkContents(name, folder, held)
  console.log(`${name}: ${held.length} files, ${Math.round(size / 1000)} kB`)
  if (size > 300_000) faults.push(`${name} must not be larger than 300 kB`)
}

function checkContents(name: string, folder: string, held: readonly string[]): void {
  // What pages consist of lies beside the code that reads it.
  const assets = globSync('src/**/*.css', { cwd: folder }).map((file) => file.replace(/^src/, 'dist'))
  const expected = [...ALWAYS, ...assets, ...(EXPECTED[name] ?? [])]
  const { exports, bin = {} } = readManifest(folder)
  // The condition is for this repository, whose tests take what was written.
  const entries = Object.values(exports).flatMap((target) =>
    typeof target === 'string' ? [target] : [target.types, target.default],
  )
  for (const file of held.filter((file) => !file.startsWith('dist/') && !expected.includes(file)))
    faults.push(`${name} holds ${file}, which its users do not need`)
  for (const file of [...expected, ...entries, ...Object.values(bin)].map((file) => path.normalize(file)))
    if (!held.includes(file)) faults.push(`${name} lacks ${file}`)
}

const banner = statSync('packages/banner/src/banner.js').size
if (banner > 15_000)
  faults.push(`the banner must not be larger than 15,000 bytes, as docs/banner.md says, but has ${banner}`)

if (faults.length > 0) {
  console.error(faults.join('\n'))
  process.exit(1)
}
